"""Indices that a file computes in float have the same values as in the source model, on every platform."""

import numpy as np
import pytest

from conftest import sqnr

onnx = pytest.importorskip("onnx")
PLATFORMS = ["generic_int8", "magik_t40", "onnxruntime_int8"]


@pytest.fixture
def case(shared):
    return shared / "hunt" / "float_index"


def displaced(found, expected):
    """Number of samples whose output is nearer to the float output of another sample than to their own."""
    distances = np.linalg.norm(found[:, None, :] - expected[None, :, :], axis=2)
    return int(np.sum(distances.argmin(1) != np.arange(len(found))))


@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_sample_has_its_own_answer(bench, case, platform):
    deployed = bench.deploy(case / "m.onnx", case / "d.npz", "--platform", platform)
    assert deployed.differing == 0
    assert deployed.verified["whole_network"] == {"holds": True, "batch": 64, "integers": 256, "differing": 0, "moved": 0}
    expected = bench.outputs(case / "m.onnx", case / "d.npz")["out"]
    assert displaced(bench.outputs(deployed.integer, case / "d.npz")["out"], expected) == 0


@pytest.mark.parametrize("platform", PLATFORMS)
def test_indices_beyond_the_calibrated_batch(bench, case, platform):
    deployed = bench.deploy(case / "m.onnx", case / "d.npz", "--platform", platform)
    more = bench.folder / "more.npz"
    np.savez(more, x=np.random.default_rng(1).standard_normal((1000, 8, 4)).astype(np.float32))
    expected = bench.outputs(case / "m.onnx", more)["out"]
    found = bench.outputs(deployed.integer, more)["out"]
    assert sqnr(found, expected) > 25


def changed(case, folder, **constants):
    """The network with other constants."""
    model = onnx.load(case / "m.onnx")
    for tensor in model.graph.initializer:
        if tensor.name in constants:
            tensor.CopyFrom(onnx.numpy_helper.from_array(np.array(constants[tensor.name]), tensor.name))
    onnx.save(model, folder / "changed.onnx")
    return folder / "changed.onnx"


def test_another_index_is_found(bench, case):
    right = bench.deploy(case / "m.onnx", case / "d.npz", "--platform", "generic_int8")
    prepared = right.prepared.rename(bench.folder / "right.safetensors")
    wrong = bench.deploy(changed(case, bench.folder, eight=0), case / "d.npz", "--platform", "generic_int8")
    ended = bench.run("verify", prepared, wrong.integer, "--data", case / "d.npz", "--json", code=1)
    whole = ended.report["whole_network"]
    assert not whole["holds"] and whole["differing"] > 0
    assert whole["moved"] == 63  # all but the first read a row of another sample, which they do not when they run alone
    assert whole["first_moved"]["sample"] == 1
    text = bench.run("verify", prepared, wrong.integer, "--data", case / "d.npz", code=1).out
    assert "in the integer program" in text and "depends on the other samples of its batch" in text


def test_a_program_in_c_has_the_same_indices(bench, case):
    deployed = bench.deploy(case / "m.onnx", case / "d.npz", "--platform", "generic_int8")
    proof = bench.run("verify", deployed.prepared, deployed.integer, "--data", case / "d.npz", "--backend", "c", "--json").report
    assert all(layer["engine_differing"] == 0 for layer in proof["layers"])


@pytest.mark.parametrize("bits", [2, 4])
def test_low_bits_are_no_alarm(bench, case, bits):
    options = ["--platform", "generic_int8", "--weight-bits", bits, "--activation-bits", bits, "--first-last-bits", bits]
    deployed = bench.deploy(case / "m.onnx", case / "d.npz", *options)
    assert deployed.verified["whole_network"]["holds"]


def masked_network(path):
    """x[n, l, 4] -> linear, then the mean over positions below a length, which is a float input."""
    helper, numpy_helper, kinds = onnx.helper, onnx.numpy_helper, onnx.TensorProto
    rng = np.random.default_rng(0)
    constants = {
        "w": rng.standard_normal((4, 4)).astype(np.float32),
        "v": rng.standard_normal((4, 3)).astype(np.float32),
        "zero": np.int64(0), "one": np.int64(1), "axis": np.array([1]), "table": rng.standard_normal((2000, 4)).astype(np.float32),
        "shift": np.float32(1000),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Add", ["category", "shift"], ["shifted"]),
        helper.make_node("Cast", ["shifted"], ["row"], to=kinds.INT64),
        helper.make_node("Gather", ["table", "row"], ["known"], axis=0),
        helper.make_node("ReduceMean", ["h"], ["mean"], axes=[1], keepdims=0),
        helper.make_node("Add", ["mean", "known"], ["sum"]),
        helper.make_node("MatMul", ["sum", "v"], ["out"]),
    ]
    inputs = [
        helper.make_tensor_value_info("x", kinds.FLOAT, ["n", 8, 4]),
        helper.make_tensor_value_info("category", kinds.FLOAT, ["n"]),
    ]
    graph = helper.make_graph(nodes, "masked", inputs, [helper.make_tensor_value_info("out", kinds.FLOAT, ["n", 3])],
                              [numpy_helper.from_array(np.array(value), name) for name, value in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_category_in_a_float_input_is_exact(bench, platform):
    rng = np.random.default_rng(2)
    network, samples = bench.folder / "masked.onnx", bench.folder / "samples.npz"
    masked_network(network)
    np.savez(samples, x=rng.standard_normal((64, 8, 4)).astype(np.float32), category=rng.integers(0, 900, 64).astype(np.float32))
    deployed = bench.deploy(network, samples, "--platform", platform, fallbacks=platform == "onnxruntime_int8")
    expected = bench.outputs(network, samples)["out"]
    found = bench.outputs(deployed.integer, samples)["out"]
    assert displaced(found, expected) == 0
