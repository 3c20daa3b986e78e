"""Counts instructions of verbs with valgrind, for networks of 1x, 2x and 4x as many layers. An exponent of 1 is linear.

Bytes that verbs allocate (growth_test) show the values that they create. This script shows the work of reading them.

usage: work.py PROGRAM FOLDER [--layers 200]
Writes its networks into FOLDER. Exit code 1 where an exponent is larger than 1.15.
"""

import argparse
import math
import pathlib
import re
import subprocess

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MOST = 1.15


def network(kind, layers, path):
    """A chain of convolutions with a clip behind each, or a sum of as many."""
    random = np.random.default_rng(0)
    tensors = [numpy_helper.from_array((random.normal(size=(3, 3, 1, 1)) / 2).astype(np.float32), f"w{i}") for i in range(layers)]
    nodes = []
    for i in range(layers):
        source = f"r{i - 1}" if kind == "chain" and i else "x"
        nodes.append(helper.make_node("Conv", [source, f"w{i}"], [f"c{i}"], name=f"c{i}"))
        if kind == "chain":
            nodes.append(helper.make_node("Relu", [f"c{i}"], [f"r{i}"], name=f"r{i}"))
    if kind == "sum":
        nodes.append(helper.make_node("Sum", [f"c{i}" for i in range(layers)], ["y"], name="y"))
    last = nodes[-1].output[0]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 4, 4])]
    graph = helper.make_graph(nodes, kind, inputs, [helper.make_tensor_value_info(last, TensorProto.FLOAT, None)], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def instructions(words, folder):
    counted = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *map(str, words)]
    ended = subprocess.run(counted, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return int(re.search(r"Collected : (\d+)", ended.stderr)[1])


def verbs_on(program, kind, layers, folder):
    """Instructions of each verb. Each verb reads the files that the one before it has written."""
    network(kind, layers, folder / "net.onnx")
    samples = folder / "net.npz"
    np.savez(samples, x=np.random.default_rng(1).normal(size=(8, 3, 4, 4)).astype(np.float32))
    prepared, integer = folder / "prepared", folder / "integer"
    ends = ["--overwrite", "--threads", 1]
    verbs = {
        "inspect": [program, "inspect", "net.onnx", "--platform", "generic_int8"],
        "quantize": [program, "quantize", "net.onnx", "--data", samples, "--out", prepared, *ends],
        "convert": [program, "convert", prepared, "--out", integer, "--overwrite"],
        "verify": [program, "verify", prepared, integer, "--data", samples, "--threads", 1],
        "train": [program, "train", prepared, "--data", samples, "--distill", "--epochs", 1, "--batch", 4, "--out", folder / "run", *ends],
    }
    return {verb: instructions(words, folder) for verb, words in verbs.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--layers", type=int, default=200)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    worst = 0
    for kind in ("chain", "sum"):
        counts = [verbs_on(given.program.resolve(), kind, factor * given.layers, given.folder) for factor in (1, 2, 4)]
        for verb in counts[0]:
            row = [count[verb] for count in counts]
            exponents = [math.log2(after / before) for before, after in zip(row, row[1:])]
            worst = max(worst, *exponents)
            print(f"{kind:6} {verb:9} {' '.join(f'{n / 1e6:9.0f}M' for n in row)}  exponents {' '.join(f'{e:.2f}' for e in exponents)}", flush=True)
    print(f"largest exponent {worst:.2f}, at most {MOST} is right")
    return int(worst > MOST)


if __name__ == "__main__":
    raise SystemExit(main())
