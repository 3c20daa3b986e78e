#!/usr/bin/env python3
"""Run every ONNX file of the model collection on its stored inputs and compare with its maker's outputs.

usage: bench/models.py FOLDER [--program build/release/halfstep] [--only TEXT] [--inspect]

FOLDER holds index.json, and for each model its file and io.safetensors with tensors CASE.KIND.NAME. Prints the largest
difference relative to the largest magnitude of each output, the number of differing elements for integers, and seconds
of the whole process. In a quantized file one code on the other side of a tie may propagate. Such a file is marked
`code`, and onnx_codes.py judges it layer by layer. Needs numpy and safetensors. Exits with 1 if a file fails or differs
by more than its tolerance.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
from safetensors.numpy import load_file, save_file


def split(tensors):
    """Return {case: {kind: {name: tensor}}}."""
    cases = {}
    for key, value in tensors.items():
        case, kind, name = key.split(".", 2)
        cases.setdefault(case, {}).setdefault(kind, {})[name] = value
    return cases


def tolerance(model):
    """Return the tolerance. It is None if the collection has none, because codes may differ by whole steps."""
    for word in model["tolerance"].replace(":", " ").split():
        try:
            return float(word)
        except ValueError:
            continue
    return None


def run(program, model, inputs, folder):
    save_file({name: np.array(value, order="C") for name, value in inputs.items()}, folder / "in.safetensors")
    outputs = folder / "out.safetensors"
    outputs.unlink(missing_ok=True)
    start = time.perf_counter()
    done = subprocess.run([program, "run", str(model), "--inputs", str(folder / "in.safetensors"), "--overwrite", "--outputs", str(outputs)],
                          capture_output=True, text=True, errors="replace", timeout=6000)
    seconds = time.perf_counter() - start
    if done.returncode:
        return None, f"exit code {done.returncode}: {(done.stderr or done.stdout).strip().splitlines()[-1][:300]}", seconds
    return load_file(outputs), "", seconds


def difference(found, expected):
    if found.shape != expected.shape:
        return float("inf"), f"{found.shape}, expected {expected.shape}"
    a, b = found.astype(np.float64), expected.astype(np.float64)
    if a.size == 0:
        return 0.0, ""
    scale = np.abs(b).max() or 1.0
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return float("inf"), "not finite where the other is"
    return float(np.nanmax(np.abs(a - b), initial=0) / scale), f"{int((a != b).sum())} of {a.size} differ" if expected.dtype.kind in "iu" else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--program", default="build/release/halfstep")
    parser.add_argument("--only", default="")
    parser.add_argument("--format", default="", help="of the index: onnx, paddle")
    parser.add_argument("--inspect", action="store_true", help="only what is not supported")
    arguments = parser.parse_args()
    models = json.loads((arguments.folder / "index.json").read_text())["models"]
    models = [m for m in models if arguments.only in m["name"] and m["format"].startswith(arguments.format)]
    bad = 0
    for model in models:
        path = arguments.folder / model["path"]
        if arguments.inspect:
            done = subprocess.run([arguments.program, "inspect", "--json", str(path)], capture_output=True, text=True, timeout=6000)
            issues = json.loads(done.stdout)["unsupported"] if done.returncode == 0 else [{"operator": "?", "reason": done.stderr, "count": 1}]
            print(f"{model['name']}: {'supported' if not issues else ''}")
            for issue in issues:
                print(f"    {issue['count']:4} {issue['operator']}: {issue['reason']}")
            bad += bool(issues)
            continue
        worst, notes, seconds = 0.0, [], 0.0
        with tempfile.TemporaryDirectory() as folder:
            for case, kinds in split(load_file(arguments.folder / model["io"])).items():
                outputs, error, seconds = run(arguments.program, path, kinds.get("in", {}), pathlib.Path(folder))
                if error:
                    worst, notes = float("inf"), [error]
                    break
                for name, expected in kinds["out"].items():
                    if name not in outputs:
                        worst, note = float("inf"), f"no output {name}"
                    else:
                        value, note = difference(outputs[name], expected)
                        worst = max(worst, value)
                    if note:
                        notes.append(f"{case} {name}: {note}")
        stated = tolerance(model)
        limit = 1e-4 if stated is None else stated
        mark = "ok  " if worst <= limit else "code" if stated is None and worst < float("inf") else "FAIL"
        bad += mark == "FAIL"
        print(f"{mark} {model['name']:36} {worst:9.2e} of {limit:g} {seconds:6.2f} s  {'; '.join(notes)}", flush=True)
    print(f"{len(models)} models, {bad} {'with something unsupported' if arguments.inspect else 'failed'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
