"""Every figure of README and of the pages comes from a data file with its command, machine and date."""

import datetime
import importlib.util
import subprocess
import sys

import pytest
from pages import ROOT

TOOL = ROOT / "tools/figures.py"


@pytest.fixture(scope="module")
def figures():
    spec = importlib.util.spec_from_file_location("figures", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_have_the_figures_of_their_data():
    ended = subprocess.run([sys.executable, TOOL, "--check"], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stdout


def test_every_table_of_results_is_written_from_data(figures):
    for page in (page for page in figures.PAGES if page.parent.name == "results"):
        typed = [line for line in figures.CODE.sub("", figures.MARKED.sub("", page.read_text())).splitlines() if line.startswith("|")]
        assert not typed, page.name


def test_a_figure_without_data_is_found(figures):
    data = {"tables": {"t": {"columns": ["a"], "rows": [["2.5 ms, 1,234 codes"]]}}, "sentences": [{"figures": ["88.09"]}]}
    assert figures.without_data("It has 88.09 % and takes 2.5 ms for 1,234 codes.", data) == ([], [])
    assert figures.without_data("It has 88.10 % and takes 2.6 ms for 1,235 codes.", data) == (["1,235", "2.6", "88.10"], ["88.09"])
    assert figures.without_data("`--rate 0.25` and 12.5 ms", data)[0] == ["12.5"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It takes 22 ns.", "22"),
        ("It has 36.6\nmillion.", "36.6"),
        ("It has 33.6.", "33.6"),
        ("An error (of 0.4).", "0.4"),
        ("Version 3.3.1 of 2026", ""),
    ],
)
def test_figures_are_found_in_sentences(figures, text, found):
    assert figures.figures_in(text) == set(found.split())


def test_constants_need_no_source_and_a_page(figures):
    assert figures.without_data("It takes 1,000 steps.", {}, {"1,000": "default"}) == ([], [])
    assert figures.without_data("It takes some steps.", {}, {"1,000": "default"}) == ([], ["1,000"])


def test_guides_and_explanations_are_checked(figures):
    folders = {page.parent.name for page in figures.PAGES}
    assert folders >= {"results", "tutorials", "guides", "explanation", "design"}
    stems = [page.stem for page in figures.PAGES]
    assert len({*stems}) == len(stems), "a data file would have two pages"


@pytest.mark.parametrize("without", ["commands", "machine", "date"])
def test_data_have_a_source(figures, without):
    entry = {"commands": ["bench/c_speed.py"], "machine": "a machine", "date": datetime.date(2026, 1, 2), "columns": ["a"], "rows": [["1"]]}
    assert figures.problems_of("page", {"tables": {"t": entry}}) == []
    del entry[without]
    assert "needs commands, machine and date" in figures.problems_of("page", {"tables": {"t": entry}})[0]
    assert "no such command" in figures.problems_of("page", {"sentences": [{**entry, "of": "x", "commands": ["bench/none.py"]}]})[-1]
