#!/usr/bin/env python3
"""Compare float inference of image networks with onnxruntime and OpenVINO, in one run.

usage: bench/onnx_speed.py [--program build/release/halfstep] [--threads 2] [--rounds 5] [--only TEXT] [--models FOLDER]

Writes ResNet-20, ResNet-18 and MobileNetV2 with random weights as ONNX files, with folded BatchNorm as in exports. It
times runs of an opened network, and prints medians over rounds in which the engines take turns. A ratio above 1 is the
time of the engine relative to Halfstep's. Needs onnx, numpy and safetensors. Engines that are not installed have no
column. With --models the files are kept in FOLDER. Exits with 1 if outputs differ from those of the first peer.
"""
import sys

import numpy as np
from engines import PEERS, Halfstep, compare, medians, row
from networks import CASES


def measure(given, make, batch, side, folder):
    path = folder / f"{make.__name__}.onnx"
    if not path.exists():
        make(path)
    x = np.random.default_rng(1).standard_normal((batch, 3, side, side)).astype(np.float32)
    engines = [engine(given, path, {"x": x}, folder) for engine in (Halfstep, *PEERS)]
    row(make.__name__, batch, *medians(given, engines, batch))
    if not PEERS:
        print(flush=True)
        return True
    own, peer = engines[0].output(), engines[1].output()
    gap = float(np.abs(own - peer).max() / np.abs(peer).max())
    print(f"{gap:12.1e}", flush=True)
    return gap < 1e-4


if __name__ == "__main__":
    sys.exit(compare(__doc__, f"{'difference':>12}", measure, CASES))
