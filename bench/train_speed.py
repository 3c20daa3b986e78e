#!/usr/bin/env python3
"""Training steps of ResNet-20, float and quantized, beside PyTorch's, in one run.

usage: bench/train_speed.py [--program build/release/halfstep] [--threads 2] [--batch 128] [--rounds 3] [--no-compile]

Medians of a step (forward, backward, update) over rounds in which the contestants take turns: Halfstep's float step and its steps on codes at 8 and at
4 bits; PyTorch's float step and its quantization-aware one (torch.ao, fused modules, x86 settings), with observers and without, eager and compiled,
images channels last. The network is the one of onnx_speed.py, normalization folded, weights random. A ratio above 1 says how many times longer than
Halfstep's float step. Where other work shares the processors, OMP_WAIT_POLICY=PASSIVE keeps PyTorch's threads from spinning.
Needs torch and what onnx_speed.py needs.
"""
import argparse
import copy
import json
import pathlib
import statistics
import subprocess
import tempfile
import time
import warnings

import numpy as np
import torch
from onnx_speed import resnet20
from torch import nn
from torch.ao import quantization

STEPS = 10
RATE = 1e-6  # random weights must not diverge


class Halfstep:
    """The steps of `halfstep train` on a Model or an ONNX file."""

    def __init__(self, given, name, model, folder):
        self.name = name
        self.command = [given.program, "train", "--model", model, "--data", folder / "data.npz", "--epochs", "1", "--batch", given.batch,
                        "--learning-rate", RATE, "--threads", given.threads, "--out", folder / "run", "--json"]

    def times(self):
        return [json.loads(output_of(self.command))["step_milliseconds"]]


def output_of(command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, timeout=600).stdout


def halfsteps(given, folder):
    rng = np.random.default_rng(0)
    count = given.batch * STEPS * 5 // 4  # a fifth is for testing
    np.savez(folder / "data.npz", x=rng.standard_normal((count, 3, 32, 32), np.float32), labels=np.arange(count, dtype=np.int32) % 10)
    resnet20(folder / "resnet20.onnx")
    yield Halfstep(given, "halfstep float", folder / "resnet20.onnx", folder)
    for bits in (8, 4):
        prepared = folder / f"w{bits}a{bits}"
        output_of([given.program, "quantize", folder / "resnet20.onnx", "--calibrate", folder / "data.npz", "--weights", bits, "--features", bits,
                   "--edges", "8", "--out", prepared])
        yield Halfstep(given, f"halfstep W{bits}A{bits}", prepared, folder)


def conv_relu(inputs, outputs, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1), nn.ReLU())


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first, self.second = conv_relu(inputs, outputs, stride), nn.Conv2d(outputs, outputs, 3, 1, 1)
        self.shortcut = nn.Conv2d(inputs, outputs, 1, stride) if stride > 1 else nn.Identity()
        self.sum = torch.ao.nn.quantized.FloatFunctional()

    def forward(self, x):
        return self.sum.add_relu(self.second(self.first(x)), self.shortcut(x))


class ResNet20(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [16] * 4 + [32] * 3 + [64] * 3
        blocks = [Block(i, o, 1 if i == o else 2) for i, o in zip(widths, widths[1:])]
        self.body = nn.Sequential(conv_relu(3, 16), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()

    def forward(self, x):
        return self.dequant(self.body(self.quant(x)))


def quantization_aware(network):
    network = copy.deepcopy(network).train()
    pairs = [name for name, module in network.named_modules() if isinstance(module, nn.Sequential) and isinstance(module[-1], nn.ReLU)]
    network = quantization.fuse_modules_qat(network, [[f"{name}.0", f"{name}.1"] for name in pairs])
    network.qconfig = quantization.get_default_qat_qconfig("x86")
    return quantization.prepare_qat(network)


def fixed_ranges(network):
    """Quantizers as they are late in a training: they have seen data and their observers are switched off."""
    network = quantization_aware(network)
    network(torch.randn(8, 3, 32, 32))
    return network.apply(quantization.disable_observer)


class PyTorch:
    def __init__(self, given, name, network, compiled):
        self.name = name
        network = copy.deepcopy(network).train().to(memory_format=torch.channels_last)
        optimizer = torch.optim.SGD(network.parameters(), lr=RATE, momentum=0.9, weight_decay=1e-4)
        forward = torch.compile(network) if compiled else network
        x = torch.randn(given.batch, 3, 32, 32).to(memory_format=torch.channels_last)
        labels = torch.arange(given.batch) % 10

        def step():
            optimizer.zero_grad()
            nn.functional.cross_entropy(forward(x), labels).backward()
            optimizer.step()

        self.step = step
        for _ in range(3):
            step()

    def times(self):
        times = []
        for _ in range(STEPS):
            start = time.perf_counter()
            self.step()
            times.append((time.perf_counter() - start) * 1e3)
        return times


def pytorches(given):
    torch.set_num_threads(given.threads)
    network = ResNet20()
    for kind, made in (("float", network), ("QAT", quantization_aware(network)), ("QAT, fixed ranges", fixed_ranges(network))):
        yield PyTorch(given, f"PyTorch {kind}", made, False)
        if not given.compile:
            continue
        try:
            yield PyTorch(given, f"PyTorch {kind} compiled", made, True)
        except Exception as error:  # whatever its compiler lacks here
            print(f"PyTorch {kind} is not compiled: {str(error).splitlines()[0]}")


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
        contestants = [*halfsteps(given, pathlib.Path(folder)), *pytorches(given)]
        times = {contestant.name: [] for contestant in contestants}
        for _ in range(given.rounds):
            for contestant in contestants:
                time.sleep(0.05)  # until the threads of the one before no longer spin
                times[contestant.name] += contestant.times()
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(f"milliseconds of a step of ResNet-20, batch {given.batch}, {given.threads} threads, and how many times Halfstep's float step")
    for name, median in medians.items():
        print(f"{name:<34}{median:10.1f}{median / medians['halfstep float']:8.2f}")


if __name__ == "__main__":
    main()
