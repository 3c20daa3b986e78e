"""Padding keeps activation functions that are written as products: x * sigmoid(x) stays one layer, with the same number
of quantizers."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

GATES = {
    "silu": [("Sigmoid", ["{x}"], {})],
    "hard_swish": [("HardSigmoid", ["{x}"], {"alpha": 1 / 6, "beta": 0.5})],
    "mish": [("Softplus", ["{x}"], {}), ("Tanh", ["{x}.g0"], {})],
}


def network(path, gate):
    rng = np.random.default_rng(0)
    nodes, tensors, x, channels = [], [], "x", 3
    for i, wide in enumerate((20, 40, 24, 8)):
        weight = rng.normal(0, np.sqrt(2 / channels / 9), (wide, channels, 3, 3)).astype(np.float32)
        tensors.append(numpy_helper.from_array(weight, f"w{i}"))
        nodes.append(helper.make_node("Conv", [x, f"w{i}"], [f"c{i}"], name=f"c{i}", pads=[1] * 4))
        for number, (kind, read, attributes) in enumerate(GATES[gate]):
            out = f"c{i}.g{number}"
            nodes.append(helper.make_node(kind, [name.format(x=f"c{i}") for name in read], [out], name=out, **attributes))
        nodes.append(helper.make_node("Mul", [f"c{i}", out], [f"a{i}"], name=f"a{i}"))
        x, channels = f"a{i}", wide
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, ["n", 3, 8, 8])], [value(x, TensorProto.FLOAT, ["n", 8, 8, 8])], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    np.savez(path.with_suffix(".npz"), x=rng.normal(0, 1, (32, 3, 8, 8)).astype(np.float32))


def activations(report):
    return sorted(one["tensor"] for one in report["quantizers"] if one["kind"] == "activation")


@pytest.mark.parametrize("gate", GATES)
def test_as_many_quantizers(bench, gate):
    path = bench.folder / "net.onnx"
    network(path, gate)
    words = ["quantize", path, "--data", path.with_suffix(".npz"), "--overwrite", "--json", "--platform", "generic_int8"]
    plain = bench.run(*words, "--out", "p").report
    rule = ["--overrides", "channels.multiple=32", "--overrides", "channels.above=12", "--pad-channels"]
    padded = bench.run(*words, *rule, "--out", "p").report
    assert activations(padded) == activations(plain)
    bench.run("convert", "p", "--out", "i")
    bench.run("verify", "p", "i", "--data", path.with_suffix(".npz"))
