#!/usr/bin/env python3
"""Float and integer inference of a network of one input, such as a vision transformer, beside onnxruntime and OpenVINO, in one run.

usage: bench/attention_speed.py NETWORK.onnx [--batches 1 32] [--program build/release/halfstep] [--threads 2] [--rounds 5] [--runs 40]

Every column is an engine: Halfstep's float and integer programs (generic_int8, calibrated on random inputs), onnxruntime's and OpenVINO's float ones, and
onnxruntime's int8 (dynamic). Medians of milliseconds over rounds in which they take turns, and how many times Halfstep's of the same kind. Needs numpy,
safetensors and onnx; engines that are not installed have no column. Exits with 1 where float outputs are not the first peer's.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from engines import PEERS, Halfstep, OnnxRuntime, add_options, medians, onnxruntime


def program(given, *words):
    subprocess.run([given.program, *map(str, words), "--overwrite"], check=True, capture_output=True, text=True)


def argument(network):
    """The network's input, as ONNX describes it."""
    return onnx.load(network, load_external_data=False).graph.input[0]


def inputs(network, batch):
    """Random values for the network's input, whose open extents are `batch`."""
    dims = argument(network).type.tensor_type.shape.dim
    return np.random.default_rng(batch).standard_normal([dim.dim_value or batch for dim in dims]).astype(np.float32)


def integer_program(given, folder):
    """The network converted for generic_int8, calibrated on random inputs."""
    samples, prepared, integer = folder / "samples.npz", folder / "prepared.safetensors", folder / "integer.safetensors"
    x = inputs(given.network, 16)
    np.savez(samples, x=x, y=np.zeros(len(x), np.int64))
    program(given, "quantize", given.network, "--platform", "generic_int8", "--data", samples, "--all", "--out", prepared)
    program(given, "convert", prepared, "--out", integer)
    return integer


def dynamic_int8(network, folder):
    from onnxruntime.quantization import quantize_dynamic

    path = folder / "dynamic.onnx"
    quantize_dynamic(network, path)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", type=pathlib.Path)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 32])
    add_options(parser)
    given = parser.parse_args()
    right = True
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        integer, name = integer_program(given, folder), argument(given.network).name
        dynamic = dynamic_int8(given.network, folder) if onnxruntime else None
        for batch in given.batches:
            x = inputs(given.network, batch)
            engines = {"halfstep": Halfstep(given, given.network, x, folder, name), **{peer.name: peer(given, given.network, x, folder) for peer in PEERS}}
            engines["halfstep int8"] = Halfstep(given, integer, x, folder, name)
            if dynamic:
                engines["onnxruntime int8"] = OnnxRuntime(given, dynamic, x, folder)
            times = dict(zip(engines, medians(given, list(engines.values()), batch)))
            for engine, own in times.items():
                base = times["halfstep int8" if engine.endswith("int8") else "halfstep"]
                print(f"batch {batch:3}  {engine:18}{own:10.3f} ms{own / base:8.2f}", flush=True)
            if PEERS:
                engines["halfstep"].times(1)
                own, peer = engines["halfstep"].output(), engines[PEERS[0].name].output()
                right = right and float(np.abs(own - peer).max() / np.abs(peer).max()) < 1e-4
    return 0 if right else 1


sys.exit(main())
