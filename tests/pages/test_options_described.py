"""optiongen refuses descriptions that break a rule, and a new option needs changes in two files only."""

import pathlib
import re
import shutil
import subprocess

import pytest
from pages import ROOT
from test_blocks import PROGRAM

BUILD = pathlib.Path(PROGRAM).parent
RANGES = "namespace: limits\nranges:\n  share: {floats: [0, 1], below: true}\n  epochs: {integers: [1, 100]}\n"
GOOD = """
namespace: train
structs:
  Recipe:
    doc: How a network learns.
    group: Training
    options:
      epochs:
        type: int64
        default: 20
        range: epochs
        doc: passes over the training samples
      part:
        type: Part
        enum: Part
        choices: [test, train]
        default: test
        doc: part of the data
      ema:
        type: number
        default: 0.9
        range: share
        doc: decay of the moving average
"""
COMMON = "namespace: api\nstructs:\n  CommonOptions:\n    doc: Of every verb.\n    group: General\n    options:\n      json:\n        type: flag\n        doc: print JSON\n"
VERB = "summary: Train a network.\nexamples: [halfstep train]\noptions:\n  options:\n    struct: train::Recipe\n"


def optiongen(folder, recipe=GOOD, verb=VERB):
    files = {"base/options.yaml": RANGES, "loop/options.yaml": recipe, "api/options.yaml": COMMON, "verbs/train.yaml": verb}
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    command = [BUILD / "optiongen", "--out", folder / "out", *(folder / name for name in files)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_a_member_and_a_flag_for_each_option(tmp_path):
    assert optiongen(tmp_path).returncode == 0
    header = next((tmp_path / "out").rglob("loop/options.h")).read_text()
    assert "  /// Passes over the training samples.\n  int64_t epochs = 20;" in header
    assert "enum class Part { test, train };" in header and "Part part = Part::test;" in header
    commands = (tmp_path / "out/halfstep/api/commands.cpp").read_text()
    assert '{"epochs", "", "", "Training", ""' in commands and "bind(command.options.epochs);" in commands


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("default: 20", "default: 0", ["loop/options.yaml:8: epochs", "'0'", "1 to 100"]),
        ("default: 20", "default: many", ["epochs", "'many'", "a number"]),
        ("default: 20", "default: 1.5", ["epochs", "'1.5'", "an integer"]),
        ("default: 0.9", "default: 1", ["ema", "'1'", "at least 0 and below 1"]),
        ("default: test", "default: half", ["part", "'half'", "test, train"]),
        ("        enum: Part\n", "", ["part", "choices without an enum"]),
        ("range: share", "range: shares", ["ema", "'shares'"]),
        ("        doc: part of the data\n", "", ["part", "doc"]),
        ("doc: part of the data", "doc: test is a fifth of the data", ["part", "'test'", "a verb or a noun"]),
        ("doc: part of the data", "doc: KEY=PART of the data", ["part", "'KEY=PART'", "a verb or a noun"]),
        ("type: number", "kind: number", ["ema", "'kind'"]),
    ],
)
def test_a_description_that_breaks_a_rule_is_refused(tmp_path, old, new, names):
    assert old in GOOD
    done = optiongen(tmp_path, GOOD.replace(old, new))
    assert done.returncode == 1
    assert all(name in done.stderr for name in names), done.stderr


@pytest.mark.parametrize(
    ("verb", "names"),
    [
        (VERB + "python:\n  summary: Train.\n  example: hs.train()\n", ["no raises or no example"]),
        (VERB + "    only: [epoch]\n", ["Recipe", "'epoch'"]),
        (VERB.replace("train::Recipe", "train::Recipes"), ["'train::Recipes'"]),
        (VERB + "  epochs:\n    type: int\n    doc: again\n", ["two options of that name"]),
        (VERB + "    change:\n      epochs: {default: \"0\"}\n", ["epochs", "'0'", "1 to 100"]),
    ],
)
def test_a_verb_that_breaks_a_rule_is_refused(tmp_path, verb, names):
    done = optiongen(tmp_path, verb=verb)
    assert done.returncode == 1
    assert all(name in done.stderr for name in names), done.stderr


def test_a_new_option_costs_two_files(tmp_path):
    """The two files are its description and the code that uses it. C++, the command line, configuration files, Python
    and its docstring then have the option."""
    patch = ROOT / "tests/cost/option.patch"
    touched = re.findall(r"^\+\+\+ b/(.*)$", patch.read_text(), re.MULTILINE)
    assert len(touched) == 2, touched
    descriptions = [*ROOT.glob("halfstep/**/options.yaml"), *sorted(ROOT.glob("halfstep/api/verbs/*.yaml"))]
    names = [path.relative_to(ROOT) for path in descriptions]
    for name in {*map(pathlib.Path, touched), *names}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    subprocess.run(["patch", "-p1", "-i", patch], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    subprocess.run([BUILD / "optiongen", "--out", "gen", *names], cwd=tmp_path, check=True, timeout=60)
    made = tmp_path / "gen"
    assert "double clip_gradient = 0;" in (made / "halfstep/train/loop/options.h").read_text()
    assert "bind(command.options.recipe.clip_gradient);" in (made / "halfstep/api/commands.cpp").read_text()
    train = (made / "python/halfstep/verbs.py").read_text().partition("def train(")[2]
    assert "clip_gradient: float = 0," in train and "clip_gradient: Scale gradients down to this norm" in train
    source = tmp_path / "halfstep/train/loop/recipe.cpp"
    command = ["c++", "-std=c++20", "-fsyntax-only", "-DFMT_SHARED", f"-I{made}", f"-I{ROOT}", f"-I{BUILD / 'gen'}", source]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[:2000]
