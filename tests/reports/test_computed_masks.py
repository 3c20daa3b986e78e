"""Masks that a network takes or computes, in front of a softmax: they hide as stored ones do, and use no codes."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import sqnr

LOWEST = np.finfo(np.float32).min


@pytest.mark.parametrize("network", ["c42_float_in", "c42_in_fmin", "c42_in_1e9", "c42_mask_fmax"])
def test_reported_masks(bench, shared, network):
    case = shared / "reports" / "mask_from_input"
    samples = case / f"{network}.npz"
    deployed = bench.deploy(case / f"{network}.onnx", samples, fallbacks=network == "c42_in_1e9")
    assert deployed.differing == 0
    expected = bench.outputs(case / f"{network}.onnx", samples)
    found = bench.outputs(deployed.integer, samples)
    assert min(sqnr(found[name], expected[name]) for name in expected) > 25


def test_mask_of_integers_needs_no_float(bench, shared):
    case = shared / "reports" / "mask_from_input"
    ended = bench.run("inspect", case / "c42_in_fmin.onnx", "--platform", "generic_int8")
    assert "quantize, convert and train accept the network" in ended.out


def attention(path, scores_plus, inputs, nodes=(), tensors=(), seed=0):
    """Attention of one head on [n, 6, 16]. `scores_plus` is added to the scores."""
    rng = np.random.default_rng(seed)
    stored, made = list(tensors), list(nodes)
    for name in "qkv":
        stored.append(numpy_helper.from_array(rng.normal(0, 0.25, (16, 16)).astype(np.float32), f"w{name}"))
        made.append(helper.make_node("MatMul", ["x", f"w{name}"], [name], name=name))
    made += [helper.make_node("Transpose", ["k"], ["kt"], name="kt", perm=[0, 2, 1]),
             helper.make_node("MatMul", ["q", "kt"], ["s"], name="s"),
             helper.make_node("Add", ["s", scores_plus], ["m"], name="m"),
             helper.make_node("Softmax", ["m"], ["p"], name="p", axis=-1),
             helper.make_node("MatMul", ["p", "v"], ["y"], name="y")]  # fmt: skip
    value = helper.make_tensor_value_info
    graph = helper.make_graph(made, "g", [value("x", TensorProto.FLOAT, ["n", 6, 16]), *inputs],
                              [value("y", TensorProto.FLOAT, ["n", 6, 16])], stored)  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return rng.normal(0, 1, (64, 6, 16)).astype(np.float32), rng


def judge(bench, network, samples, least=25, fallbacks=False):
    data = bench.folder / "data.npz"
    np.savez(data, **samples)
    deployed = bench.deploy(network, data, fallbacks=fallbacks)
    assert deployed.differing == 0
    found, expected = bench.outputs(deployed.integer, data)["y"], bench.outputs(network, data)["y"]
    assert sqnr(found, expected) > least
    return deployed


# A5.19
@pytest.mark.parametrize("hidden", [LOWEST, -1e38, -1e30], ids=["lowest", "1e38", "1e30"])
def test_mask_with_distances(bench, hidden):
    """Values that the mask does not hide have their own range of codes: a bias by distance keeps its accuracy.
    Infinities do not count."""
    network = bench.folder / "net.onnx"
    x, rng = attention(network, "mask", [helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["n", 6, 6])])
    distance = -0.7 * np.abs(np.subtract.outer(np.arange(6), np.arange(6))).astype(np.float32)
    mask = np.where(rng.random((64, 1, 6)) < 0.3, np.float32(hidden), distance).astype(np.float32)
    mask[:, :, 0], mask[0, :, 1] = 0, hidden
    judge(bench, network, {"x": x, "mask": mask})
    np.savez(bench.folder / "data.npz", x=x, mask=np.where(mask < -1e29, -np.inf, mask))
    ended = bench.run("quantize", network, "--data", "data.npz", "--out", "p", code=2)
    assert "-inf in sample 0" in ended.err


SPELLINGS = {
    "whole": [("Cast", ["ids"], "f"), ("Sub", ["one", "f"], "i"), ("Mul", ["i", "low"], "h")],
    "float": [("Sub", ["one", "seen"], "i"), ("Mul", ["i", "low"], "h")],
    "selected": [("Where", ["flag", "zero", "low"], "h")],
    "pairs": [("Unsqueeze", ["seen", "last"], "r"), ("Mul", ["r", "seen.row"], "b"), ("Sub", ["one", "b"], "i"),
              ("Mul", ["i", "low"], "h")],
}  # fmt: skip


# A5.17
@pytest.mark.parametrize("platform", ["generic_int8", "snpe", "vitis", "onnxruntime_int8", "magik_t40"])
@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("low", [-1e4, -1e9, -1e20, LOWEST], ids=["1e4", "1e9", "1e20", "lowest"])
def test_any_number_hides_on_any_platform(bench, platform, spelling, low):
    """Completely hidden rows do not affect the range of the others."""
    network = bench.folder / "net.onnx"
    random = np.random.default_rng(2)
    seen = random.random((64, 1, 6)) < 0.7
    seen[:, :, 0] = True
    rows = np.ones((64, 6), np.float32)
    if spelling == "pairs":
        rows[:, 4:] = random.random((64, 2)) < 0.5
    fed = {"whole": ("ids", TensorProto.INT64, seen.astype(np.int64)), "float": ("seen", TensorProto.FLOAT, seen.astype(np.float32)),
           "selected": ("flag", TensorProto.BOOL, seen), "pairs": ("seen", TensorProto.FLOAT, rows)}[spelling]  # fmt: skip
    numbers = [numpy_helper.from_array(np.asarray(number, np.float32), name) for number, name in ((1, "one"), (0, "zero"), (low, "low"))]
    numbers.append(numpy_helper.from_array(np.asarray([2], np.int64), "last"))
    nodes = [helper.make_node(op, operands, [name], name=name, **({"to": TensorProto.FLOAT} if op == "Cast" else {}))
             for op, operands, name in SPELLINGS[spelling]]  # fmt: skip
    inputs = [helper.make_tensor_value_info(fed[0], fed[1], ["n", *fed[2].shape[1:]])]
    if spelling == "pairs":
        numbers.append(numpy_helper.from_array(np.asarray([1], np.int64), "middle"))
        nodes.insert(0, helper.make_node("Unsqueeze", ["seen", "middle"], ["seen.row"], name="seen.row"))
    x, _ = attention(network, "h", inputs, nodes, numbers)
    samples = bench.folder / "data.npz"
    np.savez(samples, x=x, **{fed[0]: fed[2]})
    deployed = bench.deploy(network, samples, "--platform", platform, fallbacks=True)
    assert deployed.differing == 0
    found, expected = (bench.outputs(model, samples)["y"][rows == 1] for model in (deployed.integer, network))
    assert sqnr(found, expected) > 24


@pytest.mark.parametrize("behind", ["Identity", "Neg"])
def test_mask_of_shares_is_refused(bench, behind):
    """(1 - mask) * -10000 hides where the mask is 0. A mask value of a half subtracts 5,000, which would be lost."""
    network, samples = bench.folder / "net.onnx", bench.folder / "data.npz"
    numbers = [numpy_helper.from_array(np.asarray(number, np.float32), name) for number, name in ((1, "one"), (-1e4, "low"), (1e4, "high"))]
    nodes = [helper.make_node("Sub", ["one", "seen"], ["i"], name="i"), helper.make_node("Mul", ["i", "low" if behind == "Identity" else "high"], ["g"], name="g"),
             helper.make_node(behind, ["g"], ["h"], name="h")]  # fmt: skip
    x, rng = attention(network, "h", [helper.make_tensor_value_info("seen", TensorProto.FLOAT, ["n", 1, 6])], nodes, numbers)
    seen = rng.choice([0, 1], (64, 1, 6)).astype(np.float32)
    seen[:, :, 0] = 1
    np.savez(samples, x=x, seen=seen)
    bench.run("quantize", network, "--data", samples, "--out", "p")
    seen[3, 0, 2] = 0.5
    np.savez(samples, x=x, seen=seen)
    ended = bench.run("quantize", network, "--data", samples, "--out", "q", code=3)
    assert "-5000" in ended.err


LOGARITHMS = {
    "float": (np.float32, [("Log", ["seen"], "h")]),
    "flags": (np.bool_, [("Cast", ["seen"], "f"), ("Log", ["f"], "h")]),
    "moved": (np.float32, [("Log", ["seen"], "g"), ("Transpose", ["g"], "t"), ("Transpose", ["t"], "h")]),
}


@pytest.mark.parametrize("spelling", LOGARITHMS)
def test_logarithm_of_a_mask(bench, spelling):
    """Its -inf hides, which no code of the logarithm can. Its other numbers are added."""
    dtype, written = LOGARITHMS[spelling]
    network = bench.folder / "net.onnx"
    nodes = [helper.make_node(op, operands, [name], name=name, **({"to": TensorProto.FLOAT} if op == "Cast" else {}))
             for op, operands, name in written]  # fmt: skip
    for node in nodes:
        if node.op_type == "Transpose":
            node.attribute.append(helper.make_attribute("perm", [0, 2, 1]))
    kind = TensorProto.BOOL if dtype is np.bool_ else TensorProto.FLOAT
    x, rng = attention(network, "h", [helper.make_tensor_value_info("seen", kind, ["n", 1, 6])], nodes)
    seen = (rng.random((64, 1, 6)) < 0.7).astype(dtype)
    if dtype is np.float32:
        seen *= rng.choice([0.25, 1.0], (64, 1, 6)).astype(np.float32)
    seen[:, :, 0] = 1
    judge(bench, network, {"x": x, "seen": seen}, fallbacks=True)


# A5.19
def test_mask_that_is_subtracted(bench):
    network = bench.folder / "net.onnx"
    low = numpy_helper.from_array(np.asarray(-LOWEST, np.float32), "low")
    nodes = [helper.make_node("Cast", ["ids"], ["f"], name="f", to=TensorProto.FLOAT), helper.make_node("Mul", ["f", "low"], ["h"], name="h")]
    x, rng = attention(network, "h", [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n", 1, 6])], nodes, [low])
    model = onnx.load(network)
    next(node for node in model.graph.node if node.name == "m").op_type = "Sub"
    onnx.save(model, network)
    ids = (rng.random((64, 1, 6)) < 0.3).astype(np.int64)
    ids[:, :, 0] = 0
    judge(bench, network, {"x": x, "ids": ids}, fallbacks=True)


# A5.17
def test_a_pad_of_infinity_that_no_maximum_reads_stays_in_float(bench):
    """On codes the fill would be the lowest code, and an elu does not map it to -1."""
    network, samples = bench.folder / "net.onnx", bench.folder / "data.npz"
    random = np.random.default_rng(0)
    numbers = [numpy_helper.from_array(random.normal(0, 0.3, (7, 4)).astype(np.float32), "w"),
               numpy_helper.from_array(np.asarray([0, 1, 0, 1], np.int64), "pads"),
               numpy_helper.from_array(np.asarray(-np.inf, np.float32), "fill")]  # fmt: skip
    nodes = [helper.make_node("MatMul", ["x", "w"], ["c"]), helper.make_node("Pad", ["c", "pads", "fill"], ["p"]),
             helper.make_node("Elu", ["p"], ["y"])]  # fmt: skip
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", extent]) for name, extent in (("x", 7), ("y", 6))]
    graph = helper.make_graph(nodes, "padded", ports[:1], ports[1:], numbers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), network)
    np.savez(samples, x=random.normal(0, 1, (32, 7)).astype(np.float32))
    deployed = bench.deploy(network, samples, fallbacks=True)
    assert {fallback["operator"] for fallback in deployed.converted["float"]} == {"pad", "elu"}
    assert sqnr(bench.outputs(deployed.integer, samples)["y"], bench.outputs(network, samples)["y"]) > 35


def test_mask_that_is_added_to_a_bias(bench):
    network = bench.folder / "net.onnx"
    one, low = (numpy_helper.from_array(np.asarray(number, np.float32), name) for number, name in ((1, "one"), (LOWEST, "low")))
    bias = np.random.default_rng(1).normal(0, 1, (6, 6)).astype(np.float32)
    nodes = [helper.make_node("Cast", ["ids"], ["f"], name="f", to=TensorProto.FLOAT),
             helper.make_node("Sub", ["one", "f"], ["i"], name="i"),
             helper.make_node("Mul", ["i", "low"], ["h"], name="h"),
             helper.make_node("Add", ["h", "bias"], ["b"], name="b")]  # fmt: skip
    x, rng = attention(network, "b", [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n", 1, 6])], nodes,
                       [one, low, numpy_helper.from_array(bias, "bias")])  # fmt: skip
    ids = (rng.random((64, 1, 6)) < 0.7).astype(np.int64)
    ids[:, :, 0] = 1
    judge(bench, network, {"x": x, "ids": ids}, fallbacks=True)


def test_what_no_softmax_reads_is_refused_with_a_remedy(bench):
    """A sum with such large numbers in front of other operators has no codes. repair and convert name the remedy."""
    network = bench.folder / "net.onnx"
    rng = np.random.default_rng(0)
    weight = numpy_helper.from_array(rng.normal(0, 0.25, (16, 16)).astype(np.float32), "w")
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("MatMul", ["x", "w"], ["s"], name="s"), helper.make_node("Add", ["s", "mask"], ["m"], name="m"),
             helper.make_node("Relu", ["m"], ["y"], name="y")]  # fmt: skip
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, ["n", 6, 16]), value("mask", TensorProto.FLOAT, ["n", 6, 16])],
                              [value("y", TensorProto.FLOAT, ["n", 6, 16])], [weight])  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), network)
    mask = np.where(rng.random((64, 6, 16)) < 0.3, LOWEST, 0).astype(np.float32)
    np.savez(bench.folder / "data.npz", x=rng.normal(0, 1, (64, 6, 16)).astype(np.float32), mask=mask)
    ended = bench.run("quantize", network, "--data", "data.npz", "--repair", "ranges", "--out", "r", code=None)
    assert ended.code == 3 and "--skip-layers m" in ended.err and "kernel" not in ended.err, ended.err
    bench.run("quantize", network, "--data", "data.npz", "--out", "p")
    for words in (["convert", "p", "--out", "i"], ["inspect", "p", "--platform", "generic_int8"]):
        ended = bench.run(*words, code=3)
        assert "--skip-layers m" in ended.out + ended.err


def test_a_value_that_only_a_mask_reads_behind_a_pooling_is_observed(bench):
    """Regression: on platforms that put quantizers in front of a pooling, its observer saw no value, and quantize ended
    as a bug."""
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2, 9]), helper.make_tensor_value_info("keep", TensorProto.BOOL, ["n", 2, 7])]
    nodes = [helper.make_node("MaxPool", ["x"], ["p"], kernel_shape=[3]), helper.make_node("Where", ["keep", "p", "hidden"], ["y"])]
    numbers = [numpy_helper.from_array(np.asarray(-1.75, np.float32), "hidden")]
    graph = helper.make_graph(nodes, "pooled", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], numbers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), bench.folder / "pooled.onnx")
    random = np.random.default_rng(0)
    np.savez(bench.folder / "x.npz", x=random.standard_normal((64, 2, 9)).astype(np.float32), keep=random.random((64, 2, 7)) < 0.5)
    assert bench.deploy(bench.folder / "pooled.onnx", bench.folder / "x.npz", "--platform", "tengine_u8", fallbacks=True).differing == 0


def test_an_output_of_hidden_scores_has_no_cosine(bench):
    """Equal infinities compare as equal, but have no angle."""
    hide = numpy_helper.from_array(np.where(np.triu(np.ones((6, 6)), 1) > 0, -np.inf, 0).astype(np.float32), "hide")
    x, _ = attention(bench.folder / "n.onnx", "hide", [], tensors=[hide])
    model = onnx.load(bench.folder / "n.onnx")
    model.graph.output.insert(0, helper.make_tensor_value_info("m", TensorProto.FLOAT, None))
    onnx.save(model, bench.folder / "n.onnx")
    np.savez(bench.folder / "data.npz", x=x)
    deployed = bench.deploy("n.onnx", "data.npz", fallbacks=True)
    assert deployed.differing == 0
    said = bench.run("verify", deployed.prepared, deployed.integer, "--data", "data.npz").out
    assert "outputs: no cosine to the float network, because values are infinite or NaN" in said
