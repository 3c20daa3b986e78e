"""Operators that only read extents are not float fallbacks, and float fallbacks keep parameters that layers share."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import sqnr


def test_extents_are_no_float_work(bench, shared):
    case = shared / "hunt" / "positions_islands"
    deployed = bench.deploy(case / "cls_expand.onnx", case / "d.npz")
    assert deployed.converted["float"] == []
    assert deployed.differing == 0


@pytest.mark.parametrize("fed", [False, True], ids=["of_extents", "of_an_input"])
def test_one_hot_has_codes(bench, fed):
    """Its two numbers have codes, wherever its index comes from."""
    random = np.random.default_rng(0)
    numbers = {"w": random.normal(size=(8, 3, 3, 3)), "zero": np.int64(0), "depth": np.int64(8), "values": np.asarray([0, 1]), "axes": np.asarray([1, 2])}
    stored = [numpy_helper.from_array(np.asarray(number, np.int64 if name in ("zero", "depth", "axes") else np.float32), name)
              for name, number in numbers.items()]  # fmt: skip
    extents = [helper.make_node("Shape", ["c"], ["s"]), helper.make_node("Gather", ["s", "zero"], ["b"]), helper.make_node("Unsqueeze", ["b", "first"], ["n"]),
               helper.make_node("ConstantOfShape", ["n"], ["ids"], value=numpy_helper.from_array(np.asarray([1], np.int64)))]  # fmt: skip
    stored.append(numpy_helper.from_array(np.asarray([0], np.int64), "first"))
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), *([] if fed else extents),
             helper.make_node("OneHot", ["ids", "depth", "values"], ["o"]), helper.make_node("Unsqueeze", ["o", "axes"], ["u"]),
             helper.make_node("Transpose", ["u"], ["t"], perm=[0, 3, 1, 2]), helper.make_node("Mul", ["c", "t"], ["y"])]  # fmt: skip
    value = helper.make_tensor_value_info
    inputs = [value("x", TensorProto.FLOAT, ["n", 3, 6, 6]), *([value("ids", TensorProto.INT64, ["n"])] if fed else [])]
    graph = helper.make_graph(nodes, "hot", inputs, [value("y", TensorProto.FLOAT, ["n", 8, 6, 6])], stored)
    network, samples = bench.folder / "net.onnx", bench.folder / "data.npz"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), network)
    ids = {"ids": random.integers(0, 8, 32)} if fed else {}
    np.savez(samples, x=random.normal(size=(32, 3, 6, 6)).astype(np.float32), **ids)
    deployed = bench.deploy(network, samples)
    assert deployed.converted["float"] == [] and deployed.differing == 0
    found, expected = bench.outputs(deployed.integer, samples)["y"], bench.outputs(network, samples)["y"]
    assert sqnr(found, expected) > 30


@pytest.mark.parametrize("network", ["min", "bias_shared", "ln_ln", "ln_mul", "w_shared"])
def test_shared_parameters(bench, shared, network):
    case = shared / "hunt" / "shared_param_island"
    samples = case / ("min.npz" if network == "min" else "d.npz")
    deployed = bench.deploy(case / f"{network}.onnx", samples, fallbacks=True)
    assert deployed.differing == 0
    assert deployed.verified["whole_network"]["holds"]
