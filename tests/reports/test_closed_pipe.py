"""The reader of standard output goes away, as `head` does, in every verb.

The program ends by SIGPIPE, or reports it with exit code 2 when its parent ignores that signal. Files are complete or
absent, and no temporary file remains.
"""

import fcntl
import os
import signal
import subprocess

import pytest

from verbs import ALL, WRITING, end, expect_no_bug, expect_no_temporary, expect_whole, of_lines, start, whole

PAGE = 4096  # the least capacity of a pipe


def run_into_pipe(folder, line, read, ignored=False, both=False):
    """Runs the command with a reader that closes after `read` bytes. `both`: it reads standard error too."""
    (folder / "there").mkdir()
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PAGE)
    if not read:
        os.close(reader)
    err = writer if both else subprocess.PIPE
    process = start(folder, line, stdout=writer, stderr=err, restore_signals=not ignored)
    os.close(writer)
    if read:
        os.read(reader, read)
        os.close(reader)
    return end(process, folder)


def expect_lost(line, ended, ignored):
    expect_no_temporary(line, ended)
    if not ignored and ended.code == -signal.SIGPIPE:
        return
    expect_no_bug(line, ended)
    assert ended.code == 2, (line, ended.code, ended.err)
    assert len(ended.errors) == 1 and "HS9007" in ended.errors[0], (line, ended.err)


@pytest.mark.parametrize("ignored", [False, True], ids=["default", "ignored"])
@of_lines(ALL)
def test_reader_gone_before(tmp_path, line, ignored):
    ended = run_into_pipe(tmp_path, line, 0, ignored)
    expect_lost(line, ended, ignored)
    expect_whole(line, ended.files)


@pytest.mark.parametrize("ignored", [False, True], ids=["default", "ignored"])
@of_lines(ALL)
def test_reader_gone_after_a_byte(tmp_path, line, ignored):
    """Output in the pipe is written, and the rest is lost."""
    ended = run_into_pipe(tmp_path, line, 1, ignored)
    if ended.code != whole(line).code or len(whole(line).out) > 3 * PAGE:
        expect_lost(line, ended, ignored)
    expect_whole(line, ended.files)


def test_some_reports_are_longer_than_a_pipe():
    assert [line for line in ALL if len(whole(line).out) > 3 * PAGE]


@of_lines(WRITING)
def test_reader_of_both_streams_gone(tmp_path, line):
    """`2>&1 | head`: progress hits the closed pipe first, while files are written."""
    ended = run_into_pipe(tmp_path, line, 0, both=True)
    assert ended.code in (2, -signal.SIGPIPE), (line, ended.code)
    expect_no_temporary(line, ended)
    expect_whole(line, ended.files)
