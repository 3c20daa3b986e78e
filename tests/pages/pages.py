"""Pages of Markdown: their blocks of code, links and headings."""

from __future__ import annotations

import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
ROOT_PAGES = ("README.md", "HACKING.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
PAGES = [*(ROOT / name for name in ROOT_PAGES), *sorted((ROOT / "docs").rglob("*.md"))]

# Float sums, and so trained weights, have other bits without AVX-512.
HAS_FIGURES_OF_PAGES = "avx512f" in pathlib.Path("/proc/cpuinfo").read_text()

_FENCE = re.compile(r"^```(?P<language>\w*) *(?P<name>\S*)[^\n]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\((?P<to>[^)\s]+)\)")
_SPAN = re.compile(r"`(?P<code>[^`\n]+)`")


@dataclasses.dataclass
class Block:
    """A block of code, ```LANGUAGE NAME. With a name, the text also becomes a file."""

    language: str
    name: str
    text: str
    line: int


def blocks(page: pathlib.Path) -> list[Block]:
    text = page.read_text()
    return [Block(found["language"], found["name"], found["text"], text[: found.start("text")].count("\n") + 1) for found in _FENCE.finditer(text)]


def prose(page: pathlib.Path) -> str:
    """The text of a page without its blocks."""
    return _FENCE.sub("", page.read_text())


def links(page: pathlib.Path) -> list[str]:
    return [found["to"] for found in _LINK.finditer(_SPAN.sub("", prose(page)))]


def paths(page: pathlib.Path) -> list[str]:
    """Words in code that are paths from the root of the sources. Words in capitals are placeholders."""
    folders = "|".join(path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "build" and path.name[0] != ".")
    words = [found["code"] for found in _SPAN.finditer(prose(page))]
    return [word for word in words if re.fullmatch(rf"({folders})/[a-z0-9_./-]+", word)]


def anchors(page: pathlib.Path) -> set[str]:
    """Anchors of the headings, as GitHub and MyST generate them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
