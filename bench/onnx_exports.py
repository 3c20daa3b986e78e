#!/usr/bin/env python3
"""Exports a network in every form and opset, and holds the files against onnx.checker and onnxruntime.

usage: bench/onnx_exports.py [--program build/release/halfstep] [--folder FOLDER] [--samples 300]

FOLDER is that of a quickstart with --platform onnxruntime_int8; without it one is made on the embedded digits. For each file prints
whether the checker takes it and how many of onnxruntime's outputs differ from ours: floats by more than 1e-4 of the largest, an integer
program's by anything. Files of operators on codes must not differ without graph optimizations; the rest is reported. Needs numpy, onnx
and onnxruntime, and says so and ends with 0 without them. Exits with 1 when a file is refused or differs that must not.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(0)

FORMS = [("float", "float.safetensors", range(13, 22)),
         ("qdq", "integer.safetensors", (13, 19, 21, 25)),
         ("qoperator", "integer.safetensors", (13, 17, 21))]


def call(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=900)
    if done.returncode:
        sys.exit(f"halfstep {' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def session(path, optimized):
    options = onnxruntime.SessionOptions()
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def differing(found, expected, exact):
    if exact:
        return int((found != expected).sum())
    return int((np.abs(found - expected) > 1e-4 * np.abs(expected).max()).sum())


def check(program, folder, form, model, opset, x):
    path = folder / f"{form}{opset}.onnx"
    call(program, "export", folder / model, "--format", form, "--opset", opset, "--out", path)
    onnx.checker.check_model(str(path), full_check=True)
    np.savez(folder / "x.npz", x=x)
    call(program, "run", folder / model, "--inputs", folder / "x.npz", "--outputs", folder / "y.npz")
    expected = np.load(folder / "y.npz")
    good = True
    for optimized in (False, True):
        engine = session(path, optimized)
        results = engine.run(None, {engine.get_inputs()[0].name: x})
        names = [output.name for output in engine.get_outputs()]
        count = sum(differing(result, expected[name], form != "float") for name, result in zip(names, results))
        must = form == "float" or form == "qoperator" and not optimized
        good &= count == 0 or not must
        print(f"{form:10} opset {opset:2} optimized {optimized!s:5} checker ok, {count} of {sum(r.size for r in results)} differ", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/halfstep")
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--samples", type=int, default=300)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or pathlib.Path(temporary)
        if arguments.folder is None:
            call(arguments.program, "quickstart", "--platform", "onnxruntime_int8", "--out", folder)
        dims = [1 if type(d) is str else d for d in session_dims(arguments.program, folder)]
        x = np.random.default_rng(0).uniform(0, 1, [arguments.samples, *dims[1:]]).astype(np.float32)
        good = [check(arguments.program, folder, form, model, opset, x) for form, model, opsets in FORMS for opset in opsets]
    return 0 if all(good) else 1


def session_dims(program, folder):
    path = folder / "dims.onnx"
    call(program, "export", folder / "float.safetensors", "--out", path)
    return session(path, False).get_inputs()[0].shape


if __name__ == "__main__":
    sys.exit(main())
