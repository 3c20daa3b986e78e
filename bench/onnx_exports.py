#!/usr/bin/env python3
"""Export a network in every form and opset, and check the files with onnx.checker and onnxruntime.

usage: bench/onnx_exports.py [--program build/release/halfstep] [--float FILE --integer FILE] [--samples 300]

FILEs are a float network, as a Model or an ONNX file, and an integer Model for onnxruntime_int8. Either is optional.
Without them, quickstarts on the embedded digits make them, with weights of 8, 4 and 2 bits. For each file it prints the
checker's verdict, the narrowest type of its weights, and the number of onnxruntime's outputs that differ from ours.
Floats differ if they are more than 1e-4 of the largest apart. Outputs of an integer program must be equal. Files of
operators on codes must not differ without graph optimizations on processors with VNNI. On other processors
onnxruntime's sums saturate, and differences are only reported. Needs numpy, onnx, onnxruntime and safetensors. Without
them it prints that and exits with 0. Exits with 1 if a file is refused, or differs and must not.
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

    from engines import ONNXRUNTIME_SATURATES
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(0)

FLOAT_FORMS = {"float": (13, 19, 21, 25)}
INTEGER_FORMS = {"qdq": (13, 19, 21, 25), "qoperator": (13, 17, 21, 25)}


def call(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=9000)
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


def narrowest(path):
    types = {tensor.data_type for tensor in onnx.load(path).graph.initializer if len(tensor.dims) > 1}
    names = [onnx.TensorProto.DataType.Name(t) for t in types]
    return min(names, key=lambda name: int("".join(filter(str.isdigit, name)) or 32))


def check(program, folder, form, model, opset, samples):
    path = folder / f"{form}{opset}.onnx"
    call(program, "export", model, "--format", form, "--opset", opset, "--overwrite", "--out", path)
    onnx.checker.check_model(str(path), full_check=True)
    given = session(path, False).get_inputs()[0]
    x = np.random.default_rng(0).uniform(0, 1, [samples, *given.shape[1:]]).astype(np.float32)
    np.savez(folder / "x.npz", **{given.name: x})
    call(program, "run", model, "--inputs", folder / "x.npz", "--overwrite", "--outputs", folder / "y.npz")
    expected = np.load(folder / "y.npz")
    good = True
    for optimized in (False, True):
        engine = session(path, optimized)
        results = engine.run(None, {given.name: x})
        names = [output.name for output in engine.get_outputs()]
        count = sum(differing(result, expected[name], form != "float") for name, result in zip(names, results))
        must = form == "float" or form == "qoperator" and not optimized and not ONNXRUNTIME_SATURATES
        good &= count == 0 or not must
        print(f"{form:10} opset {opset:2} {narrowest(path):6} optimized {optimized!s:5} checker ok, {count} of {sum(r.size for r in results)} differ", flush=True)
    return good


def check_network(program, folder, floats, integer, samples):
    forms = [(form, floats, opset) for form, opsets in FLOAT_FORMS.items() for opset in opsets if floats]
    forms += [(form, integer, opset) for form, opsets in INTEGER_FORMS.items() for opset in opsets if integer]
    return all([check(program, folder, form, model, opset, samples) for form, model, opset in forms])


def digits(program, folder, bits):
    call(program, "quickstart", "--platform", "onnxruntime_int8", "--weight-bits", bits, "--out", folder / bits)
    return folder / bits / "float.safetensors", folder / bits / "integer.safetensors"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/halfstep")
    parser.add_argument("--float", type=pathlib.Path)
    parser.add_argument("--integer", type=pathlib.Path)
    parser.add_argument("--samples", type=int, default=300)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        networks = {"": (arguments.float, arguments.integer)}
        if not arguments.float and not arguments.integer:
            networks = {f"digits, weights of {bits} bits": digits(arguments.program, folder, bits) for bits in "842"}
        good = True
        for title, (floats, integer) in networks.items():
            print(title)
            good &= check_network(arguments.program, folder, floats, integer, arguments.samples)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
