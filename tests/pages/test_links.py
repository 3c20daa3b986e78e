"""All links of the pages have existing targets."""

import pytest
from pages import PAGES, ROOT, anchors, links, paths


def dead_links(page):
    """The links and paths of a page without a target."""
    dead = []
    for link in links(page):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    return dead + [path for path in paths(page) if not (ROOT / path).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of(page):
    assert dead_links(page) == []


@pytest.mark.parametrize(
    ("text", "dead"),
    [
        ("[x](other.md), [y](other.md#a-heading) and [z](#own)", []),
        ("[x](absent.md)", ["absent.md"]),
        ("![x](absent.svg)", ["absent.svg"]),
        ("[x](other.md#absent)", ["other.md#absent"]),
        ("[x](#absent)", ["#absent"]),
        ("`tests/pages/pages.py` and `tests/pages/absent.py`", ["tests/pages/absent.py"]),
    ],
    ids=["none", "page", "picture", "anchor", "own_anchor", "path"],
)
def test_dead_links_are_found(tmp_path, text, dead):
    (tmp_path / "other.md").write_text("# A heading\n")
    page = tmp_path / "page.md"
    page.write_text(f"# Own\n\n{text}\n")
    assert dead_links(page) == dead
