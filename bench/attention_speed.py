#!/usr/bin/env python3
"""Compare float and integer inference of transformers with onnxruntime and OpenVINO, in one run.

usage: bench/attention_speed.py [NETWORK.onnx]... [--batches 1 32] [--program build/release/halfstep] [--threads 2]
       [--rounds 5] [--runs 40]

Without NETWORKs it uses a BERT of two layers of 256 on 128 tokens with random weights. Every row is an engine:
- Halfstep's float and integer programs (generic_int8, calibrated on random inputs)
- float programs of onnxruntime and OpenVINO
- int8 in onnxruntime's dynamic form
- int8 as the QDQ file of onnxruntime's static quantizer, in both engines
- int8 for OpenVINO from NNCF
It prints medians of milliseconds over rounds in which the engines take turns, and ratios to Halfstep's program of the
same kind. Needs numpy, safetensors and onnx. Engines that are not installed have no row. Exits with 1 if float outputs
differ from those of the first peer.
"""
import argparse
import contextlib
import logging
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from engines import PEERS, Halfstep, OnnxRuntime, OpenVino, add_options, medians, onnxruntime, openvino
from networks import bert
from on_codes import random_samples

try:
    import nncf
except ImportError:
    nncf = None

SAMPLES = 16


def program(given, *words):
    subprocess.run([given.program, *map(str, words), "--overwrite"], check=True, capture_output=True, text=True)


def integer_program(given, network, folder):
    samples, prepared, integer = folder / "samples.npz", folder / "prepared.safetensors", folder / "integer.safetensors"
    np.savez(samples, **random_samples(network, SAMPLES))
    program(given, "quantize", network, "--platform", "generic_int8", "--data", samples, "--all", "--out", prepared)
    program(given, "convert", prepared, "--float-fallback", "--out", integer)
    return integer


class Rows:
    """Provides samples one by one, for onnxruntime's quantizer."""

    def __init__(self, network):
        self.rows = rows_of(network)

    def get_next(self):
        return next(self.rows, None)


def rows_of(network):
    samples = random_samples(network, SAMPLES)
    return ({name: array[i : i + 1] for name, array in samples.items()} for i in range(SAMPLES))


def dynamic_int8(network, folder):
    from onnxruntime.quantization import quantize_dynamic

    path = folder / "dynamic.onnx"
    quantize_dynamic(network, path)
    return path


def static_int8(network, folder):
    from onnxruntime.quantization import quantize_static

    path = folder / "qdq.onnx"
    quantize_static(network, path, Rows(network), per_channel=True)
    return path


def nncf_int8(network, folder):
    path = folder / "nncf.xml"
    calibration = nncf.Dataset(list(rows_of(network)))
    openvino.save_model(nncf.quantize(openvino.Core().read_model(network), calibration, model_type=nncf.ModelType.TRANSFORMER), path, compress_to_fp16=False)
    return path


@contextlib.contextmanager
def quiet():
    """Context that hides the output of tools from the table."""
    logging.disable(logging.WARNING)
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        yield
    logging.disable(logging.NOTSET)


def int8_files(given, network, folder):
    """Return (engine, file) by the name of a row."""
    files = {"halfstep int8": (Halfstep, integer_program(given, network, folder))}
    with quiet():
        if onnxruntime:
            files["onnxruntime dynamic int8"] = OnnxRuntime, dynamic_int8(network, folder)
            files["onnxruntime QDQ int8"] = OnnxRuntime, static_int8(network, folder)
        if openvino and onnxruntime:
            files["openvino QDQ int8"] = OpenVino, files["onnxruntime QDQ int8"][1]
        if openvino and nncf:
            files["openvino NNCF int8"] = OpenVino, nncf_int8(network, folder)
    return files


def measure(given, network, folder):
    """Print the rows of a network. Return whether its float outputs are correct."""
    files = {engine.name: (engine, network) for engine in (Halfstep, *PEERS)} | int8_files(given, network, folder)
    right = True
    for batch in given.batches:
        x = random_samples(network, batch)
        engines = {name: engine(given, path, x, folder) for name, (engine, path) in files.items()}
        for name, own in (times := dict(zip(engines, medians(given, list(engines.values()), batch)))).items():
            base = times["halfstep int8" if name.endswith("int8") else "halfstep"]
            print(f"{network.stem:14} batch {batch:3}  {name:26}{own:10.3f} ms{own / base:8.2f}", flush=True)
        print(f"{network.stem:14} batch {batch:3}  int8 over float: {times['halfstep'] / times['halfstep int8']:.2f}", flush=True)
        if PEERS:
            engines["halfstep"].times(1)
            own, peer = engines["halfstep"].output(), engines[PEERS[0].name].output()
            right = right and float(np.abs(own - peer).max() / np.abs(peer).max()) < 1e-4
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", type=pathlib.Path, nargs="*")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 32])
    add_options(parser)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        if not given.networks:
            bert(folder / "bert.onnx")
        right = [measure(given, network, folder) for network in given.networks or [folder / "bert.onnx"]]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
