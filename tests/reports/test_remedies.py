"""Refusals name the next step."""

import resource

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper


@pytest.fixture
def network(shared):
    return shared / "hunt" / "scale_floor" / "n.onnx"


def saved(path, nodes):
    """Saves a network of these nodes from x to y."""
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4, 6, 6]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    np.savez(path.with_suffix(".npz"), x=np.ones((1, 4, 6, 6), np.float32))
    return path


@pytest.mark.parametrize("case", ["c35_custom", "c51_sk"])
def test_run_of_an_operator_that_is_not_supported(bench, shared, case):
    """The same error as from all other verbs."""
    folder = shared / "reports" / "inspect_exit_code"
    said = [bench.run(*words, code=3).err for words in (("run", folder / f"{case}.onnx", "--inputs", folder / f"{case}.npz"),
                                                        ("quantize", folder / f"{case}.onnx", "--data", folder / f"{case}.npz", "--out", "p"))]  # fmt: skip
    assert "halfstep: error HS" in said[0] and f"{case}.onnx: node " in said[0]
    assert said[0] == said[1]


def test_rules_of_operators_in_words(bench):
    model = saved(bench.folder / "axis.onnx", [helper.make_node("Softmax", ["x"], ["y"], "soft", axis=9)])
    for words in (("run", model, "--inputs", "axis.npz"), ("quantize", model, "--data", "axis.npz", "--out", "p")):
        err = bench.run(*words, code=3).err
        assert "'soft'" in err and "axis = 9" in err and "-4 to 3" in err


def test_nodes_out_of_order(bench):
    model = saved(bench.folder / "order.onnx", [helper.make_node("Relu", ["b"], ["y"]), helper.make_node("Relu", ["x"], ["b"])])
    assert "order.onnx" in bench.run("inspect", model, code=2).err


SAMPLES = {
    "big": ({"x": np.ones((2, 3, 6, 6), ">f4")}, 3, "array.astype('<f4')"),
    "complex": ({"x": np.ones((2, 3, 6, 6), np.complex64)}, 3, "array.real"),
    "none": ({"x": np.ones((0, 3, 6, 6), np.float32)}, 2, "s.npz"),
    "counts": ({"x": np.ones((2, 3, 6, 6), np.float32), "extra": np.ones((3, 1), np.float32)}, 2, "s.npz"),
}


@pytest.mark.parametrize("case", SAMPLES)
def test_samples(bench, network, case):
    arrays, code, value = SAMPLES[case]
    np.savez(bench.folder / "s.npz", **arrays)
    assert value in bench.run("quantize", network, "--data", "s.npz", "--out", "p", code=code).err


def test_accuracy_without_labels(bench, network):
    np.savez(bench.folder / "s.npz", x=np.ones((2, 3, 6, 6), np.float32))
    assert "s.npz" in bench.run("eval", network, "--data", "s.npz", code=2).err


def test_dump_without_room_names_its_folder(bench, network):
    np.savez(bench.folder / "s.npz", x=np.random.default_rng(0).standard_normal((2, 3, 6, 6), np.float32))
    bench.run("quantize", network, "--data", "s.npz", "--out", "p")
    bench.run("convert", "p", "--out", "i")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (40, resource.RLIM_INFINITY))

    ended = bench.run("dump", "i", "--data", "s.npz", "--out", "values", code=2, preexec_fn=limit, restore_signals=False)
    assert "error HS" in ended.err and "values: " in ended.err
