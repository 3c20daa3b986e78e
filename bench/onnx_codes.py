#!/usr/bin/env python3
"""Compare the codes inside quantized ONNX files with onnxruntime's, without its graph optimizations.

usage: bench/onnx_codes.py FOLDER [--program build/release/halfstep] [--only TEXT] [--layers]

FOLDER is the model collection of models.py. Every node that returns codes (QuantizeLinear, QLinearConv, ...) is
compared twice:

  layers   Each layer reads onnxruntime's codes, so a difference does not cause others. Codes may differ by one if a
  float sum in another order is on the other side of a tie. `tie` is the largest distance from a tie, in steps, at which
  that happened. It is recomputed in float64 for convolutions and matrix products before a QuantizeLinear.
  whole    The file as it is. Differences propagate.
  swapped  onnxruntime itself with the differing codes of the first such layer. It shows how far a tie propagates.

Exits with 1 if a code of a layer differs by more than one, or by one without a tie. Needs numpy, safetensors, onnx,
onnxruntime.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from safetensors.numpy import load_file, save_file

from models import split

CODES = (np.uint8, np.int8, np.uint16, np.int16)
# Distances from a tie, in steps, that float32 sums in another order explain: 2^-24 of the largest code, times a margin.
TIE = {1: 1e-4, 2: 1e-2}


def values_of_codes(model):
    """Return the results of nodes whose element type is a code type, in order. onnxruntime determines the types."""
    names = [name for node in model.graph.node for name in node.output if name]
    inferred = {v.name: v.type.tensor_type.elem_type for v in onnx.shape_inference.infer_shapes(model).graph.value_info}
    kinds = {helper.np_dtype_to_tensor_dtype(np.dtype(t)) for t in CODES}
    constant = {i.name for i in model.graph.initializer}
    result = []
    for node in model.graph.node:
        known = all(name in constant for name in node.input if name)
        constant.update(node.output if known else [])
        result += [n for n in node.output if n in names and not known and is_code(node, n, inferred, kinds)]
    return result


def is_code(node, name, inferred, kinds):
    if name in inferred:
        return inferred[name] in kinds
    return node.op_type in ("QuantizeLinear", "QLinearConv", "QLinearAdd", "QGemm", "QLinearMatMul", "QLinearGlobalAveragePool", "QLinearConcat")


def with_outputs(model, names):
    """Return the model with these values as additional outputs."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    present = {o.name for o in made.graph.output}
    made.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names if n not in present)
    return made


def cut(model, codes):
    """Return the model in which every reader of one of `codes` ({name: array}) reads an input NAME.given instead."""
    made = with_outputs(model, codes)
    given = {}
    for node in made.graph.node:
        for i, name in enumerate(node.input):
            if name in codes:
                node.input[i] = given[name] = name + ".given"
    for name, new in given.items():
        array = codes[name]
        made.graph.input.append(helper.make_tensor_value_info(new, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
    return made, {new: codes[name] for name, new in given.items()}


def peer(model, inputs, names):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip(names, session.run(names, inputs)))


def ours(program, model, inputs, folder):
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    save_file({name: np.array(value, order="C") for name, value in inputs.items()}, folder / "in.safetensors")
    subprocess.run([program, "run", str(path), "--inputs", str(folder / "in.safetensors"), "--overwrite", "--outputs", str(folder / "out.safetensors")],
                   check=True, capture_output=True, timeout=6000)
    return load_file(folder / "out.safetensors")


def distance_from_tie(model, name, values, differs):
    """Return the largest distance of the elements of `differs` from a tie of QuantizeLinear, in steps. Infinite if
    unknown.
    """
    node = next(n for n in model.graph.node if name in n.output)
    constants = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
    if node.op_type != "QuantizeLinear" or node.input[0] not in values:
        return float("inf")
    scale = constants[node.input[1]].astype(np.float64)
    steps = values[node.input[0]].astype(np.float64) / scale
    return float(np.abs(np.abs(steps - np.floor(steps)) - 0.5)[differs].max())


def compare(model, found, expected, floats):
    """Return (codes, differing, largest difference, largest distance from a tie, first layer that differs)."""
    total = differing = largest = 0
    tie, first = 0.0, ""
    for name, codes in expected.items():
        a, b = found[name].astype(np.int64), codes.astype(np.int64)
        differs = a != b
        total += a.size
        if not differs.any():
            continue
        first = first or f"{name} ({int(differs.sum())} of {a.size})"
        differing += int(differs.sum())
        largest = max(largest, int(np.abs(a - b).max()))
        tie = max(tie, distance_from_tie(model, name, floats, differs))
    return total, differing, largest, tie, first


def swapped(model, inputs, codes, layered):
    """Return the differences in onnxruntime's own run if the first differing layer returns our codes. 0 without such a
    layer.
    """
    first = next((n for n in codes if (layered[n] != codes[n]).any()), None)
    if first is None:
        return 0, 0
    changed, given = cut(model, {first: layered[first]})
    found = peer(with_outputs(changed, codes), {**inputs, **given}, list(codes))
    return compare(model, found, codes, {})[1:3]


def check(program, name, model, inputs, folder, show):
    names = values_of_codes(model)
    producers = {o: n for n in model.graph.node for o in n.output}
    floats = [producers[n].input[0] for n in names if producers[n].op_type == "QuantizeLinear" and producers[n].input[0] in producers]
    outputs = [o.name for o in model.graph.output]
    known = peer(with_outputs(model, names + floats), inputs, list(dict.fromkeys(names + floats + outputs)))
    codes = {n: known[n] for n in names if known[n].dtype in CODES}
    pieces, given = cut(model, codes)
    live = {i.name for i in pieces.graph.input if any(i.name in n.input for n in pieces.graph.node)}
    layered = ours(program, pieces, {n: v for n, v in {**inputs, **given}.items() if n in live}, folder)
    total, differing, largest, tie, first = compare(model, layered, codes, known)
    whole = compare(model, ours(program, with_outputs(model, codes), inputs, folder), codes, known)
    own = swapped(model, inputs, codes, layered)
    limit = TIE[max(c.dtype.itemsize for c in codes.values())] if codes else 0
    good = largest <= 1 and tie <= limit
    print(f"{'ok  ' if good else 'FAIL'} {name:32} {len(codes):4} layers {total:8} codes  layers: {differing:5} differ by {largest} (tie {tie:.1e})  "
          f"whole: {whole[1]:6} by {whole[2]:2}  swapped: {own[0]:6} by {own[1]:2}{'  first: ' + first if first and show else ''}", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--program", default="build/release/halfstep")
    parser.add_argument("--only", default="")
    parser.add_argument("--layers", action="store_true", help="also the first layer that differs")
    arguments = parser.parse_args()
    models = json.loads((arguments.folder / "index.json").read_text())["models"]
    bad = 0
    for entry in models:
        if entry["format"] != "onnx" or arguments.only not in entry["name"]:
            continue
        model = onnx.load(arguments.folder / entry["path"])
        if not values_of_codes(model):
            continue
        for case, kinds in split(load_file(arguments.folder / entry["io"])).items():
            with tempfile.TemporaryDirectory() as folder:
                bad += not check(arguments.program, f"{entry['name']} {case}", model, kinds["in"], pathlib.Path(folder), arguments.layers)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
