"""Networks that order, select and write elements by positions become integers as a whole: decoders with indices of
pools, segmentation and ranking heads, scatters, running sums."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import sqnr

PLATFORMS = ["generic_int8", "pow2_int8", "magik_t40"]


class Network:
    """An ONNX network under construction on images [n, 3, 8, 8]."""

    def __init__(self):
        self.rng = np.random.default_rng(5)
        self.nodes, self.tensors = [], []

    def stored(self, name, array):
        self.tensors.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def add(self, op, inputs, outputs, **attributes):
        names = outputs if isinstance(outputs, list) else [outputs]
        self.nodes.append(helper.make_node(op, inputs, names, name=names[0], **attributes))
        return outputs

    def conv(self, x, name, channels, outputs):
        w = self.stored(f"{name}.w", self.rng.normal(0, 0.3, (outputs, channels, 3, 3)).astype(np.float32))
        b = self.stored(f"{name}.b", self.rng.normal(0, 0.1, outputs).astype(np.float32))
        return self.add("Conv", [x, w, b], name, pads=[1, 1, 1, 1])

    def save(self, bench, outputs, batch="n"):
        value = helper.make_tensor_value_info
        graph = helper.make_graph(self.nodes, "net", [value("x", TensorProto.FLOAT, [batch, 3, 8, 8])],
                                  [value(name, kind, None) for name, kind in outputs.items()], self.tensors)  # fmt: skip
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
        onnx.save(model, bench.folder / "net.onnx")
        np.savez(bench.folder / "data.npz", x=self.rng.normal(0, 1, (48, 3, 8, 8)).astype(np.float32))
        return bench.folder / "net.onnx", bench.folder / "data.npz"


def proven(bench, network, samples, platform):
    """The network is integers without float operators, equal to training's codes, and correct in C too."""
    deployed = bench.deploy(network, samples, "--platform", platform)
    assert deployed.differing == 0
    ended = bench.run("verify", deployed.prepared, deployed.integer, "--data", samples, "--json", "--backend", "c", "--semantics", "all")
    for layer in ended.report["layers"]:
        assert layer["semantics"]["compared"] > 0 and layer["semantics"]["beyond"] == 0, layer
        assert layer["engine_differing"] == 0, layer
    return deployed


# A5.61, A5.63
@pytest.mark.parametrize("platform", PLATFORMS)
def test_decoder_with_indices(bench, platform):
    net = Network()
    net.add("Relu", [net.conv("x", "first", 3, 8)], "first.act")
    net.add("MaxPool", ["first.act"], ["top", "top.at"], kernel_shape=[2, 2], strides=[2, 2])
    net.add("Relu", [net.conv("top", "second", 8, 12)], "second.act")
    net.add("MaxPool", ["second.act"], ["deep", "deep.at"], kernel_shape=[2, 2], strides=[2, 2])
    net.add("MaxUnpool", ["deep", "deep.at"], "up", kernel_shape=[2, 2], strides=[2, 2])
    net.conv("up", "third", 12, 8)
    net.add("MaxUnpool", ["third", "top.at"], "whole", kernel_shape=[2, 2], strides=[2, 2])
    network, samples = net.save(bench, {net.conv("whole", "logits", 8, 4): TensorProto.FLOAT})
    deployed = proven(bench, network, samples, platform)
    assert sqnr(bench.outputs(deployed.integer, samples)["logits"], bench.outputs(network, samples)["logits"]) > 12


# A5.62
@pytest.mark.parametrize("platform", PLATFORMS)
def test_segmentation_head(bench, platform):
    """The labels are those of the codes: the first largest one of each pixel."""
    net = Network()
    net.add("Relu", [net.conv("x", "first", 3, 8)], "act")
    net.conv("act", "logits", 8, 5)
    net.add("ArgMax", ["logits"], "labels", axis=1, keepdims=0)
    network, samples = net.save(bench, {"labels": TensorProto.INT64, "logits": TensorProto.FLOAT})
    found = bench.outputs(proven(bench, network, samples, platform).integer, samples)
    assert found["labels"].dtype == np.int64
    np.testing.assert_array_equal(found["labels"], found["logits"].argmax(axis=1))


# A5.62, A5.64
@pytest.mark.parametrize("platform", PLATFORMS)
def test_ranking_head(bench, platform):
    net = Network()
    net.add("Relu", [net.conv("x", "first", 3, 8)], "act")
    net.add("Reshape", [net.conv("act", "scores", 8, 4), net.stored("shape", np.array([0, -1], np.int64))], "rows")
    net.add("TopK", ["rows", net.stored("five", np.array([5], np.int64))], ["best", "places"], axis=1)
    net.add("GatherElements", ["rows", "places"], "again", axis=1)
    network, samples = net.save(bench, {"best": TensorProto.FLOAT, "places": TensorProto.INT64, "again": TensorProto.FLOAT,
                                        "rows": TensorProto.FLOAT})  # fmt: skip
    found = bench.outputs(proven(bench, network, samples, platform).integer, samples)
    order = np.argsort(-found["rows"], axis=1, kind="stable")[:, :5]
    np.testing.assert_array_equal(found["places"], order)
    np.testing.assert_array_equal(found["best"], np.take_along_axis(found["rows"], order, axis=1))
    np.testing.assert_array_equal(found["again"], found["best"])


