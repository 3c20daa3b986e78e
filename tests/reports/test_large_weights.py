"""Weights in a separate file are in memory once: packed, as kernels read them. Verbs that only inspect a network do not
read them."""

import subprocess
import sys

import conftest
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

LAYERS, SIZE = 4, 3072
WEIGHTS = LAYERS * SIZE * SIZE * 4
PROGRAM = 64 << 20  # bytes of the program itself, with its libraries


def network(folder):
    """MatMul and Relu, several times. Their weights are in weights.bin."""
    matrix = np.random.default_rng(0).standard_normal((SIZE, SIZE)).astype(np.float32) / SIZE**0.5
    with open(folder / "weights.bin", "wb") as file:
        for _ in range(LAYERS):
            file.write(matrix.tobytes())
    weights, nodes, value = [], [], "x"
    for i in range(LAYERS):
        weight = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[SIZE, SIZE], data_location=TensorProto.EXTERNAL)
        place = {"location": "weights.bin", "offset": i * matrix.nbytes, "length": matrix.nbytes}
        for key, entry in place.items():
            weight.external_data.add(key=key, value=str(entry))
        weights.append(weight)
        nodes += [helper.make_node("MatMul", [value, f"w{i}"], [f"c{i}"]), helper.make_node("Relu", [f"c{i}"], [f"v{i}"])]
        value = f"v{i}"
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", SIZE]) for name in ("x", value)]
    graph = helper.make_graph(nodes, "large", ports[:1], ports[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), folder / "large.onnx")
    return matrix


# A process inherits the peak memory of the process that forks it, so a small one runs in between.
MEASURE = """
import resource, subprocess, sys
ended = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
sys.exit(ended.returncode)
"""


def peak(folder, *words):
    """Peak memory of the command in bytes."""
    command = [sys.executable, "-c", MEASURE, conftest.PROGRAM, *map(str, words)]
    return int(subprocess.run(command, cwd=folder, capture_output=True, check=True, timeout=conftest.LIMIT).stdout)


@pytest.mark.parametrize("rows", [2, 100])
def test_large_weights(bench, rows):
    matrix = network(bench.folder)
    x = np.random.default_rng(1).standard_normal((rows, SIZE)).astype(np.float32)
    np.savez(bench.folder / "x.npz", x=x)
    assert peak(bench.folder, "inspect", "large.onnx", "--explain") < 0.1 * WEIGHTS + PROGRAM
    assert peak(bench.folder, "run", "large.onnx", "--inputs", "x.npz", "--outputs", "y.npz") < 1.3 * WEIGHTS + PROGRAM
    y = x.astype(np.float64)
    for _ in range(LAYERS):
        y = np.maximum(y @ matrix, 0)
    (found,) = np.load(bench.folder / "y.npz").values()
    assert conftest.sqnr(found, y) > 110
