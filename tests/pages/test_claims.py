"""Claims of the pages, each with the tests that fail when it is false.

claims.json has a list of entries for every page. `claim` is an excerpt of the page. `test` is one test or several as
FILE::NAME: SUITE.NAME in a source of GoogleTest, a function in Python, the name of an entry of ctest for a file of
tools/. `untested` lists claims that no test checks, each with the reason.

These tests compare the list with the pages and the sources. They do not show that a test checks its claim: read the
test before you list it.
"""

import functools
import json
import pathlib
import re

import pytest
from pages import ROOT

CLAIMS = json.loads((pathlib.Path(__file__).parent / "claims.json").read_text())
UNTESTED = CLAIMS.pop("untested")
PAGES = ["README.md", *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md")) if path.name != "contents.md")]


def collapsed(text):
    return " ".join(text.split())


@functools.cache
def text_of(page):
    return collapsed((ROOT / page).read_text())


def problem_of_excerpt(page, claim):
    """The problem of an excerpt, or "" when the page has it exactly once."""
    count = text_of(page).count(collapsed(claim))
    if count == 1:
        return ""
    if count > 1:
        return f"{page}: claim '{claim}': is there {count} times; give more words"
    return f"{page}: claim '{claim}': is not in the page; read the tests again, then copy the new words, or remove the claim"


@functools.cache
def names_in(file):
    """Names of the tests in an existing file."""
    text = (ROOT / file).read_text()
    if file.endswith(".cpp"):
        return {f"{suite}.{name}" for suite, name in re.findall(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", text, re.MULTILINE)}
    if file.startswith("tools/check_"):  # cmake/tests.cmake makes an entry of each
        return {pathlib.Path(file).stem}
    return set(re.findall(r"^def (test_\w+)\(", text, re.MULTILINE))


def problem_of_test(page, claim, test):
    """The problem of the name of a test, or "" when the test exists."""
    file, _, name = test.partition("::")
    if not (ROOT / file).is_file():
        return f"{page}: claim '{claim}': there is no file {file}; name the one that has the test now, or move the claim to untested"
    if name not in names_in(file):
        return f"{page}: claim '{claim}': {file} has no test {name}; name the one that checks this now, or move the claim to untested"
    return ""


def named_by(entry):
    return [entry["test"]] if isinstance(entry["test"], str) else entry["test"]


@pytest.mark.parametrize("page", CLAIMS)
def test_claims_of(page):
    problems = []
    for entry in CLAIMS[page]:
        claim, tests = entry["claim"], named_by(entry)
        problems += [problem_of_excerpt(page, claim), *(problem_of_test(page, claim, test) for test in tests)]
        if not tests:
            problems.append(f"{page}: claim '{claim}': no test is named; name one, or move the claim to untested")
    assert not any(problems), "\n".join(filter(None, problems))


def test_untested_claims():
    problems = []
    for entry in UNTESTED:
        page, claim = entry["page"], entry["claim"]
        problems.append(problem_of_excerpt(page, claim))
        if any(other["claim"] == claim for other in CLAIMS.get(page, [])):
            problems.append(f"{page}: claim '{claim}': has tests and is among the untested; remove one of the two entries")
        if not entry["why"]:
            problems.append(f"{page}: claim '{claim}': has no reason; say in `why` what tests lack")
    assert not any(problems), "\n".join(filter(None, problems))


def test_every_page_has_claims():
    """docs/contents.md is a list of pages."""
    missing = [page for page in PAGES if not CLAIMS.get(page)]
    assert not missing, f"{', '.join(missing)}: no claim in tests/pages/claims.json; add the claims of the page with their tests"
    unknown = sorted(set(CLAIMS) - set(PAGES))
    assert not unknown, f"{', '.join(unknown)}: in tests/pages/claims.json, and no page; remove the entry, or give the page its new name"
