#!/usr/bin/env python3
"""Compare integer inference of image networks with int8 of onnxruntime and OpenVINO, in one run.

usage: bench/integer_speed.py [--program build/release/halfstep] [--threads 2] [--rounds 5] [--only TEXT] [--models
       FOLDER]

Writes the networks of onnx_speed.py with random weights. The program quantizes, converts and exports them for
onnxruntime's arithmetic. It times `halfstep run`, onnxruntime (the faster of QLinear operators and QDQ), and OpenVINO
on QDQ, and prints medians over rounds in which the engines take turns. A ratio above 1 is the time of the engine
relative to Halfstep's. `differ` counts outputs that differ from onnxruntime's on the QLinear operators in any bit.
Needs onnx, numpy and safetensors. Engines that are not installed have no column. Exits with 1 if outputs differ, unless
the processor has no VNNI, because onnxruntime's sums then saturate.
"""
import pathlib
import subprocess
import sys

import numpy as np
from engines import ONNXRUNTIME_SATURATES, Halfstep, OnnxRuntime, OpenVino, compare, medians, onnxruntime, openvino, row
from networks import CASES

PLATFORM = "onnxruntime_int8"
CALIBRATION = 8


def random_images(seed, batch, side):
    return np.random.default_rng(seed).standard_normal((batch, 3, side, side)).astype(np.float32)


def files_of(given, make, side, folder):
    """Return the integer program and its exports."""
    stem = folder / make.__name__
    model, exports = f"{stem}.integer.safetensors", {form: f"{stem}.{form}.onnx" for form in ("qoperator", "qdq")}
    if all(pathlib.Path(path).exists() for path in (model, *exports.values())):
        return model, exports
    make(pathlib.Path(f"{stem}.onnx"))
    np.savez(f"{stem}.npz", x=random_images(2, CALIBRATION, side))
    prepared = f"{stem}.prepared.safetensors"
    commands = [["quantize", f"{stem}.onnx", "--platform", PLATFORM, "--calibrate", f"{stem}.npz", "--overwrite", "--out", prepared], ["convert", prepared, "--overwrite", "--out", model]]
    commands += [["export", model, "--format", form, "--overwrite", "--out", path] for form, path in exports.items()]
    for command in commands:
        subprocess.run([given.program, *command], check=True, capture_output=True, timeout=6000)
    return model, exports


def measure(given, make, batch, side, folder):
    model, exports = files_of(given, make, side, folder)
    x = {"x": random_images(1, batch, side)}
    engines = [Halfstep(given, model, x, folder)]
    if onnxruntime:
        engines += [OnnxRuntime(given, exports[form], x, folder) for form in ("qoperator", "qdq")]
    if openvino:
        engines.append(OpenVino(given, exports["qdq"], x, folder))
    own, *others = medians(given, engines, batch)
    if not onnxruntime:
        row(make.__name__, batch, own, *others)
        print(flush=True)
        return True
    qoperator, qdq, *others = others
    row(make.__name__, batch, own, min(qoperator, qdq), *others)
    found, expected = engines[0].output(), engines[1].output()
    differ = int((found != expected).sum())
    print(f"{'qdq' if qdq < qoperator else 'qoperator':>11}{differ:8} of {expected.size}", flush=True)
    return differ == 0 or ONNXRUNTIME_SATURATES


if __name__ == "__main__":
    sys.exit(compare(__doc__, f"{'in form':>11}{'differ':>8}", measure, CASES))
