"""A read-only folder, in every verb that writes: the error names the requested output, and nothing is written."""

import os
import pathlib
import subprocess
import tempfile

import pytest

from conftest import PROGRAM
from verbs import WRITING, expect_no_bug, is_folder, of_lines, run, targets, whole, with_overwrite

NOBODY = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}


@pytest.fixture
def folder():
    """A folder that every user may enter, with a folder `there`."""
    with tempfile.TemporaryDirectory(prefix="halfstep-read-only-") as name:
        os.chmod(name, 0o755)
        there = pathlib.Path(name) / "there"
        there.mkdir()
        yield pathlib.Path(name)
        there.chmod(0o755)


@pytest.fixture(autouse=True)
def starts_as_nobody(folder):
    """Modes do not bind root, so root runs the program as the user nobody."""
    try:
        subprocess.run([PROGRAM, "--version"], cwd=folder, capture_output=True, check=True, **NOBODY)
    except (OSError, subprocess.CalledProcessError) as reason:
        pytest.skip(f"another user cannot start the program: {reason}")


def expect_refused(line, folder, before):
    ended = run(folder, line, **NOBODY)
    expect_no_bug(line, ended)
    assert ended.code == 2 and len(ended.errors) == 1, (line, ended.code, ended.err)
    said = ended.errors[0]
    assert any(f"there/{name}" in said for name in targets(line)) and "permission denied" in said, (line, said)
    assert ".halfstep-" not in said, (line, said)
    assert ended.files == before, (line, sorted(ended.files))
    assert sorted(os.listdir(folder)) == ["there", "tmp"], line


@of_lines(WRITING)
def test_into_a_read_only_folder(folder, line):
    (folder / "there").chmod(0o555)
    expect_refused(line, folder, {})


@of_lines(WRITING)
def test_over_what_lies_in_a_read_only_folder(folder, line):
    for name, text in whole(line).files.items():
        path = folder / "there" / name
        path.mkdir() if text is None else path.write_bytes(text)
    for path in [folder / "there", *(folder / "there").rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    expect_refused(with_overwrite(line), folder, whole(line).files)


@of_lines([line for line in WRITING if is_folder(targets(line)[0]) and len(targets(line)) == 1])
def test_folder_that_is_read_only_itself(folder, line):
    (name,) = targets(line)
    (folder / "there" / name).mkdir(mode=0o555)
    (folder / "there").chmod(0o555)
    expect_refused(line, folder, {name: None})
