#!/usr/bin/env python3
"""Compare transposed convolutions and recurrent layers with onnxruntime and OpenVINO, in one run.

usage: bench/layer_speed.py [--program build/release/halfstep] [--threads 2] [--rounds 5] [--only TEXT] [--models FOLDER]

Writes networks of one kind of layer with random weights. The program runs each in float, and quantizes and converts it
for generic_int8. It prints medians over rounds in which the engines take turns. A ratio above 1 is the time of the
engine relative to that of Halfstep's float. The peers run float, because neither has an integer form of these layers.
`integers` is the time of the integer program, with the same ratio. Needs onnx, numpy and safetensors. Engines that are
not installed have no column. Exits with 1 if float outputs differ from those of the first peer.
"""
import subprocess
import sys

import numpy as np
from engines import PEERS, Halfstep, compare, medians, row
from networks import Network, value

SIDE = 16  # pixels
STEPS, INPUTS = 50, 64


def decoder(path, kernel, channels=64):
    """Write three transposed convolutions with stride 2, between convolutions."""
    net = Network(None)
    x = net.op("Relu", net.conv("x", 3, channels, 3))
    for _ in range(3):
        w = net.weight(net.rng.standard_normal((channels, channels, kernel, kernel)) * (2 / channels / kernel) ** 0.5 / kernel**0.5)
        b = net.weight(net.rng.standard_normal(channels) * 0.1)
        x = net.op("Relu", net.op("ConvTranspose", x, w, b, strides=[2, 2], pads=[(kernel - 2) // 2] * 4))
    net.conv(x, channels, 3, 3)
    net.nodes[-1].output[0] = "y"
    net.write(path, [value("x", [3, SIDE, SIDE])], value("y", [3, 8 * SIDE, 8 * SIDE]), 17)


def transposed_2x2(path):
    decoder(path, 2)


def transposed_4x4(path):
    decoder(path, 4)


def recurrent(path, kind, gates, width=128):
    net = Network(None)
    x = net.op("Transpose", "x", perm=[1, 0, 2])
    for layer in range(2):
        size = INPUTS if layer == 0 else width
        w, r = (net.weight(net.rng.standard_normal((1, gates * width, n)) / width**0.5) for n in (size, width))
        b = net.weight(net.rng.standard_normal((1, 2 * gates * width)) * 0.1)
        y = net.op(kind, x, w, r, b, hidden_size=width)
        x = net.op("Squeeze", y, net.whole(1))
    net.op("Transpose", x, perm=[1, 0, 2])
    net.nodes[-1].output[0] = "y"
    net.write(path, [value("x", [STEPS, INPUTS])], value("y", [STEPS, width]), 17)


def lstm(path):
    recurrent(path, "LSTM", 4)


def gru(path):
    recurrent(path, "GRU", 3)


def integers_of(given, path, x, folder):
    """Return the integer program of the network."""
    samples, prepared, model = folder / "samples.npz", folder / "prepared.safetensors", folder / f"{path.stem}.integer.safetensors"
    np.savez(samples, x=x)
    commands = [["quantize", str(path), "--platform", "generic_int8", "--calibrate", str(samples), "--overwrite", "--out", str(prepared)], ["convert", str(prepared), "--overwrite", "--out", str(model)]]
    for command in commands:
        subprocess.run([given.program, *command], check=True, capture_output=True, timeout=600)
    return model


def measure(given, make, batch, folder):
    path = folder / f"{make.__name__}.onnx"
    make(path)
    dims = (batch, STEPS, INPUTS) if make in (lstm, gru) else (batch, 3, SIDE, SIDE)
    x = np.random.default_rng(1).standard_normal(dims).astype(np.float32)
    engines = [engine(given, path, {"x": x}, folder) for engine in (Halfstep, *PEERS)]
    integers = Halfstep(given, integers_of(given, path, x, folder), {"x": x}, folder)
    own, *others, codes = medians(given, [*engines, integers], batch)
    row(make.__name__, batch, own, *others, codes)
    if not PEERS:
        print(flush=True)
        return True
    engines[0].times(1)
    found, expected = engines[0].output(), engines[1].output()
    gap = float(np.abs(found - expected).max() / np.abs(expected).max())
    print(f"{gap:12.1e}", flush=True)
    return gap < 1e-4


CASES = [(transposed_2x2, 1), (transposed_4x4, 1), (transposed_4x4, 8), (lstm, 1), (lstm, 16), (gru, 1), (gru, 16)]

if __name__ == "__main__":
    sys.exit(compare(__doc__, f"{'integers':>12}{'':7}{'difference':>12}", measure, CASES))
