#!/usr/bin/env python3
"""Report which operators of float networks become integers, and verify the integers: a table of networks.

usage: bench/on_codes.py FILE[=SAMPLES.npz]... [--program build/release/halfstep] [--platform generic_int8] [--samples
       16] [--weights 8] [--activations 8]

FILEs are float networks, and must be ONNX if they have no SAMPLES. Their inputs are then random: standard normal
numbers, ids below the rows of the smallest table that the input indexes, and 1 for other integers, such as masks. Each
network is quantized, converted with --float-fallback, and verified on all samples. Prints operators of the integer
program on codes and in float, compared and differing codes, codes that fail the semantic check, and seconds. Below are
the reasons for float fallbacks. Needs numpy and onnx. Exits with 1 if anything differs.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
from collections import Counter

import numpy as np
import onnx


def rows_of_tables(graph):
    """Return, by input, the rows of the smallest table that it indexes."""
    extents = {tensor.name: tensor.dims for tensor in graph.initializer}
    rows = {}
    for node in graph.node:
        if node.op_type == "Gather" and node.input[0] in extents:
            rows[node.input[1]] = min(extents[node.input[0]][0], rows.get(node.input[1], 1 << 31))
    return rows


def random_samples(path, count):
    graph, generator = onnx.load(path).graph, np.random.default_rng(0)
    rows, samples = rows_of_tables(graph), {}
    for value in graph.input:
        tensor = value.type.tensor_type
        dims = [count, *(dim.dim_value or 16 for dim in tensor.shape.dim[1:])]
        if tensor.elem_type == onnx.TensorProto.FLOAT:
            samples[value.name] = generator.standard_normal(dims, np.float32)
        else:
            samples[value.name] = generator.integers(0, rows[value.name], dims) if value.name in rows else np.ones(dims, np.int64)
    return samples


def call(given, *words):
    done = subprocess.run([given.program, *map(str, words), "--json"], capture_output=True, text=True, timeout=3000)
    if done.returncode not in (0, 1) or not done.stdout:
        sys.exit(f"halfstep {' '.join(map(str, words))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def title(path):
    """Return folder and file."""
    return "/".join(pathlib.Path(path).with_suffix("").parts[-2:])


def row(given, path, samples, folder):
    """Print the row of a network. Return the reasons for float fallbacks, and whether all checks passed."""
    if not samples:
        samples = folder / "samples.npz"
        np.savez(samples, **random_samples(path, given.samples))
    prepared, integer = folder / "prepared.safetensors", folder / "integer.safetensors"
    start = time.perf_counter()
    bit_widths = ("--weight-bits", given.weights, "--activation-bits", given.activations)
    call(given, "quantize", path, "--platform", given.platform, "--data", samples, "--all", *bit_widths, "--overwrite", "--out", prepared)
    floats = call(given, "convert", prepared, "--float-fallback", "--overwrite", "--out", integer)["float"]
    proof = call(given, "verify", prepared, integer, "--data", samples, "--all", "--semantics", "all")
    compared, differing = (sum(layer[key] for layer in proof["layers"]) for key in ("compared", "differing"))
    beyond = sum(layer.get("semantics", {}).get("beyond", 0) for layer in proof["layers"])
    operators = sum(layer["op"] != "fake_quantize" for layer in proof["layers"])
    print(f"| {title(path)} | {operators} | {len(floats)} | {compared:,} | {differing} | {beyond} | {time.perf_counter() - start:.1f} |", flush=True)
    return Counter(f"{one['operator']}: {one['reason']}" for one in floats), differing == 0 and beyond == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--program", default="build/release/halfstep")
    parser.add_argument("--platform", default="generic_int8")
    parser.add_argument("--samples", type=int, default=16)
    parser.add_argument("--weights", type=int, default=8)
    parser.add_argument("--activations", type=int, default=8)
    given = parser.parse_args()
    print("| network | on codes | in float | codes | differ | beyond | seconds |\n| --- | --- | --- | --- | --- | --- | --- |")
    good, why = True, {}
    with tempfile.TemporaryDirectory() as temporary:
        for word in given.files:
            path, _, samples = word.partition("=")
            why[path], equal = row(given, path, samples, pathlib.Path(temporary))
            good &= equal
    for path, reasons in why.items():
        for reason, count in reasons.items():
            print(f"{title(path)}: {count} x {reason}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
