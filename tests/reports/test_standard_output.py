"""A report that cannot be written is an error in every verb, whatever the verb has done."""

import subprocess

import pytest

from conftest import LIMIT, PROGRAM

SHORT = [["--help"], ["--version"], ["platform", "list"], ["platform", "keys"], ["platform", "show", "snpe"],
         ["pass", "--list"], ["data"], ["data", "--json"]]  # fmt: skip


def expect_full(bench, words):
    with open("/dev/full", "w") as full:
        ended = subprocess.run([PROGRAM, *map(str, words)], cwd=bench.folder, stdout=full, stderr=subprocess.PIPE, text=True,
                               timeout=LIMIT, check=False)  # fmt: skip
    last = ended.stderr.strip().splitlines()[-1]
    assert (ended.returncode, last) == (2, "halfstep: standard output: No space left on device"), words


@pytest.mark.parametrize("words", SHORT, ids=" ".join)
def test_short_reports(bench, words):
    expect_full(bench, words)


def test_reports_of_networks(bench, shared):
    case = shared / "reports" / "inspect_open_extents"
    network, samples = case / "c48_fcn.onnx", case / "c48_fcn.npz"
    prepared = bench.folder / "prepared.safetensors"
    bench.run("quantize", network, "--data", samples, "--out", prepared)
    integer = bench.folder / "integer.safetensors"
    expect_full(bench, ["convert", prepared, "--out", integer, "--json"])
    for words in (["quantize", network, "--data", samples, "--out", "again", "--json"], ["inspect", prepared],
                  ["inspect", network], ["verify", prepared, integer, "--data", samples],
                  ["analyze", prepared, "--data", samples], ["run", network, "--inputs", samples]):  # fmt: skip
        expect_full(bench, words)


def test_every_other_verb(bench):
    bench.run("quickstart", "--epochs", 1, "--tune-epochs", 0, "--out", "quick")
    bench.run("dump", "quick/integer.safetensors", "--out", "values")
    prepared, integer = "quick/prepared.safetensors", "quick/integer.safetensors"
    for words in (["eval", integer], ["eval", integer, "--json"], ["platform", "list", "--json"], ["platform", "new", "mine"],
                  ["export", integer, "--format", "c", "--out", "program"], ["export", "quick/float.safetensors", "--format", "float", "--out", "q.onnx"],
                  ["dump", integer, "--out", "others"], ["report", prepared, "--out", "page.html"], ["compare", "values", "values"],
                  ["bits", prepared, "--budget", "size<=50kB", "--samples", 64, "--out", "mixed"],
                  ["train", "--model", prepared, "--epochs", 1, "--out", "run"], ["fuzz", "--seeds", "1:2", "--threads", 1]):  # fmt: skip
        expect_full(bench, words)
