#!/usr/bin/env python3
"""Compare a batch of calibration with the same batch in the float network, to measure the cost of observers.

usage: PYTHONPATH=build/release/gen/python bench/calibration_speed.py [NETWORK.onnx ...] [--platform generic_int8]
       [--batch 8] [--batches 6] [--rounds 5]

Without networks it uses those of bench/networks.py. The time of a calibration batch is the difference between quantize
with all batches and with one. Calibration and the float network run in turns. Prints medians.
"""
import argparse
import pathlib
import statistics
import tempfile
import time

import numpy as np
from networks import mobilenet_v2, resnet18, resnet20

import halfstep as hs


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(path, given):
    network = hs.load(path)
    (name, (_, dims)), *_ = network.inputs.items()
    extents = [given.batch * given.batches, *(int(extent) for extent in dims[1:])]
    x = np.random.default_rng(0).standard_normal(extents, dtype=np.float32)
    first = {name: x[: given.batch]}
    network.run(**first)

    def quantize(batches):
        hs.quantize(network, given.platform, data=x, calibration_batch=given.batch, calibration_batches=batches, keep_samples=0)

    plain, observed = [], []
    for _ in range(given.rounds):
        plain.append(seconds(lambda: network.run(**first)))
        one = seconds(lambda: quantize(1))
        observed.append((seconds(lambda: quantize(given.batches)) - one) / (given.batches - 1))
    plain, observed = statistics.median(plain), statistics.median(observed)
    print(f"{pathlib.Path(path).stem:<16} {1e3 * plain:8.2f} ms float {1e3 * observed:8.2f} ms observed {observed / plain:6.2f}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--platform", default="generic_int8")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--batches", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for make in () if given.networks else (resnet20, resnet18, mobilenet_v2):
            make(pathlib.Path(folder) / f"{make.__name__}.onnx")
        for path in given.networks or sorted(pathlib.Path(folder).glob("*.onnx")):
            measure(path, given)


if __name__ == "__main__":
    main()
