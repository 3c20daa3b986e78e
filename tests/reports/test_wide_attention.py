"""Attention with 16-bit activations: products of matrices have codes for heads of any size, in C too."""

import dataclasses

import numpy as np
import onnx
import pytest
from conftest import sqnr
from onnx import TensorProto, helper, numpy_helper

TOKENS, HEADS = 6, 2


def attention(path, head):
    """Queries, keys and values from stored matrices, scores, softmax, and a layer behind."""
    rng, wide = np.random.default_rng(head), HEADS * head
    tensors, nodes = {"split": np.array([0, TOKENS, HEADS, head]), "join": np.array([0, TOKENS, wide])}, []
    tensors["factor"] = np.array(head**-0.5, np.float32)

    def add(kind, reads, name, **attributes):
        nodes.append(helper.make_node(kind, reads, [name], name=name, **attributes))
        return name

    def layer(x, name):
        tensors[f"{name}.w"] = rng.normal(0, wide**-0.5, (wide, wide)).astype(np.float32)
        tensors[f"{name}.b"] = rng.normal(0, 0.1, wide).astype(np.float32)
        return add("Add", [add("MatMul", [x, f"{name}.w"], f"{name}.p"), f"{name}.b"], name)

    def heads(name, perm):
        return add("Transpose", [add("Reshape", [layer("x", name), "split"], f"{name}.s")], f"{name}.t", perm=perm)

    q, k, v = heads("q", [0, 2, 1, 3]), heads("k", [0, 2, 3, 1]), heads("v", [0, 2, 1, 3])
    scores = add("Mul", [add("MatMul", [q, k], "product"), "factor"], "scores")
    mixed = add("MatMul", [add("Softmax", [scores], "shares", axis=-1), v], "mixed")
    rows = add("Reshape", [add("Transpose", [mixed], "back", perm=[0, 2, 1, 3]), "join"], "rows")
    y = layer(rows, "y")
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "attention",
        [value("x", TensorProto.FLOAT, ["n", TOKENS, wide])],
        [value(y, TensorProto.FLOAT, ["n", TOKENS, wide])],
        [numpy_helper.from_array(tensor, name) for name, tensor in tensors.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    np.savez(path.with_suffix(".npz"), x=rng.normal(0, 1, (48, TOKENS, wide)).astype(np.float32))
    return path


@dataclasses.dataclass
class Case:
    options: tuple  # options of quantize
    quality: float  # least SQNR in dB
    in_codes: tuple = ("product", "shares", "mixed")
    fallbacks: bool = False


CASES = {
    "generic_int8": Case(("--overrides", "activations.legal_bits=[8, 16]"), 30),  # codes of inputs and outputs have 8 bits
    "signed_pow2_int8": Case((), 25),  # codes of inputs and outputs have 8 bits here too
    "pplw8a16": Case((), 35, ("product",), True),  # its weights have zero points
}


@pytest.mark.parametrize("head", [4, 8, 64])
@pytest.mark.parametrize("platform", CASES)
def test_products_have_codes(bench, platform, head):
    case, path = CASES[platform], attention(bench.folder / "net.onnx", head)
    samples = path.with_suffix(".npz")
    net = bench.deploy(path, samples, "--platform", platform, "--activation-bits", "16", *case.options, fallbacks=case.fallbacks)
    bounds = {layer["layer"]: layer["accumulator_bound"] for layer in net.converted["accumulators"]}
    assert bounds["product"] == head * 65535**2 > 2**32
    in_float = {layer["tensor"] for layer in net.converted["float"]}
    assert not in_float & set(case.in_codes) and (case.fallbacks or not in_float), in_float
    assert net.differing == 0
    quality = sqnr(bench.outputs(net.integer, samples)["y"], bench.outputs(path, samples)["y"])
    assert quality > case.quality, quality
    bench.run("verify", net.prepared, net.integer, "--data", samples, "--backend", "c")
