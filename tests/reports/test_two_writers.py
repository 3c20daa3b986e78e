"""One process at a time writes to a name: the second one is told which process does, and nothing is lost."""

import fcntl
import os
import signal
import subprocess
import time

import pytest

from conftest import LIMIT, PROGRAM


@pytest.fixture
def network(bench, shared):
    case = shared / "reports" / "inspect_open_extents"
    return case / "c48_fcn.onnx", case / "c48_fcn.npz"


def expect_in_use(bench, holder, *words):
    ended = bench.run(*words, code=2)
    assert str(holder) in ended.err and "halfstep: error HS" in ended.err, ended.err


def test_folders_in_use(bench, network):
    folder = bench.folder / "same"
    folder.mkdir()
    model, samples = network
    bench.run("quantize", model, "--data", samples, "--out", "p")
    bench.run("convert", "p", "--out", "i")
    held = os.open(folder, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    for words in (["train", "p", "--data", samples, "--distill", "--epochs", 1, "--out", "same"],
                  ["train", "p", "--data", samples, "--distill", "--epochs", 1, "--bits-schedule", "8", "--out", "same"],
                  ["quickstart", "--epochs", 1, "--tune-epochs", 0, "--out", "same"],
                  ["export", "i", "--format", "c", "--data", samples, "--out", "same"]):  # fmt: skip
        expect_in_use(bench, os.getpid(), *words)
    os.close(held)
    assert os.listdir(folder) == []
    bench.run("export", "i", "--format", "c", "--data", samples, "--out", "same")


def test_repair_folders_in_use(bench, network):
    """A repair claims its folder from its first step on, with and without --resume."""
    model, samples = network
    words = ["quantize", model, "--data", samples, "--repair", "bias", "--repair-folder", "same"]
    (bench.folder / "same").mkdir()
    held = os.open(bench.folder / "same", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    expect_in_use(bench, os.getpid(), *words, "--out", "p")
    expect_in_use(bench, os.getpid(), *words, "--out", "p", "--resume")
    os.close(held)
    bench.run(*words, "--out", "p")
    assert os.listdir(bench.folder) == ["p"]


def test_files_in_use(bench, network):
    model, samples = network
    bench.run("quantize", model, "--data", samples, "--out", "p")
    bench.run("convert", "p", "--out", "i")
    hidden = bench.folder / ".halfstep-same.claim"
    held = os.open(hidden, os.O_RDWR | os.O_CREAT)
    fcntl.flock(held, fcntl.LOCK_EX)
    for words in (["quantize", model, "--data", samples, "--out", "same"], ["convert", "p", "--out", "same"],
                  ["quantize", model, "--data", samples, "--out", "same", "--overwrite"], ["report", "p", "--data", samples, "--out", "same"],
                  ["export", "p", "--format", "qdq", "--out", "same"], ["dump", "i", "--data", samples, "--out", "same"]):  # fmt: skip
        expect_in_use(bench, os.getpid(), *words)
    os.close(held)
    bench.run("quantize", model, "--data", samples, "--out", "same")
    assert not hidden.exists()


def test_two_runs_at_once(bench, network):
    model, samples = network
    words = [PROGRAM, "quantize", model, "--data", samples, "--out", "same.st"]
    both = [subprocess.Popen(list(map(str, words)), cwd=bench.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    ended = [(process.communicate(timeout=LIMIT)[1], process.returncode) for process in both]
    assert sorted(code for _, code in ended) == [0, 2], ended
    (err,) = [err for err, code in ended if code == 2]
    assert "halfstep: error HS" in err and "same.st" in err
    assert sorted(os.listdir(bench.folder)) == ["same.st"]


def test_what_a_killed_process_left_goes(bench, network):
    """Temporary files and claims without an owner are removed. Claims that a process holds stay."""
    model, samples = network
    for name in (".halfstep-0123456789abcdef.tmp", ".halfstep-other.claim", ".halfstep-fedcba9876543210.tmp"):
        (bench.folder / name).write_bytes(b"")
    held = os.open(bench.folder / ".halfstep-fedcba9876543210.tmp", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    bench.run("quantize", model, "--data", samples, "--out", "p")
    assert sorted(os.listdir(bench.folder)) == [".halfstep-fedcba9876543210.tmp", "p"]
    os.close(held)


def test_folder_that_a_killed_dump_left_goes(bench, network):
    model, samples = network
    bench.run("quantize", model, "--data", samples, "--out", "p")
    words = [PROGRAM, "dump", "p", "--data", str(samples), "--out", "values"]
    process = subprocess.Popen(words, cwd=bench.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    begin = time.monotonic()
    while process.poll() is None and time.monotonic() < begin + LIMIT:
        if any(name.endswith(".tmp") for name in os.listdir(bench.folder)):
            process.send_signal(signal.SIGKILL)
    process.wait()
    bench.run(*words[1:], "--overwrite")
    assert sorted(os.listdir(bench.folder)) == ["p", "values"]


def test_bits_go_on_with_their_epochs(bench, network):
    """Killed in the fine-tuning, without any repair: --resume reads the finished epochs, with the same result."""
    model, samples = network
    words = ["bits", model, "--overrides", "weights.legal_bits=[4, 8]", "--choose-first-last", "--platform", "generic_int8", "--data", samples, "--budget", "size<=100kB",
             "--epochs", 6, "--batch", 4, "--threads", 1]  # fmt: skip
    bench.run(*words, "--out", "whole")
    process = subprocess.Popen([PROGRAM, *map(str, words), "--out", "cut"], cwd=bench.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    folder, begin = bench.folder / "cut.training", time.monotonic()
    while process.poll() is None and time.monotonic() < begin + LIMIT:
        if folder.is_dir() and any(name.startswith("checkpoint") for name in os.listdir(folder)):
            process.send_signal(signal.SIGKILL)
            break
        time.sleep(0.002)
    process.wait()
    if process.returncode == -signal.SIGKILL:
        assert "--overwrite" in bench.run(*words, "--out", "cut", code=2).err or folder.is_dir()
    ended = bench.run(*words, "--out", "cut", "--overwrite", "--resume")
    assert "wrote cut" in ended.out
    assert (bench.folder / "cut").read_bytes() == (bench.folder / "whole").read_bytes()
    assert sorted(os.listdir(bench.folder)) == ["cut", "whole"]
