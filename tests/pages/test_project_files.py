"""Files about the project agree with each other."""

import re

import pytest
from pages import ROOT


def version():
    return re.search(r"project\(halfstep VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def test_citation_has_the_version():
    assert re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1] == version()


def test_changelog_begins_with_this_version_or_a_later_one():
    """A later one is not released yet."""
    newest = re.search(r"^## \[([\d.]+)\](.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest[1] == version() or newest[2] == " - Unreleased"


def test_security_names_every_fuzz_target():
    section = (ROOT / "SECURITY.md").read_text().split("## Fuzzing")[1]
    missing = [path.stem for path in sorted((ROOT / "tests/fuzz").glob("*.cpp")) if f"`{path.stem}`" not in section]
    assert not missing, f"SECURITY.md does not name {', '.join(missing)}; add them to the table of targets"


def test_hooks_call_programs_that_exist():
    yaml = pytest.importorskip("yaml", reason="python3-yaml is not there for this Python")
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    hooks = [hook for repo in config["repos"] for hook in repo["hooks"]]
    called = {hook["id"]: re.search(r"tools/[\w.]+", hook["entry"])[0] for hook in hooks}
    assert called and not [path for path in called.values() if not (ROOT / path).is_file()]
    assert all(hook["language"] == "system" for hook in hooks)


def test_readme_is_short():
    assert len((ROOT / "README.md").read_bytes()) <= 7000
