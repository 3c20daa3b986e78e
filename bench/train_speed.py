#!/usr/bin/env python3
"""Compare training steps of ResNet-20, float and quantized, with PyTorch's, in one run.

usage: bench/train_speed.py [--program build/release/halfstep] [--threads 2] [--batch 128] [--rounds 3] [--no-compile]

Prints medians of a step (forward, backward, update) over rounds in which all take turns. Halfstep runs its float step
and its steps on codes at 8 and at 4 bits, in `halfstep train` and as a module in a PyTorch loop. PyTorch runs its float
step and its quantization-aware one (torch.ao, fused modules, x86 settings), with observers and without, eager and
compiled, with images channels last. The network is that of onnx_speed.py, with folded normalization and random weights.
A ratio above 1 is the time relative to Halfstep's float step. If other work shares the processors,
OMP_WAIT_POLICY=PASSIVE keeps PyTorch's threads from spinning. Needs onnx and numpy. Without torch only Halfstep's steps
run. The module needs the package: PYTHONPATH=build/release/gen/python.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time
import warnings

import numpy as np
from networks import resnet20

STEPS = 10
RATE = 1e-6  # random weights must not diverge


class Halfstep:
    """The steps of `halfstep train` on a Model or an ONNX file."""

    def __init__(self, given, name, model, folder):
        self.name = name
        self.command = [given.program, "train", "--model", model, "--data", folder / "data.npz", "--epochs", "1", "--batch", given.batch,
                        "--learning-rate", RATE, "--threads", given.threads, "--out", folder / "run", "--overwrite", "--json"]

    def times(self):
        return [json.loads(output_of(self.command))["step_milliseconds"]]


def output_of(command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, timeout=6000).stdout


def halfsteps(given, folder):
    rng = np.random.default_rng(0)
    count = given.batch * STEPS * 5 // 4  # a fifth is for testing
    np.savez(folder / "data.npz", x=rng.standard_normal((count, 3, 32, 32), np.float32), labels=np.arange(count, dtype=np.int32) % 10)
    resnet20(folder / "resnet20.onnx")
    yield Halfstep(given, "halfstep float", folder / "resnet20.onnx", folder)
    for bits in (8, 4):
        prepared = folder / f"w{bits}a{bits}"
        output_of([given.program, "quantize", folder / "resnet20.onnx", "--calibrate", folder / "data.npz", "--weight-bits", bits, "--activation-bits", bits,
                   "--first-last-bits", "8", "--overwrite", "--out", prepared])
        yield Halfstep(given, f"halfstep W{bits}A{bits}", prepared, folder)


def peers(given, folder):
    try:
        from train_speed_torch import modules, pytorches
    except ModuleNotFoundError as error:
        print(f"no PyTorch: {error}")
        return []
    return [*modules(given, folder, STEPS, RATE), *pytorches(given, STEPS, RATE)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/halfstep")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-compile", dest="compile", action="store_false", help="leave out torch.compile, which takes minutes")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    with tempfile.TemporaryDirectory() as folder:
        contestants = [*halfsteps(given, pathlib.Path(folder)), *peers(given, pathlib.Path(folder))]
        times = {contestant.name: [] for contestant in contestants}
        for _ in range(given.rounds):
            for contestant in contestants:
                time.sleep(0.05)  # The previous engine's threads spin for a while.
                times[contestant.name] += contestant.times()
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(f"milliseconds of a step of ResNet-20, batch {given.batch}, {given.threads} threads, and how many times Halfstep's float step")
    for name, median in medians.items():
        print(f"{name:<34}{median:10.1f}{median / medians['halfstep float']:8.2f}")


if __name__ == "__main__":
    main()
