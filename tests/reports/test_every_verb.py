"""The table of `verbs.py` has every verb of the program, with every option that names a file to write."""

import os
import re

import pytest

from verbs import ALL, PRINTS, VERBS, WRITES, is_folder, of_lines, run, targets, whole

OPTIONS = r"--(?:out|outputs|sheet|html|trace) "


def test_every_verb_has_a_line(bench):
    listed = re.findall(r"^  (\w+) {2,}", bench.run("--help").out.partition("Subcommands:")[2], re.MULTILINE)
    assert len(listed) > 15 and sorted(listed) == VERBS


@pytest.mark.parametrize("verb", VERBS)
def test_options_that_write(bench, verb):
    options = {option.strip() for option in re.findall(OPTIONS, bench.run(verb, "--help-all").out)}
    lines = " ".join(WRITES.get(verb, []))
    assert all(option + " " in lines for option in options), (verb, options)
    assert all(line.startswith(verb + " ") for line in WRITES.get(verb, []) + PRINTS.get(verb, []))


@of_lines(ALL)
def test_lines_do_what_they_say(tmp_path, line):
    """Every line prints, and writes the files that it names. Only fuzz has a finding, because its compiler compiles
    nothing."""
    ended = whole(line)
    assert ended.code == (1 if line.startswith("fuzz") and targets(line) else 0), ended.err
    assert ended.out and not ended.errors and not ended.temporary
    assert all(name == "blocks" or is_folder(name) == (ended.files[name] is None) for name in targets(line))
    # repaired blocks are removed when the result is written
    kept = [name for name in targets(line) if name != "blocks"]
    assert sorted({name.partition("/")[0] for name in ended.files}) == sorted(kept)
    if not targets(line):
        run(tmp_path, line)
        assert os.listdir(tmp_path) == ["tmp"], "a line without targets writes nothing"