# A5.64
@pytest.mark.parametrize("reduction", ["none", "max", "min"])
@pytest.mark.parametrize("platform", PLATFORMS)
def test_scatter(bench, platform, reduction):
    net = Network()
    shape = net.stored("shape", np.array([0, 4, -1], np.int64))
    net.add("Reshape", [net.conv("x", "data", 3, 4), shape], "rows")
    net.add("Reshape", [net.conv("x", "updates", 3, 4), shape], "new")
    net.add("ArgMax", ["new"], "places", axis=2, keepdims=1)
    net.add("GatherElements", ["new", "places"], "largest", axis=2)
    net.add("ScatterElements", ["rows", "places", "largest"], "put", axis=2, reduction=reduction)
    network, samples = net.save(bench, {"put": TensorProto.FLOAT})
    deployed = proven(bench, network, samples, platform)
    assert sqnr(bench.outputs(deployed.integer, samples)["put"], bench.outputs(network, samples)["put"]) > 12


# A5.64
def test_scatter_of_blocks(bench):
    """Stored zeros, of which a computed position is written, as exporters write max_unpool."""
    net = Network()
    net.add("Reshape", [net.conv("x", "data", 3, 4), net.stored("flat", np.array([-1], np.int64))], "row")
    net.add("TopK", ["row", net.stored("many", np.array([9], np.int64))], ["best", "places"], axis=0)
    net.add("Unsqueeze", ["places", net.stored("last", np.array([1], np.int64))], "positions")
    zeros = net.stored("zeros", np.zeros(4 * 64, np.float32))
    net.add("ScatterND", [zeros, "positions", "best"], "put")
    net.add("GatherND", ["put", "positions"], "again")
    network, samples = net.save(bench, {"put": TensorProto.FLOAT, "again": TensorProto.FLOAT, "best": TensorProto.FLOAT}, batch=1)
    integer = proven(bench, network, samples, "generic_int8").integer
    with np.load(samples) as arrays:
        np.savez(bench.folder / "one.npz", x=arrays["x"][:1])
    found = bench.outputs(integer, bench.folder / "one.npz")
    np.testing.assert_array_equal(found["again"], found["best"])
    assert np.count_nonzero(found["put"]) <= 9


# A5.22
@pytest.mark.parametrize("reduction", ["add", "mul"])
def test_reductions_that_compute_stay_in_float(bench, reduction):
    net = Network()
    shape = net.stored("shape", np.array([0, 4, -1], np.int64))
    net.add("Reshape", [net.conv("x", "data", 3, 4), shape], "rows")
    net.add("ArgMax", ["rows"], "places", axis=2, keepdims=1)
    net.add("GatherElements", ["rows", "places"], "largest", axis=2)
    net.add("ScatterElements", ["rows", "places", "largest"], "put", axis=2, reduction=reduction)
    network, samples = net.save(bench, {"put": TensorProto.FLOAT})
    ended = bench.run("inspect", network, "--platform", "generic_int8", code=None)
    assert f"scatter_elements with reduction '{reduction}' has no integer implementation" in ended.out + ended.err


# A5.65
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("platform", PLATFORMS)
def test_running_sums(bench, platform, exclusive, reverse):
    net = Network()
    net.add("CumSum", [net.conv("x", "data", 3, 4), net.stored("axis", np.array(3, np.int64))], "sums", exclusive=exclusive, reverse=reverse)
    network, samples = net.save(bench, {"sums": TensorProto.FLOAT})
    deployed = proven(bench, network, samples, platform)
    assert sqnr(bench.outputs(deployed.integer, samples)["sums"], bench.outputs(network, samples)["sums"]) > 20


# A5.22
def test_sampled_grid_names_what_to_do(bench):
    net = Network()
    at = net.stored("at", net.rng.uniform(-1, 1, (1, 8, 8, 2)).astype(np.float32))
    net.add("GridSample", [net.conv("x", "data", 3, 4), at], "sampled")
    network, _ = net.save(bench, {"sampled": TensorProto.FLOAT}, batch=1)
    ended = bench.run("inspect", network, "--platform", "generic_int8", code=None)
    assert "grid_sample has no integer implementation; it interpolates at computed positions" in ended.out + ended.err
    assert "--float-fallback" in ended.out + ended.err


def test_index_outside(bench):
    """inspect names a stored index that the result does not have."""
    net = Network()
    net.add("MaxPool", [net.conv("x", "data", 3, 4)], "top", kernel_shape=[2, 2], strides=[2, 2])
    at = np.arange(64, dtype=np.int64).reshape(1, 4, 4, 4)
    at[0, 0, 0, 1] = 256
    net.add("MaxUnpool", ["top", net.stored("at", at)], "whole", kernel_shape=[2, 2], strides=[2, 2])
    network, samples = net.save(bench, {"whole": TensorProto.FLOAT}, batch=1)
    ended = bench.run("inspect", network, "--platform", "generic_int8", code=3)
    assert "'at' has an index outside of the result: found 256" in ended.out + ended.err
