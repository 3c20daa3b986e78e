"""Refusals say what to do next."""

import resource

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper


@pytest.fixture
def network(shared):
    return shared / "hunt" / "scale_floor" / "n.onnx"


def saved(path, nodes):
    """A network of these nodes from x to y."""
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4, 6, 6]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    np.savez(path.with_suffix(".npz"), x=np.ones((1, 4, 6, 6), np.float32))
    return path


@pytest.mark.parametrize("case", ["c35_custom", "c51_sk"])
def test_run_of_an_operator_that_is_not_supported(bench, shared, case):
    """As all other verbs say it."""
    folder = shared / "reports" / "inspect_exit_code"
    said = [bench.run(*words, code=3).err for words in (("run", folder / f"{case}.onnx", "--inputs", folder / f"{case}.npz"),
                                                        ("quantize", folder / f"{case}.onnx", "--data", folder / f"{case}.npz", "--out", "p"))]  # fmt: skip
    assert "the operator is not supported; write it with operators that are supported, or cut the network in front of it" in said[0]
    assert said[0] == said[1]


def test_rules_of_operators_in_words(bench):
    model = saved(bench.folder / "axis.onnx", [helper.make_node("Softmax", ["x"], ["y"], "soft", axis=9)])
    for words in (("run", model, "--inputs", "axis.npz"), ("quantize", model, "--data", "axis.npz", "--out", "p")):
        assert "axis is 9, rank(x) is 4, expected -4 to 3; write it with" in bench.run(*words, code=3).err


def test_nodes_out_of_order(bench):
    model = saved(bench.folder / "order.onnx", [helper.make_node("Relu", ["b"], ["y"]), helper.make_node("Relu", ["x"], ["b"])])
    assert "out of order; export the network again" in bench.run("inspect", model, code=2).err


SAMPLES = {
    "big": ({"x": np.ones((2, 3, 6, 6), ">f4")}, 3, "save array.astype('<f4')"),
    "complex": ({"x": np.ones((2, 3, 6, 6), np.complex64)}, 3, "save array.real and array.imag apart, as float32"),
    "none": ({"x": np.ones((0, 3, 6, 6), np.float32)}, 2, "give at least one"),
    "counts": ({"x": np.ones((2, 3, 6, 6), np.float32), "extra": np.ones((3, 1), np.float32)}, 2, "give every input as many"),
}


@pytest.mark.parametrize("case", SAMPLES)
def test_samples(bench, network, case):
    arrays, code, remedy = SAMPLES[case]
    np.savez(bench.folder / "s.npz", **arrays)
    assert remedy in bench.run("quantize", network, "--data", "s.npz", "--out", "p", code=code).err


def test_accuracy_without_labels(bench, network):
    np.savez(bench.folder / "s.npz", x=np.ones((2, 3, 6, 6), np.float32))
    assert "accuracy needs them; give them beside the samples" in bench.run("eval", network, "--data", "s.npz", code=2).err


def test_dump_without_room_names_its_folder(bench, network):
    np.savez(bench.folder / "s.npz", x=np.random.default_rng(0).standard_normal((2, 3, 6, 6), np.float32))
    bench.run("quantize", network, "--data", "s.npz", "--out", "p")
    bench.run("convert", "p", "--out", "i")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (40, resource.RLIM_INFINITY))

    ended = bench.run("dump", "i", "--data", "s.npz", "--out", "values", code=2, preexec_fn=limit, restore_signals=False)
    assert "values: cannot be written: file too large; name another place" in ended.err
