"""All links of the pages have existing targets."""

import pytest
from pages import PAGES, ROOT, anchors, links, paths


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of(page):
    dead = []
    for link in links(page):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    dead += [path for path in paths(page) if not (ROOT / path).exists()]
    assert dead == []
