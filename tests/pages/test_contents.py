"""The navigation has every page, and the site names the section of a page above its title."""

import importlib.util
import re

import pytest
from pages import PAGES, ROOT

CONTENTS = (ROOT / "docs/contents.md").read_text()
MADE = ("commands", "cpp", "errors", "operators", "platforms", "python")  # references that tools/reference.py makes
OUTSIDE = ("README", "contents")


@pytest.fixture(scope="module")
def site():
    spec = importlib.util.spec_from_file_location("site_configuration", ROOT / "docs/conf.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_listed_once():
    listed = re.findall(r"^([\w/]+)$", CONTENTS, re.MULTILINE)
    names = [page.relative_to(ROOT).with_suffix("").as_posix().removeprefix("docs/") for page in PAGES]
    expected = [*(name for name in names if name not in OUTSIDE), *(f"reference/{name}" for name in MADE)]
    assert sorted(listed) == sorted(expected)


def test_each_folder_has_its_section(site):
    folders = {
        "tutorials": "Tutorials",
        "guides": "How-to guides",
        "reference": "Reference",
        "explanation": "Explanation",
        "results": "Results",
        "design": "Contributing",
        "internals": "Contributing",
    }
    found = site.sections(CONTENTS)
    assert found.pop("guides/add_operator") == "Contributing"
    wrong = {page: section for page, section in found.items() if folders.get(page.rpartition("/")[0], section) != section}
    assert not wrong


def test_the_section_is_above_the_title(site):
    made = site.labelled("<h1>Train</h1>", "guides/train", site.sections(CONTENTS))
    assert made == '<p class="section-label">How-to guides</p>\n<h1>Train</h1>'
    assert site.labelled("<h1>Halfstep</h1>", "index", site.sections(CONTENTS)) == "<h1>Halfstep</h1>"
