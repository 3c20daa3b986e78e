#!/usr/bin/env python3
"""Compare an LSTM as a scan with one copy of the cell for each step: a float run, a run of integers, and a training
step.

usage: PYTHONPATH=build/release/gen/python bench/flow_speed.py [--steps 32] [--width 64] [--batch 8] [--samples 512]
       [--rounds 15] [--threads 1]

Both have the same weights and run in turns. Prints medians. The training time is that of one more epoch, including its
evaluation.
"""
import argparse
import pathlib
import statistics
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import halfstep as hs

CLASSES = 4


def cell(name, row, h, c, end):
    """Return the nodes of a step. Names of their values end with `end`. The next h is nh, the next c is nc."""
    gates = [f"{gate}{end}" for gate in "ifok"]
    made = [
        ("Concat", [row, h], "xh", {"axis": 1}), ("Gemm", [f"xh{end}", "w", "b"], "g", {"transB": 1}), ("Split", [f"g{end}"], None, {"axis": 1}),
        ("Sigmoid", [gates[0]], "si", {}), ("Sigmoid", [gates[1]], "sf", {}), ("Sigmoid", [gates[2]], "so", {}), ("Tanh", [gates[3]], "tk", {}),
        ("Mul", [f"sf{end}", c], "kept", {}), ("Mul", [f"si{end}", f"tk{end}"], "new", {}), ("Add", [f"kept{end}", f"new{end}"], "nc", {}),
        ("Tanh", [f"nc{end}"], "tc", {}), ("Mul", [f"so{end}", f"tc{end}"], "nh", {}),
    ]  # fmt: skip
    return [helper.make_node(op, ins, [f"{out}{end}"] if out else gates, f"{name}{op}{out}{end}", **more) for op, ins, out, more in made]


def network(given, unrolled):
    """Return a network. Its input is one tensor [batch, steps, width]. Its output is the logits of the last step."""
    rng, width = np.random.default_rng(0), given.width
    tensors = {
        "w": rng.standard_normal((4 * width, 2 * width)) / np.sqrt(2 * width), "b": np.zeros(4 * width),
        "head": rng.standard_normal((CLASSES, width)) / np.sqrt(width), "zeros": np.zeros((given.batch, width)), "bias": np.zeros(CLASSES),
    }  # fmt: skip
    nodes = [helper.make_node("Transpose", ["x"], ["rows"], perm=[1, 0, 2])]
    if unrolled:
        parts = [f"row{t}" for t in range(given.steps)]
        nodes += [helper.make_node("Split", ["rows"], [f"{part}_" for part in parts], axis=0)]
        nodes += [helper.make_node("Squeeze", [f"{part}_", "first"], [part]) for part in parts]
        for t, part in enumerate(parts):
            nodes += cell("", part, f"nh{t - 1}" if t else "zeros", f"nc{t - 1}" if t else "zeros", str(t))
        last = f"nh{given.steps - 1}"
    else:
        port = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [given.batch, width]) for name in ("h", "c", "row", "nh", "nc")]
        body = helper.make_graph(cell("", "row", "h", "c", ""), "body", port[:3], port[3:])
        nodes += [helper.make_node("Scan", ["zeros", "zeros", "rows"], ["last", "memory"], "lstm", body=body, num_scan_inputs=1)]
        last = "last"
    nodes += [helper.make_node("Gemm", [last, "head", "bias"], ["logits"], transB=1)]
    stored = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in tensors.items()]
    stored.append(numpy_helper.from_array(np.array([0]), "first"))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [given.batch, given.steps, width])
    y = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [given.batch, CLASSES])
    graph = helper.make_graph(nodes, "unrolled" if unrolled else "scan", [x], [y], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def in_turns(rounds, works):
    """Return median milliseconds of each."""
    times = {name: [] for name in works}
    for turn in range(rounds + 1):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            if turn:  # the first run compiles
                times[name].append(1e3 * (time.perf_counter() - start))
    return {name: statistics.median(each) for name, each in times.items()}


def show(what, times):
    scan, unrolled = times["scan"], times["unrolled"]
    print(f"{what:<16} scan {scan:9.3f} ms  unrolled {unrolled:9.3f} ms  {scan / unrolled:5.2f}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    for name, value in {"steps": 32, "width": 64, "batch": 8, "samples": 512, "rounds": 15, "threads": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--platform", default="generic_int8")
    given = parser.parse_args()
    hs.set_threads(given.threads)
    rng = np.random.default_rng(1)
    x = rng.standard_normal((given.samples, given.steps, given.width), dtype=np.float32)
    labels = rng.integers(0, CLASSES, len(x))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        networks = {}
        for name in ("scan", "unrolled"):
            onnx.save(network(given, name == "unrolled"), folder / f"{name}.onnx")
            networks[name] = hs.load(folder / f"{name}.onnx")
    prepared = {name: hs.quantize(each, given.platform, data=x, keep_samples=0) for name, each in networks.items()}
    first = x[: given.batch]
    show("float run", in_turns(given.rounds, {name: lambda n=n: n.run(x=first) for name, n in networks.items()}))
    integers = {name: hs.convert(each, float_fallback=True) for name, each in prepared.items()}
    show("integers", in_turns(given.rounds, {name: lambda n=n: n.run(x=first) for name, n in integers.items()}))

    def step(each, epochs):
        hs.train(each, (x, labels), epochs=epochs, batch=given.batch, learning_rate=1e-6)

    for what, models in {"float training": networks, "W8A8 training": prepared}.items():
        works = {(name, epochs): lambda n=n, e=epochs: step(n, e) for name, n in models.items() for epochs in (1, 3)}
        times = in_turns(max(1, given.rounds // 5), works)
        show(what, {name: (times[name, 3] - times[name, 1]) / 2 for name in models})


if __name__ == "__main__":
    main()
