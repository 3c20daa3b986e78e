"""errorgen refuses a catalogue that breaks a rule. tools/check_errors.py refuses an error that no code raises or no
test checks."""

import json
import pathlib
import re
import subprocess
import sys

import pytest
from pages import ROOT
from test_blocks import PROGRAM

GOOD = """
too_small:
  id: HS1234
  title: An image is too small
  takes: [where, size, least]
  found: "{size} pixels"
  expected: "at least {least}"
  explanation: Resize it.
"""


def errorgen(folder, *catalogues):
    files = []
    for place, text in enumerate(catalogues):
        files.append(folder / f"room{place}/errors.yaml")
        files[-1].parent.mkdir()
        files[-1].write_text(text)
    command = [pathlib.Path(PROGRAM).parent / "errorgen", "--out", folder / "out", *files]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_a_function_for_each_entry(tmp_path):
    assert errorgen(tmp_path, GOOD).returncode == 0
    header = next((tmp_path / "out").rglob("errors.h")).read_text()
    assert "Diagnostic too_small(const Text& where, const Text& size, const Text& least);" in header


def test_other_words_change_no_header(tmp_path):
    """A changed message recompiles one source, and not each source that raises an error of the room."""
    headers = []
    for name, catalogue in (("one", GOOD), ("other", GOOD.replace("pixels", "points").replace("Resize it", "Enlarge it").replace("too small", "tiny"))):
        (tmp_path / name).mkdir()
        assert errorgen(tmp_path / name, catalogue).returncode == 0
        headers.append(next((tmp_path / name / "out").rglob("errors.h")).read_text())
    assert headers[0] == headers[1]


@pytest.mark.parametrize(
    ("catalogues", "names"),
    [
        ((GOOD, GOOD.replace("too_small", "too_tiny")), ["HS1234", "too_tiny", "room0/errors.yaml:2"]),
        ((GOOD, GOOD.replace("HS1234", "HS1235")), ["too_small", "room0/errors.yaml:2"]),
        ((GOOD.replace("  explanation: Resize it.\n", ""),), ["explanation"]),
        ((GOOD.replace("HS1234", "HS12"),), ["HS12"]),
        ((GOOD.replace("  found: \"{size} pixels\"\n  expected: \"at least {least}\"\n", "").replace(", size, least", ""),), ["problem, found or expected"]),
        ((GOOD.replace("title:", "headline:"),), ["headline"]),
        ((GOOD.replace("{least}", "{most}"),), ["{most}"]),
        ((GOOD.replace("least]", "least, name]"),), ["name"]),
        ((GOOD.replace("  title", "  kind: odd\n  title"),), ["odd"]),
    ],
)
def test_a_rule_is_broken(tmp_path, catalogues, names):
    done = errorgen(tmp_path, *catalogues)
    assert done.returncode == 1
    assert all(name in done.stderr for name in ["errors.yaml", *names]), done.stderr


@pytest.mark.parametrize("lacks", ["", "source", "test"])
def test_every_error_is_raised_and_tested(tmp_path, lacks):
    for path, text in {"halfstep/errors.yaml": GOOD, "halfstep/a.cpp": "fail(errors::too_small(a, b, c));", "tests/a.cpp": 'EXPECT_EQ(name, "too_small");'}.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("" if lacks and path.endswith("a.cpp") and path.startswith({"source": "halfstep", "test": "tests"}[lacks]) else text)
    done = subprocess.run([sys.executable, ROOT / "tools/check_errors.py", "--root", tmp_path], capture_output=True, text=True, timeout=60)
    assert done.returncode == (1 if lacks else 0), done.stdout
    assert not lacks or f"no {lacks}" in done.stdout


def test_a_tree_without_errors_is_refused(tmp_path):
    done = subprocess.run([sys.executable, ROOT / "tools/check_errors.py", "--root", tmp_path], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, f"{tmp_path}: there is no errors.yaml\n")


def test_entries_name_commands_and_options_that_there_are():
    def run(*words):
        return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=60, check=True).stdout

    commands = re.findall(r"^  (\w+) {2,}", run("--help").partition("Subcommands:")[2], re.MULTILINE)
    options = {"--help", *(option for command in commands for option in re.findall(r"--[a-z][a-z-]*", run(command, "--help-all")))}
    wrong = []
    for entry in json.loads(run("explain", "--json"))["errors"]:
        words = " ".join((entry["message"], entry["explanation"]))
        wrong += [(entry["id"], option) for option in re.findall(r"(?<![\w-])(?<!tar )--[a-z][a-z-]*", words) if option not in options]
        wrong += [(entry["id"], f"halfstep {verb}") for verb in re.findall(r"\bhalfstep ([a-z]+)\b", words) if verb not in commands]
    assert wrong == []
