"""Operators that no output depends on change nothing: layers end at the same value as without them."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def network(unread):
    rng = np.random.default_rng(0)
    weights = [numpy_helper.from_array(rng.uniform(-0.5, 0.5, shape).astype(np.float32), name)
               for name, shape in (("cw", (8, 1, 3, 3)), ("hw", (8, 10)))]  # fmt: skip
    nodes = [helper.make_node("Conv", ["x", "cw"], ["c"], pads=[1] * 4), helper.make_node("Neg", ["c"], ["n"])]
    if unread:
        nodes += [helper.make_node("Clip", ["c"], ["unread"]), helper.make_node("Sigmoid", ["unread"], ["unread.2"])]
    nodes += [helper.make_node("GlobalAveragePool", ["n"], ["m"]), helper.make_node("Flatten", ["m"], ["f"]),
              helper.make_node("Gemm", ["f", "hw"], ["y"])]  # fmt: skip
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", ["b", 1, 8, 8]), ("y", ["b", 10]))]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def test_unread_layers(bench):
    samples = bench.folder / "samples.npz"
    np.savez(samples, x=np.random.default_rng(1).standard_normal((16, 1, 8, 8)).astype(np.float32))
    found = {}
    for unread in (False, True):
        file = bench.folder / f"unread_{unread}.onnx"
        onnx.save(network(unread), file)
        deployed = bench.deploy(file, samples)
        assert deployed.differing == 0
        assert deployed.verified["whole_network"]["holds"]
        found[unread] = bench.outputs(deployed.integer, samples)["y"]
    assert np.array_equal(found[True], found[False])
