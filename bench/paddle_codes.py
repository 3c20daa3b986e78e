#!/usr/bin/env python3
"""Count the quantizer codes that differ between Halfstep and Paddle in the ProgramDesc files of the model collection.

usage: bench/paddle_codes.py FOLDER [--program build/release/halfstep] [--only TEXT]

FOLDER is as for bench/models.py. Input, output and scale of every quantizer that depends on the input become outputs of
the file. Both programs run it on the stored inputs. Prints for each file: quantizers, their codes, inputs that differ
in any bit, codes that differ, and codes that differ although input and scale are equal to the bit. The last number must
be 0. Needs paddle 3, numpy and safetensors. Exits with 1 if it is not.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["FLAGS_enable_pir_api"] = "0"

import numpy as np
from safetensors.numpy import load_file, save_file

from models import split

QUANTIZERS = ("fake_quantize", "fake_channel_wise_quantize", "quantize_linear")


def slot(variables, *names):
    for variable in variables:
        if variable.parameter in names and variable.arguments:
            return variable.arguments[0]
    return None


def attribute(op, name, otherwise):
    for a in op.attrs:
        if a.name == name:
            return a.i
    return otherwise


def with_fetches(program, folder):
    """Return [(bits, whether it dequantizes, outputs of input, output and scale)] of the program written to `folder`.
    """
    block = program.blocks[0]
    persistable = {var.name for var in block.vars if var.persistable}
    columns = {}
    quantizers = []

    def fetch(name):
        if name not in columns:
            columns[name] = len(columns) + fetched
            op = block.ops.add(type="fetch")
            op.inputs.add(parameter="X").arguments.append(name)
            op.outputs.add(parameter="Out").arguments.append("fetch")
            op.attrs.add(name="col", type=0, i=columns[name])
        return f"out{columns[name]}"

    fetched = sum(op.type == "fetch" for op in block.ops)
    for op in list(block.ops):
        if not op.type.startswith(QUANTIZERS):
            continue
        x, y = slot(op.inputs, "X"), slot(op.outputs, "Out", "Y")
        scale = slot(op.outputs, "OutScale") if attribute(op, "is_test", 0) == 0 else None
        scale = scale or slot(op.inputs, "InScale", "Scale")
        if x not in persistable:
            quantizers.append((attribute(op, "bit_length", 8), "dequantize" in op.type, fetch(x), fetch(y), fetch(scale)))
    (folder / "model.pdmodel").write_bytes(program.SerializeToString())
    return quantizers


def run_paddle(paddle, folder, inputs):
    exe = paddle.static.Executor(paddle.CPUPlace())
    with paddle.static.scope_guard(paddle.static.Scope()):
        program, feeds, fetches = paddle.static.load_inference_model(str(folder / "model"), exe)
        values = exe.run(program, feed={name: inputs[name] for name in feeds}, fetch_list=fetches)
    return {f"out{i}": np.asarray(value) for i, value in enumerate(values)}


def run_halfstep(program, folder, inputs):
    save_file({name: np.array(value, order="C") for name, value in inputs.items()}, folder / "in.safetensors")
    subprocess.run([program, "run", str(folder / "model.pdmodel"), "--inputs", str(folder / "in.safetensors"), "--overwrite", "--outputs",
                    str(folder / "out.safetensors")], check=True, capture_output=True, timeout=6000)
    return load_file(folder / "out.safetensors")


def count(quantizers, ours, theirs):
    """Return the numbers of codes, differing inputs, differing codes, and differing codes that must not differ."""
    totals = np.zeros(4, np.int64)
    for bits, dequantized, x, y, scale in quantizers:
        step = theirs[scale].reshape(-1)[0] / (2 ** (bits - 1) - 1) if dequantized else 1
        inputs = ours[x] != theirs[x]
        codes = np.rint(ours[y] / step) != np.rint(theirs[y] / step)
        same = np.array_equal(ours[scale], theirs[scale])
        totals += [codes.size, inputs.sum(), codes.sum(), (codes & ~inputs).sum() if same else 0]
    return totals


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--program", default="build/release/halfstep")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    import paddle
    from paddle.base.proto import framework_pb2
    paddle.enable_static()
    bad = 0
    print(f"{'file':36} quantizers     codes  inputs differ  codes differ  though all else is equal")
    for model in json.loads((arguments.folder / "index.json").read_text())["models"]:
        path = arguments.folder / model["path"]
        if path.suffix != ".pdmodel" or arguments.only not in model["name"] or "int8" in model["name"]:
            continue  # Paddle cannot run weights stored as int8.
        program = framework_pb2.ProgramDesc.FromString(path.read_bytes())
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            quantizers = with_fetches(program, folder)
            if not quantizers:
                continue
            (folder / "model.pdiparams").write_bytes(path.with_suffix(".pdiparams").read_bytes())
            totals = np.zeros(4, np.int64)
            for kinds in split(load_file(arguments.folder / model["io"])).values():
                totals += count(quantizers, run_halfstep(arguments.program, folder, kinds["in"]), run_paddle(paddle, folder, kinds["in"]))
        bad += totals[3] > 0
        print(f"{model['name']:36} {len(quantizers):10} {totals[0]:9} {totals[1]:14} {totals[2]:13} {totals[3]:24}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
