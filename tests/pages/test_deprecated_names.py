"""CHANGELOG.md lists every old name that still works, beside its new one."""

import ast
import re

import pytest
from pages import ROOT

yaml = pytest.importorskip("yaml", reason="python3-yaml is not there for this Python")


def described(value, key=""):
    """Pairs of old and new names of options: (`--old`, `--new`) and (`old`, `new`)."""
    if isinstance(value, dict):
        earlier = value.get("earlier")
        if isinstance(earlier, list):
            for old in earlier:
                yield old, f"--{key.replace('_', '-')}" if old.startswith("--") else key
        elif isinstance(earlier, dict):
            yield from earlier.items()
        for name, one in value.items():
            yield from described(one, name)


def options():
    paths = [*(ROOT / "halfstep").rglob("options.yaml"), *(ROOT / "halfstep/api/verbs").glob("*.yaml")]
    return [pair for path in paths for pair in described(yaml.safe_load(path.read_text()))]


def python():
    """Pairs of renamed arguments, names, and properties of reports."""
    for path in (ROOT / "python/halfstep").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "renamed":
                yield from ((keyword.arg, keyword.value.value) for keyword in node.keywords)
            if path.name == "__init__.py" and isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_RENAMED":
                yield from ((f"hs.{old}", f"hs.{new}") for old, new in ast.literal_eval(node.value).items())
            if path.name == "reports.py" and isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_EARLIER":
                yield from ast.literal_eval(node.value).items()


def cpp():
    text = (ROOT / "halfstep/api/deprecated.h").read_text()
    return re.findall(r'^using (\w+) HALFSTEP_DEPRECATED\("[\d.]+", "(\w+)"\)', text, re.MULTILINE)


def records():
    """Keys of platform records."""
    text = (ROOT / "halfstep/quant/platform/earlier_keys.cpp").read_text()
    return [pair for line in text.splitlines() if "EarlierKey" in line or "rename_key" in line for pair in re.findall(r'\{"([\w.]+)", "(\w+)"\}', line)]


def rows():
    """Rows of the tables of the list: the words in code of each cell."""
    section = re.search(r"^### Deprecated\n(.*?)^### ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE | re.DOTALL)[1]
    return [[re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("| ")]


@pytest.mark.parametrize("names", [options, python, cpp, records])
def test_old_names_are_listed(names):
    """An option of one command may have the command in front."""
    pairs = list(names())
    assert pairs
    listed = {(old.split()[-1], new.split()[-1]) for *_, olds, news in rows() for old in olds for new in news}
    missing = [f"{old}: {new}" for old, new in pairs if (old, new) not in listed]
    assert not missing, f"{', '.join(missing)}: not in the tables of `### Deprecated` in CHANGELOG.md; add a row"
