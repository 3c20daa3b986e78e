#!/usr/bin/env python3
"""Fine-tune networks without labels and print their accuracy before and after. No network may become worse.

usage: bench/label_free.py FOLDER [--program build/release/halfstep] [--only NAME,...] [--bit-widths 8,4] [--settings
       1e-3:1,1e-3:10] [--epochs 2] [--threads 2]

FOLDER has NAME.onnx, each with one input x and logits as output, train.npz (x) and test.npz (x and labels), as
label_free_networks.py writes them. Each network is quantized for generic_int8 at each bit width (8/8 and 4/4 of weights
and activations) and distilled from its float form under every setting. A setting is RATE:FACTOR. FACTOR multiplies the
network's last layer with weights, which changes no decision. Columns: agreement with the float form on the held-out
samples, at the start and of the written state. Then accuracy on the test images: float, calibrated and written. The
last line counts networks that became worse: by more than 0.2 points below the start on the held-out samples, or 0.5 on
the test images. Needs numpy and onnx.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

VALIDATION_SPLIT, TEST = 0.2, 0.5  # percentage points


def run(given, *words):
    done = subprocess.run([str(word) for word in (given.program, *words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]}: exit {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout


def scaled(path, factor, to):
    """Write the network with the weights and bias of its last layer multiplied."""
    model = onnx.load(path)
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    last = [node for node in model.graph.node if node.op_type in ("Conv", "Gemm", "MatMul") and node.input[1] in weights][-1]
    for name in last.input[1:]:
        array = numpy_helper.to_array(weights[name]) * np.float32(factor)
        weights[name].CopyFrom(numpy_helper.from_array(array, name))
    onnx.save(model, to)


def accuracy(given, model, test, folder):
    """Return the accuracy in percent."""
    run(given, "run", model, "--inputs", folder / "x.npz", "--overwrite", "--outputs", folder / "y.npz", "--threads", given.threads)
    (logits,) = np.load(folder / "y.npz").values()
    return 100 * np.mean(logits.argmax(1) == test["labels"])


def measure(given, name, bits, rate, factor, folder):
    """Return one row of the table, and whether the network became worse or better."""
    data, network, test = given.folder / "train.npz", folder / "network.onnx", np.load(given.folder / "test.npz")
    np.savez(folder / "x.npz", x=test["x"])
    scaled(given.folder / f"{name}.onnx", factor, network)
    run(given, "quantize", network, "--calibrate", data, "--weight-bits", bits, "--activation-bits", bits, "--overwrite", "--out", folder / "prepared", "--threads", given.threads)
    report = json.loads(run(given, "train", "--model", folder / "prepared", "--data", data, "--epochs", given.epochs, "--learning-rate", rate, "--overwrite", "--out",
                            folder / "run", "--threads", given.threads, "--json"))
    history = report["validation"]
    start, written = (100 * history["results"][epoch]["agreement"] for epoch in (0, history["best_epoch"]))
    real, calibrated, tuned = (accuracy(given, model, test, folder) for model in (network, folder / "prepared", folder / "run/model.safetensors"))
    losses = " ".join(f"{validation_result['loss']:.4g}" for validation_result in history["results"])
    row = f"| {name} | {bits}/{bits} | {rate:g} | {factor:g} | {start:.2f} | {written:.2f} | {real:.2f} | {calibrated:.2f} | {tuned:.2f} | {losses} | {history['best_epoch']} |"
    return row, written < start - VALIDATION_SPLIT or tuned < calibrated - TEST, tuned > calibrated


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path, default=pathlib.Path("build/release/halfstep"))
    parser.add_argument("--only", default="")
    parser.add_argument("--bit-widths", default="8,4")
    parser.add_argument("--settings", default="1e-3:1,1e-3:10")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    names = given.only.split(",") if given.only else sorted(path.stem for path in given.folder.glob("*.onnx"))
    print("| network | bits | rate | factor | validation: start | written | test: float | calibrated | written | losses | epoch |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    rows = harmed = better = failed = 0
    for name in names:
        for bits in map(int, given.bit_widths.split(",")):
            for rate, factor in (map(float, setting.split(":")) for setting in given.settings.split(",")):
                with tempfile.TemporaryDirectory() as folder:
                    try:
                        row, is_harmed, is_better = measure(given, name, bits, rate, factor, pathlib.Path(folder))
                    except RuntimeError as error:
                        row, is_harmed, is_better = f"| {name} | {bits}/{bits} | {rate:g} | {factor:g} | {error} |", False, False
                        failed += 1
                print(row, flush=True)
                rows, harmed, better = rows + 1, harmed + is_harmed, better + is_better
    print(f"{rows} trainings: {better} better on the test images than calibrated, {harmed} worse, {failed} failed")
    return 1 if harmed or failed else 0


if __name__ == "__main__":
    sys.exit(main())
