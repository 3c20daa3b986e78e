"""A report that cannot be written is an error in every verb, even if the verb's work is done."""

import subprocess

import pytest

from conftest import LIMIT, PROGRAM
from verbs import ALL, command, contents, environment, expect_whole, of_lines


@pytest.mark.parametrize("words", [["--help"], ["--version"]], ids=" ".join)
def test_program_itself(bench, words):
    expect_full(bench.folder, [PROGRAM, *words])


@of_lines(ALL)
def test_reports(bench, line):
    """The files are complete anyway, or absent."""
    (bench.folder / "there").mkdir()
    expect_full(bench.folder, command(line))
    expect_whole(line, contents(bench.folder / "there"))


def expect_full(folder, words):
    with open("/dev/full", "w") as full:
        ended = subprocess.run(words, cwd=folder, env=environment(folder), stdout=full, stderr=subprocess.PIPE,
                               text=True, timeout=LIMIT, check=False)  # fmt: skip
    last = ended.stderr.strip().splitlines()[-1]
    assert ended.returncode == 2 and "HS9007" in last and "No space left on device" in last, words
