#!/usr/bin/env python3
"""Open ONNX files of 100 MB as fast as onnxruntime does without graph optimizations, and hostile ones within memory
limits.

usage: bench/onnx_open.py [--program build/release/halfstep] [--rounds 7] [--folder DIR]

Makes the files in DIR or in a temporary folder: one tensor of 100 MB, 301 convolutions, 100 matrix products. Then it
makes files of 50 MB of empty messages, nested graphs, extents of 2^40, and zeros. The times are those of `inspect
--json` (opening and importing) and of an InferenceSession of the same file, in turns. The kernel limits the memory of
hostile files (RLIMIT_DATA: heap, stacks, anonymous memory, the mapped file) to 256 MiB plus the file.
tests/formats/limits_test.cpp checks the memory of valid files. Exits with 1 if the limit is exceeded, a hostile file is
accepted, or onnxruntime opens a file faster. Needs numpy, onnx, onnxruntime.
"""
import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

MIB = 1 << 20


def weights(name, *dims):
    generator = np.random.default_rng(0)
    return numpy_helper.from_array(generator.standard_normal(dims, dtype=np.float32) * 0.02, name)


def save(path, nodes, tensors, dims):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)
    y = helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [x], [y], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


def one_tensor(path):
    save(path, [helper.make_node("MatMul", ["x", "w"], ["y"])], [weights("w", 5000, 5000)], ["n", 5000])


def convolutions(path):
    nodes, tensors, at = [], [], "x"
    for k in range(301):
        tensors += [weights(f"w{k}", 96, 96, 3, 3), weights(f"b{k}", 96)]
        nodes.append(helper.make_node("Conv", [at, f"w{k}", f"b{k}"], [f"c{k}"], name=f"conv{k}", pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [f"c{k}"], [f"r{k}"], name=f"relu{k}"))
        at = f"r{k}"
    save(path, nodes, tensors, ["n", 96, 8, 8])


def products(path):
    nodes = [helper.make_node("MatMul", [f"m{k}" if k else "x", f"w{k}"], [f"m{k + 1}"]) for k in range(100)]
    save(path, nodes, [weights(f"w{k}", 512, 512) for k in range(100)], ["n", 512])


def field(number, body):
    """Return a field of a protobuf message that holds bytes."""
    size, length = len(body), b""
    while size >= 128:
        length += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + body


def model(graph):
    return b"\x08\x09" + field(8, b"\x10\x12") + field(7, graph)


def nested():
    graph = b""
    for _ in range(10_000):
        graph = field(1, field(5, field(6, graph)))
    return model(graph)


def huge_extents():
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1 << 40])
    nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1]) for n in "xy"]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:])
    graph.initializer.append(tensor)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9).SerializeToString()


GOOD = {"one_tensor": one_tensor, "convolutions": convolutions, "products": products}
HOSTILE = {
    "empty_nodes": lambda: model(b"\x0a\x00" * 25_000_000),
    "empty_inputs": lambda: model(b"\x5a\x00" * 25_000_000),
    "empty_names": lambda: model(field(1, b"\x0a\x00" * 25_000_000)),
    "empty_functions": lambda: model(b"") + b"\xca\x01\x00" * 17_000_000,
    "nested_graphs": nested,
    "huge_extents": huge_extents,
    "zeros": lambda: bytes(50_000_000),
}


def inspect(program, path, limit):
    def bound():
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    return subprocess.run([program, "inspect", "--json", str(path)], capture_output=True, text=True, errors="replace", preexec_fn=bound, timeout=3000)


def session_seconds(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    start = time.perf_counter()
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return time.perf_counter() - start


def check_good(program, name, path, rounds):
    mine, theirs = [], []
    for _ in range(rounds):
        seconds = json.loads(inspect(program, path, resource.RLIM_INFINITY).stdout)["seconds"]
        mine.append(seconds["open"] + seconds["import"])
        theirs.append(session_seconds(path))
    good = min(mine) < min(theirs)
    print(f"{'ok  ' if good else 'FAIL'} {name:14} {path.stat().st_size / MIB:6.1f} MiB  opened and imported in {min(mine):.4f} s (median {np.median(mine):.4f}), "
          f"onnxruntime {min(theirs):.4f} s (median {np.median(theirs):.4f})")
    return good


def check_hostile(program, name, path):
    limit = 256 * MIB + path.stat().st_size
    start = time.perf_counter()
    done = inspect(program, path, limit)
    good = done.returncode in (2, 3) and "bad_alloc" not in done.stderr
    message = done.stderr.strip().replace(str(path.parent) + "/", "")
    print(f"{'ok  ' if good else 'FAIL'} {name:14} {path.stat().st_size / MIB:6.1f} MiB  exit code {done.returncode} after {time.perf_counter() - start:.2f} s, "
          f"within {limit / MIB:.0f} MiB: {message[:160]}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/halfstep")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", type=pathlib.Path)
    arguments = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or pathlib.Path(temporary)
        for name, make in GOOD.items():
            path = folder / f"{name}.onnx"
            if not path.exists():
                make(path)
            good &= check_good(arguments.program, name, path, arguments.rounds)
        for name, make in HOSTILE.items():
            path = folder / f"{name}.onnx"
            path.write_bytes(make())
            good &= check_hostile(arguments.program, name, path)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
