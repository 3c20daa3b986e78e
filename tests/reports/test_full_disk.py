"""A full disk, in every verb that writes.

The message names the output that the user requested. Files are complete or absent, an older file does not change, and
the next command removes the files of a killed one.
"""

import os
import resource
import signal
import subprocess

import pytest

from verbs import (WRITING, end, expect_no_bug, expect_whole, is_folder, of_lines, run, start, targets, whole,
                   with_overwrite)  # fmt: skip

LEAST = 64  # limit on the bytes of a file. Each line writes a longer one
PAGE = 4096
OLDER = b"an older file\n"

# The workers of fuzz reach a file limit in their own temporary folder. A full disk of --out does not affect them.
LIMITED = [line for line in WRITING if not line.startswith("fuzz")]
REPLACING = [line for line in WRITING if any(not is_folder(name) for name in targets(line))]

IN_ONE = ("export", "dump")  # some of their files could pass for a result, while verbs that train can resume from some


def limit_files():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LEAST, LEAST))


def run_limited(folder, line, killed=False):
    """A file that grows too long is an error. With `killed`, it ends the process by SIGXFSZ."""
    return end(start(folder, line, preexec_fn=limit_files, restore_signals=killed), folder)


def put_older_files(folder, line):
    """Writes the files that the line replaces. For an older folder each verb has other rules."""
    older = [name for name in targets(line) if not is_folder(name)]
    for name in older:
        (folder / "there" / name).write_bytes(OLDER)
    return older


def expect_full(line, ended, reason):
    expect_no_bug(line, ended)
    assert ended.code == 2 and len(ended.errors) == 1, (line, ended.code, ended.err)
    said = ended.errors[0]
    assert any(f"there/{name}" in said for name in targets(line)) and reason in said, (line, said)
    assert ".halfstep-" not in said, (line, said)


@of_lines(LIMITED)
def test_file_too_large(tmp_path, line):
    (tmp_path / "there").mkdir()
    ended = run_limited(tmp_path, line)
    expect_full(line, ended, "file too large")
    expect_whole(line, ended.files)


@of_lines(REPLACING)
def test_older_file_stays(tmp_path, line):
    (tmp_path / "there").mkdir()
    older = put_older_files(tmp_path, line)
    ended = run_limited(tmp_path, with_overwrite(line))
    expect_full(line, ended, "file too large")
    assert {name: ended.files.pop(name) for name in older} == dict.fromkeys(older, OLDER)
    expect_whole(line, ended.files)


@of_lines(LIMITED)
def test_what_a_killed_command_left_goes(tmp_path, line):
    """Killed while writing a file. The same command to the same target then finds room."""
    (tmp_path / "there").mkdir()
    ended = run_limited(tmp_path, line, killed=True)
    assert ended.code in (-signal.SIGXFSZ, 2), (line, ended.code, ended.err)
    expect_whole(line, {name: text for name, text in ended.files.items() if ".halfstep-" not in name})
    again = run(tmp_path, with_overwrite(line))
    assert again.code == whole(line).code, (line, again.err)
    expect_whole(line, again.files)
    assert again.files.keys() == whole(line).files.keys(), line


@pytest.fixture
def disk(tmp_path):
    """Mounts `there` as a disk of its own with `pages` free pages, after writing older files to it."""
    there = tmp_path / "there"
    there.mkdir()
    mounted = []

    def unmount():
        while mounted:
            subprocess.run(["umount", mounted.pop()], check=True)

    def mount(pages, put=lambda: None):
        unmount()
        words = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=777", "halfstep-tests", str(there)]
        made = subprocess.run(words, capture_output=True, text=True, check=False)
        if made.returncode:
            reason = made.stderr.strip().splitlines()[0].rpartition(": ")[2]
            pytest.skip(f"no disk can be mounted here: {reason}")
        mounted.append(str(there))
        put()
        state = os.statvfs(there)
        (there / "filler").write_bytes(bytes(state.f_bavail * state.f_frsize - pages * PAGE))

    yield mount
    unmount()


def run_on_disk(folder, line):
    ended = run(folder, line)
    ended.files.pop("filler")
    return ended


@of_lines(WRITING)
def test_disk_fuller_and_less_full(tmp_path, disk, line):
    """No room at all, then half as much again each time until the command succeeds."""
    pages = 0
    while True:
        disk(pages)
        ended = run_on_disk(tmp_path, line)
        if pages and ended.code == whole(line).code:
            break
        expect_full(line, ended, "no space left on device")
        expect_whole(line, ended.files)
        if line.startswith(IN_ONE):
            left = [name for name, text in ended.files.items() if text is not None]
            assert not left, (line, left)
        pages += max(1, pages // 2)
    expect_whole(line, ended.files)
    assert ended.files.keys() == whole(line).files.keys(), line


@of_lines(REPLACING)
def test_older_file_stays_on_a_full_disk(tmp_path, disk, line):
    older = []
    disk(0, lambda: older.extend(put_older_files(tmp_path, line)))
    ended = run_on_disk(tmp_path, with_overwrite(line))
    expect_full(line, ended, "no space left on device")
    files = {name: text for name, text in ended.files.items() if text is not None}  # an empty folder may remain
    assert files == dict.fromkeys(older, OLDER)


def put_older_folder(folder, line):
    for name, text in whole(line).files.items():
        path = folder / "there" / name
        path.mkdir() if text is None else path.write_bytes(OLDER)


@pytest.mark.parametrize("pages", [0, 2])
@of_lines([line for line in WRITING if line not in REPLACING])
def test_older_folder_on_a_full_disk(tmp_path, disk, line, pages):
    """Each file is the older or the new one. For a program or dumps, all are older."""
    disk(pages, lambda: put_older_folder(tmp_path, line))
    ended = run_on_disk(tmp_path, with_overwrite(line))
    expect_whole(line, {name: text for name, text in ended.files.items() if text != OLDER})
    if pages and ended.code == whole(line).code:  # replaced files free room
        return
    expect_full(line, ended, "no space left on device")
    if line.startswith(IN_ONE):
        replaced = [name for name, text in ended.files.items() if text not in (None, OLDER)]
        assert not replaced and ended.files.keys() == whole(line).files.keys(), (line, replaced, sorted(ended.files))
