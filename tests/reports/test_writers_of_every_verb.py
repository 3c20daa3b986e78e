"""Two processes that write to one name, in every verb that writes: one succeeds, and the other is told which process
writes."""

import contextlib
import fcntl
import os

import pytest

from verbs import (
    WRITING,
    contents,
    end_all,
    expect_no_bug,
    expect_whole,
    is_folder,
    of_lines,
    run,
    start,
    targets,
    whole,
)

BLOCKS = "blocks"  # target of --repair-folder, removed when the result is written

NAMES = [(line, name) for line in WRITING for name in targets(line)]


@contextlib.contextmanager
def held(folder, line, name):
    """The name, locked as by a process that writes to it: a hidden file beside it, and the folder itself."""
    places = [folder / "there" / f".halfstep-{name}.claim"]
    places[0].touch()
    if name == BLOCKS or is_folder(name):
        places.append(folder / "there" / name)
        places[1].mkdir()
    files = [os.open(place, os.O_RDONLY) for place in places]
    for file in files:
        fcntl.flock(file, fcntl.LOCK_EX)
    yield
    for file in files:
        os.close(file)


@pytest.mark.parametrize("line, name", NAMES, ids=[f"{line.split()[0]} {name}" for line, name in NAMES])
def test_name_in_use(tmp_path, line, name):
    (tmp_path / "there").mkdir()
    with held(tmp_path, line, name):
        before = contents(tmp_path / "there")
        ended = run(tmp_path, line)
    expect_no_bug(line, ended)
    assert ended.code == 2 and len(ended.errors) == 1, (line, ended.code, ended.err)
    assert f"there/{name}" in ended.errors[0] and str(os.getpid()) in ended.errors[0], ended.err
    assert ended.files == before, (line, name, sorted(ended.files))


@of_lines(WRITING)
def test_two_at_once(tmp_path, line):
    """One succeeds and one is refused, at the latest because the result exists. Nothing else remains."""
    (tmp_path / "there").mkdir()
    processes = [start(tmp_path, line) for _ in range(2)]
    ends = sorted(end_all(processes, tmp_path), key=lambda ended: ended.code)
    assert [ended.code for ended in ends] == [whole(line).code, 2], (line, [ended.err for ended in ends])
    expect_no_bug(line, ends[1])
    (said,) = ends[1].errors
    assert "there" in said and "HS" in said, (line, said)
    files = contents(tmp_path / "there")
    expect_whole(line, files)
    assert files.keys() == whole(line).files.keys(), line
