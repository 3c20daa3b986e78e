"""Float fallbacks that preparation made of other operators, under names that the source model does not have. The
semantic check compares the layers behind them with right numbers, and still finds wrong ones."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

PLATFORMS = ["onnx_qnn", "pplcuda", "pplw8a16", "snpe", "tengine_u8", "vitis"]


def samples_for(network, folder, count=24):
    """Random samples for every input of an ONNX file, as an npz file."""
    random = np.random.default_rng(7)
    arrays = {}
    for given in onnx.load(network).graph.input:
        extents = [dim.dim_value or count for dim in given.type.tensor_type.shape.dim]
        arrays[given.name] = np.abs(random.standard_normal([count, *extents[1:]])).astype(np.float32)
    np.savez(folder / "samples.npz", **arrays)
    return folder / "samples.npz"


class Maker:
    """Writes an ONNX file node by node."""

    def __init__(self, extents):
        self.random = np.random.default_rng(3)
        self.nodes, self.constants = [], []
        self.extents = extents

    def node(self, kind, inputs, output, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [output] if isinstance(output, str) else output, **attributes))

    def weight(self, name, *extents):
        values = self.random.standard_normal(extents) / np.sqrt(np.prod(extents[1:]) or 1)
        return self.constant(name, values.astype(np.float32))

    def constant(self, name, values):
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def convolution(self, rows, output):
        """Along rows of 8, the channels, with a transpose in front and one behind."""
        self.node("Transpose", [rows], "t0", perm=[0, 2, 1])
        self.node("Conv", ["t0", self.weight("k", 8, 8, 1), self.weight("kb", 8)], "c")
        self.node("Transpose", ["c"], output, perm=[0, 2, 1])

    def write(self, path):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", *self.extents])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "network", [x], [y], self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def rows_behind_a_transpose(make):
    """MatMul and Add on three axes: a product, its reshape and a sum in the file, a layer and a reshape in the prepared
    network."""
    make.convolution("x", "rows")
    make.node("MatMul", ["rows", make.weight("w", 8, 5)], "m")
    make.node("Add", ["m", make.weight("b", 5)], "y")


def rows_twice(make):
    make.convolution("x", "rows")
    make.node("MatMul", ["rows", make.weight("w1", 8, 12)], "m1")
    make.node("Add", [make.weight("b1", 12), "m1"], "a1")
    make.node("HardSwish", ["a1"], "h")
    make.node("MatMul", ["h", make.weight("w2", 12, 5)], "m2")
    make.node("Add", ["m2", make.weight("b2", 5)], "y")


def rows_of_heads(make):
    make.convolution("x", "rows")
    make.node("MatMul", ["rows", make.weight("w1", 8, 12)], "m1")
    make.node("Reshape", ["m1", make.constant("s", np.array([0, 6, 2, 6]))], "heads")
    make.node("Transpose", ["heads"], "t", perm=[0, 2, 1, 3])
    make.node("MatMul", ["t", make.weight("w2", 6, 5)], "m2")
    make.node("Add", ["m2", make.weight("b2", 5)], "y")


def rows_normalized(make):
    make.convolution("x", "rows")
    make.node("LayerNormalization", ["rows", make.constant("g", np.ones(8, np.float32))], "l")
    make.node("MatMul", ["l", make.weight("w1", 8, 12)], "m1")
    make.node("Add", ["m1", make.weight("b1", 12)], "a1")
    make.node("Split", ["a1"], ["p", "q"], axis=2)
    make.node("Mul", ["p", "q"], "z")
    make.node("MatMul", ["z", make.weight("w2", 6, 5)], "m2")
    make.node("Add", ["m2", make.weight("b2", 5)], "y")


def pixels_as_rows(make):
    make.node("Conv", ["x", make.weight("k", 8, 3, 3, 3), make.weight("kb", 8)], "c", pads=[1, 1, 1, 1])
    make.node("Relu", ["c"], "r")
    make.node("Conv", ["r", make.weight("k2", 8, 8, 3, 3), make.weight("kb2", 8)], "c2", pads=[1, 1, 1, 1])
    make.node("Reshape", ["c2", make.constant("s", np.array([0, 8, 36]))], "flat")
    make.node("Transpose", ["flat"], "rows", perm=[0, 2, 1])
    make.node("MatMul", ["rows", make.weight("w", 8, 5)], "m")
    make.node("Add", ["m", make.weight("b", 5)], "y")


def mean_of_a_product(make):
    """ReduceMean over pixels becomes a pool and a flattening."""
    make.node("Conv", ["x", make.weight("k", 6, 3, 3, 3), make.weight("kb", 6)], "c", pads=[1, 1, 1, 1])
    make.node("HardSigmoid", ["c"], "s")
    make.node("Mul", ["c", "s"], "z")
    make.node("ReduceMean", ["z"], "mean", axes=[2, 3], keepdims=0)
    make.node("Gemm", ["mean", make.weight("w", 6, 5), make.weight("b", 5)], "y")


def mean_gates(make):
    make.node("Conv", ["x", make.weight("k", 6, 3, 3, 3), make.weight("kb", 6)], "c", pads=[1, 1, 1, 1])
    make.node("HardSwish", ["c"], "h")
    make.node("ReduceMean", ["h"], "mean", axes=[-1, -2], keepdims=1)
    make.node("Conv", ["mean", make.weight("k2", 6, 6, 1, 1), make.weight("kb2", 6)], "c2")
    make.node("Sigmoid", ["c2"], "gate")
    make.node("Mul", ["h", "gate"], "z")
    make.node("AveragePool", ["z"], "p", kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER")
    make.node("Flatten", ["p"], "f")
    make.node("Gemm", ["f", make.weight("w", 54, 5), make.weight("b", 5)], "y")


ROWS, IMAGES = [6, 8], [3, 6, 6]  # a mean of 36 pixels is not a shift
NETWORKS = {
    rows_behind_a_transpose: ROWS,
    rows_twice: ROWS,
    rows_of_heads: ROWS,
    rows_normalized: ROWS,
    pixels_as_rows: IMAGES,
    mean_of_a_product: IMAGES,
    mean_gates: IMAGES,
}


def platforms(bench):
    """All platforms of the program, by name."""
    return [line.split()[0] for line in bench.run("platform", "list").out.splitlines()[1:]]


def files(bench):
    return [bench.folder / name for name in ("prepared.safetensors", "integer.safetensors")]


def beyond(bench, network, samples, platform, *changed):
    """Number of codes out of tolerance in all layers, or the reason why the platform refuses the network."""
    prepared, integer = files(bench)
    words = ["--data", samples, "--overwrite"]
    steps = (
        ["quantize", network, "--platform", platform, *words, "--out", prepared],
        ["convert", prepared, "--float-fallback", "--overwrite", "--out", integer],
    )
    for step in steps:
        ended = bench.run(*step, code=None)
        if ended.code != 0:
            return ended.err
    ended = bench.run("verify", prepared, integer, "--data", samples, "--semantics", "all", "--json", *changed, code=None)
    assert ended.code in (0, 1), ended.err
    layers = ended.report["layers"]
    assert sum(layer["differing"] + layer["parameters_differing"] for layer in layers) == 0 or changed
    return sum(layer["semantics"]["beyond"] for layer in layers if "semantics" in layer)


def holds(result):
    """Expects no code out of tolerance, or a platform that refuses a layer of the network."""
    return result == 0 or (isinstance(result, str) and "this is a bug" not in result)


@pytest.mark.parametrize("make", NETWORKS, ids=lambda make: make.__name__)
def test_right_codes_hold_on_every_platform(bench, make):
    network = bench.folder / "network.onnx"
    maker = Maker(NETWORKS[make])
    make(maker)
    maker.write(network)
    samples = samples_for(network, bench.folder)
    found = {platform: beyond(bench, network, samples, platform) for platform in platforms(bench)}
    assert all(found[platform] == 0 for platform in PLATFORMS), found
    assert all(holds(result) for result in found.values()), found


@pytest.mark.parametrize("platform", PLATFORMS)
def test_right_codes_hold_in_reported_networks(bench, shared, platform):
    folder = shared / "hunt" / "island_meaning"
    networks = sorted(folder.glob("*.onnx"))
    assert networks
    found = {network.stem: beyond(bench, network, samples_for(network, bench.folder), platform) for network in networks}
    found["s127"] = beyond(bench, folder / "s127" / "m.onnx", folder / "s127" / "d.npz", platform)
    assert all(holds(result) for result in found.values()), found
    assert 0 in found.values()


@pytest.mark.parametrize("platform", ["pplcuda", "pplw8a16", "snpe", "tengine_u8"])
def test_other_scales_are_found(bench, platform):
    """The program of a network with other ranges: its results behind float fallbacks are wrong."""
    network = bench.folder / "network.onnx"
    maker = Maker(ROWS)
    rows_twice(maker)
    maker.write(network)
    samples = samples_for(network, bench.folder)
    assert beyond(bench, network, samples, platform) == 0
    with np.load(samples) as arrays:
        np.savez(bench.folder / "wider.npz", x=arrays["x"] * np.float32(3))
    prepared, integer = files(bench)
    words = ["--data", bench.folder / "wider.npz", "--out", prepared, "--overwrite"]
    bench.run("quantize", network, "--platform", platform, *words)
    report = bench.run("verify", prepared, integer, "--data", samples, "--semantics", "all", "--json", code=1).report
    wrong = {layer["name"] for layer in report["layers"] if "semantics" in layer and layer["semantics"]["beyond"]}
    assert {"h", "y.q"} <= wrong


@pytest.mark.parametrize("platform", ["generic_int8", "pow2_int8"])
def test_wrong_weights_are_found(bench, platform):
    network = bench.folder / "network.onnx"
    maker = Maker(IMAGES)
    pixels_as_rows(maker)
    maker.write(network)
    samples = samples_for(network, bench.folder)
    assert beyond(bench, network, samples, platform) == 0
    assert beyond(bench, network, samples, platform, "--inject", "c:17") > 0
