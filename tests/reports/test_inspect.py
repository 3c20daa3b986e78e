"""Inspection at any stage, and of inputs that other verbs refuse."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper


def with_few_extents(path, node, stored, size):
    """Dynamic height and width that a stored tensor restricts to few sizes, and samples of a size that it accepts."""
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, "h", "w"])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    weights = np.random.default_rng(0).normal(size=(8, 3, 3, 3)).astype(np.float32)
    conv = helper.make_node("Conv", ["x", "w"], ["c"], name="c", pads=[1, 1, 1, 1])
    tensors = [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(stored, "s")]
    graph = helper.make_graph([conv, node], "few_extents", inputs, outputs, tensors)
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)
    samples = path.with_suffix(".npz")
    np.savez(samples, x=np.random.default_rng(1).normal(size=(8, 3, size, size)).astype(np.float32))
    return path, samples


POSITIONS = (helper.make_node("Add", ["c", "s"], ["y"], name="y"), np.ones((1, 8, 16, 16), np.float32), 16)
WINDOW = (helper.make_node("Conv", ["c", "s"], ["y"], name="y"), np.full((4, 8, 80, 80), 0.01, np.float32), 96)
LARGE = (helper.make_node("Add", ["c", "s"], ["y"], name="y"), np.ones((1, 8, 96, 96), np.float32), 96)


@pytest.mark.parametrize(("node", "stored", "size", "taken"), [(*POSITIONS, 16), (*WINDOW, 224), (*LARGE, 96)], ids=["positions", "window", "large"])
def test_extents_that_the_network_takes(bench, node, stored, size, taken):
    network, samples = with_few_extents(bench.folder / "few.onnx", node, stored, size)
    deployed = bench.deploy(network, samples)
    for stage in (network, deployed.prepared, deployed.integer):
        ended = bench.run("inspect", stage)
        assert f"[1, 3, {taken}, {taken}]" in ended.out and "not supported" not in ended.out
    bench.run("inspect", network, "--platform", "generic_int8")
    bench.run("inspect", deployed.prepared, "--platform", "generic_int8")


def test_no_extent_that_is_tried(bench):
    node, stored, _ = POSITIONS
    network, samples = with_few_extents(bench.folder / "few.onnx", node, stored[..., :13, :13], 13)
    bench.run("quantize", network, "--data", samples, "--out", "p")
    tried = "64, 224, 32,"
    refused = bench.run("inspect", "p", "--json", code=2).err
    assert "HS8093" in refused and tried in refused
    ended = bench.run("inspect", network)
    assert tried in ended.out and "not supported" not in ended.out
    ended = bench.run("inspect", network, "--platform", "generic_int8", "--json", code=3)
    assert {objection["verb"] for objection in ended.report["target"]["objections"]} == {"train"}


def test_open_height_and_width_of_a_model(bench, shared):
    case = shared / "reports" / "inspect_open_extents"
    deployed = bench.deploy(case / "c48_fcn.onnx", case / "c48_fcn.npz")
    for model in (deployed.prepared, deployed.integer):
        ended = bench.run("inspect", model, "--batch", 2)
        assert "f32[2, 3, 64, 64]" in ended.out


REFUSED = {
    "c26_qgemm": "y_scale",
    "c35_custom": "",
    "c51_sk": "",
    "c56_op6": "6",
    "c61_nms": "'x'",
}


@pytest.mark.parametrize("network", REFUSED)
def test_what_cannot_be_imported_is_refused_for_a_platform(bench, shared, network):
    """Same refusal as from `quantize`: the same exit code, place, reason and remedy."""
    case = shared / "reports" / "inspect_exit_code"
    value = REFUSED[network]
    ended = bench.run("inspect", case / f"{network}.onnx", "--platform", "generic_int8", "--json", code=3)
    (objection,) = ended.report["target"]["objections"]
    assert (objection["verb"], objection["name"]) == ("quantize", "node_not_imported") and objection["remedy"]
    assert value in objection["problem"] + objection["remedy"]
    ended = bench.run("quantize", case / f"{network}.onnx", "--data", case / f"{network}.npz", "--out", "p", code=3)
    assert f"{objection['where']}: " in ended.err and objection["remedy"] in ended.err
    ended = bench.run("inspect", case / f"{network}.onnx", "--platform", "generic_int8", code=3)
    assert "quantize rejects" in ended.out and f"remedy: {objection['remedy']}" in ended.out
    bench.run("inspect", case / f"{network}.onnx")
