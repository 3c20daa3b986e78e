"""`python -m halfstep`, which a wheel installs as `halfstep`, runs the command-line program."""

import os
import signal
import subprocess
import sys
import time

import pytest

PROGRAM = [os.environ.get("HALFSTEP_PROGRAM", "build/release/halfstep")]
MODULE = [sys.executable, "-m", "halfstep"]


def run(command, *arguments):
    return subprocess.run([*command, *map(str, arguments)], capture_output=True, timeout=3000)


@pytest.mark.parametrize(
    "arguments", [["--version"], ["train", "--help"], ["quantise"], ["inspect", os.fsdecode(b"no such file \xff.onnx")], []]
)
def test_says_what_the_program_says(arguments):
    own, other = run(MODULE, *arguments), run(PROGRAM, *arguments)
    assert (own.returncode, own.stdout, own.stderr) == (other.returncode, other.stdout, other.stderr)


def test_writes_the_same_bytes(tmp_path):
    for name, command in (("own", MODULE), ("other", PROGRAM)):
        done = run(command, "train", "--epochs", 1, "--out", tmp_path / name)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "own/model.safetensors").read_bytes() == (tmp_path / "other/model.safetensors").read_bytes()


def test_stops_at_a_signal(tmp_path):
    with subprocess.Popen([*MODULE, "train", "--epochs", "100000", "--out", tmp_path / "run"], stderr=subprocess.PIPE) as process:
        process.stderr.readline()  # It is running.
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert process.wait(60) == 130
        assert time.monotonic() - began < 30


def test_ends_with_its_reader():
    read, write = os.pipe()
    os.close(read)
    assert subprocess.run([*MODULE, "--help"], stdout=write, timeout=600).returncode == -signal.SIGPIPE
    os.close(write)
