"""Sums, maxima, minima and clips, in every form that exporters write, have codes."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import sqnr


def network_of(path, nodes, numbers, seed=0):
    """x, a convolution, `nodes` from "c" (and x) to "o", and a convolution, with samples beside it. `numbers` by name.
    """
    rng = np.random.default_rng(seed)
    weights = {"w": rng.normal(0, 0.3, (8, 3, 3, 3)), "b": rng.normal(0, 0.2, 8), "w9": rng.normal(0, 0.3, (4, 8, 1, 1)), **numbers}
    tensors = [numpy_helper.from_array(np.asarray(value, np.float32), name) for name, value in weights.items()]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", c, 8, 8]) for name, c in (("x", 3), ("y", 4))]
    first = helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1])
    graph = helper.make_graph([first, *nodes, helper.make_node("Conv", ["o", "w9"], ["y"])], "g", ends[:1], ends[1:], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    samples = path.with_suffix(".npz")
    np.savez(samples, x=rng.normal(0, 1, (48, 3, 8, 8)).astype(np.float32))
    return path, samples


def node(kind, inputs, output, **attributes):
    return helper.make_node(kind, inputs.split(), [output], **attributes)


NUMBERS = {"zero": 0.0, "one": [1.0], "minus": -1.0, "six": [[[6.0]]]}
# The operators between the convolutions, and the operators of the integer program that they become.
FORMS = {
    "max": ([node("Max", "c zero", "o")], set()),
    "min_of_max": ([node("Max", "zero c", "m"), node("Min", "m six", "o")], set()),
    "relu_of_min": ([node("Min", "c six", "m"), node("Relu", "m", "o")], set()),
    "max_of_several_numbers": ([node("Max", "minus c zero", "o")], set()),
    "no_limits": ([node("Clip", "c", "o")], set()),
    "sum_of_one": ([node("Sum", "c", "o")], set()),
    "max_of_one": ([node("Max", "c", "o")], set()),
    "sum_of_two": ([node("Relu", "c", "r"), node("Sum", "r c", "o")], {"add"}),
    "sum_of_four": ([node("Relu", "c", "r"), node("Sigmoid", "c", "s"), node("Sum", "r c s r", "o")], {"add"}),
    "mean_of_three": ([node("Relu", "c", "r"), node("Sigmoid", "c", "s"), node("Mean", "r c s", "o")], {"add", "mul"}),
    "hardtanh": ([node("Clip", "c minus one", "o")], {"hard_tanh"}),
    "least": ([node("Max", "c minus", "o")], {"hard_tanh"}),
    "most": ([node("Min", "c one", "o")], {"hard_tanh"}),
    "other_pair": ([node("Min", "c one", "m"), node("Max", "m minus", "o")], {"hard_tanh"}),
}
OWN = {"conv2d", "fake_quantize"}


@pytest.mark.parametrize("name, decibels", [("s_max0", 33), ("s_hardtanh", 33), ("c50_tf", 35)])
def test_reported_networks(bench, shared, name, decibels):
    network, samples = (shared / f"reports/sum_max_clip/{name}{suffix}" for suffix in (".onnx", ".npz"))
    deployed = bench.deploy(network, samples)
    assert deployed.converted["float"] == []
    assert deployed.differing == 0
    for output, expected in bench.outputs(network, samples).items():
        assert sqnr(bench.outputs(deployed.integer, samples)[output], expected) >= decibels


# A5.6, A5.7
@pytest.mark.parametrize("platform", ["generic_int8", "pow2_int8"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_codes(bench, tmp_path, form, platform):
    nodes, operators = FORMS[form]
    network, samples = network_of(tmp_path / "n.onnx", nodes, NUMBERS)
    deployed = bench.deploy(network, samples, "--platform", platform)
    assert deployed.converted["float"] == []
    assert {layer["op"] for layer in deployed.verified["layers"]} - OWN - {"relu", "sigmoid"} == operators
    assert deployed.differing == 0
    found, expected = (bench.outputs(which, samples)["y"] for which in (deployed.integer, network))
    assert sqnr(found, expected) >= (27 if platform == "generic_int8" else 22)


@pytest.mark.parametrize("form", ["min_of_max", "sum_of_four", "mean_of_three", "hardtanh", "least"])
def test_c_gives_the_same_codes(bench, tmp_path, form):
    network, samples = network_of(tmp_path / "n.onnx", FORMS[form][0], NUMBERS)
    deployed = bench.deploy(network, samples)
    bench.run("verify", deployed.prepared, deployed.integer, "--data", samples, "--backend", "c")


@pytest.mark.parametrize("form", ["max", "relu_of_min", "sum_of_four", "mean_of_three", "hardtanh", "most"])
def test_it_trains(bench, tmp_path, form):
    network, samples = network_of(tmp_path / "n.onnx", FORMS[form][0], NUMBERS)
    bench.run("quantize", network, "--data", samples, "--out", "p.safetensors")
    bench.run("train", "p.safetensors", "--data", samples, "--epochs", "1", "--out", "run")
    bench.run("convert", "run/model.safetensors", "--out", "i.safetensors")
    bench.run("verify", "run/model.safetensors", "i.safetensors", "--data", samples)


def test_where_a_platform_has_no_table_it_says_so(bench, tmp_path):
    network, samples = network_of(tmp_path / "n.onnx", FORMS["hardtanh"][0], NUMBERS)
    ended = bench.run("quantize", network, "--data", samples, "--platform", "pytorch_x86", "--out", "p.safetensors", code=None)
    assert ended.code != 0
    assert "hard_tanh" in ended.err and "--skip-layers" in ended.err
