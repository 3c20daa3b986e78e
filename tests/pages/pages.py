"""Pages of Markdown: their blocks of code, links and headings."""

from __future__ import annotations

import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "HACKING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]

# Float sums, and so what is trained with them, have other bits without AVX-512.
HAS_FIGURES_OF_PAGES = "avx512f" in pathlib.Path("/proc/cpuinfo").read_text()

_FENCE = re.compile(r"^```(?P<language>\w*) *(?P<name>\S*)[^\n]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\((?P<to>[^)\s]+)\)")
_SPAN = re.compile(r"`(?P<code>[^`\n]+)`")


@dataclasses.dataclass
class Block:
    """```LANGUAGE NAME, where a name makes a file of the text."""

    language: str
    name: str
    text: str
    line: int


def blocks(page: pathlib.Path) -> list[Block]:
    text = page.read_text()
    return [Block(found["language"], found["name"], found["text"], text[: found.start("text")].count("\n") + 1) for found in _FENCE.finditer(text)]


def prose(page: pathlib.Path) -> str:
    """Without blocks."""
    return _FENCE.sub("", page.read_text())


def links(page: pathlib.Path) -> list[str]:
    return [found["to"] for found in _LINK.finditer(_SPAN.sub("", prose(page)))]


def paths(page: pathlib.Path) -> list[str]:
    """Words in code that are paths from the root of the sources; words in capitals stand for something."""
    folders = "|".join(path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "build" and path.name[0] != ".")
    words = [found["code"] for found in _SPAN.finditer(prose(page))]
    return [word for word in words if re.fullmatch(rf"({folders})/[a-z0-9_./-]+", word)]


def anchors(page: pathlib.Path) -> set[str]:
    """Of the headings, as GitHub and MyST make them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
