"""ONNX loops whose states get more rows in each iteration, and whose bodies count the rows, compared with onnxruntime.
"""

import numpy as np
import pytest

import halfstep as hs

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")
FLOAT, WHOLE, TRUTH = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL
node, info, graph_of = onnx.helper.make_node, onnx.helper.make_tensor_value_info, onnx.helper.make_graph
TENSORS = {
    "at_0": np.int64(0), "by_1": np.int64(1), "two": np.int64(2), "flat": np.array([-1]), "first": np.array([0]),
    "second": np.array([1]), "half": np.float32(0.5), "tenth": np.float32(-0.1), "no_sum": np.zeros(3, np.float32),
    "row": np.ones((1, 3), np.float32), "none": np.ones((0, 3), np.float32),
    "ten": np.arange(30, dtype=np.float32).reshape(10, 3), "far": np.array([1000]),
}  # fmt: skip
GOES_ON = node("Identity", ["on"], ["goes"])
# `c`: number of rows of the state `v`, as a float.
ROWS = [node("Shape", ["v"], ["s"]), node("Gather", ["s", "at_0"], ["r"]), node("Cast", ["r"], ["c"], to=FLOAT)]
SIZE = [node("Size", ["v"], ["s"]), node("Cast", ["s"], ["c"], to=FLOAT)]


def grown(*nodes, by, of="v"):
    """Append the first row of `by` to the state."""
    parts = [node("Slice", [by, "first", "second"], ["part"]), node("Concat", [of, "part"], ["w"], axis=0)]
    return [GOES_ON, *nodes, *parts]


def loop(body, start, results=("w",), outputs=("y",), count="n", prefix=""):
    """Return a Loop from the state `start`. Its body uses the names v and w, and a loop inside uses other names."""
    inputs = [info(prefix + "i", WHOLE, []), info(prefix + "on", TRUTH, []), info(prefix + "v", FLOAT, [None, 3])]
    ends = [info(prefix + "goes", TRUTH, [])] + [info(result, FLOAT, None) for result in results]
    return node("Loop", [count, "", start], list(outputs), body=graph_of(body, "body", inputs, ends))


def counting(start, prefix):
    """Return an inner loop. Each iteration appends a row with the number of elements."""
    p = prefix
    body = [
        node("Identity", [p + "on"], [p + "goes"]),
        node("Size", [p + "v"], [p + "s"]),
        node("Cast", [p + "s"], [p + "c"], to=FLOAT),
        node("Slice", [p + "v", "first", "second"], [p + "head"]),
        node("Add", [p + "head", p + "c"], [p + "next"]),
        node("Concat", [p + "v", p + "next"], [p + "w"], axis=0),
    ]
    return body, start


def inner_loop(count, start, output, prefix="inner_"):
    body, _ = counting(start, prefix)
    return loop(body, start, [prefix + "w"], [output], count, prefix)


def branch(nodes, output):
    return graph_of(nodes, "branch", [], [info(output, FLOAT, None)])


THEN = branch([node("Shape", ["v"], ["ts"]), node("Gather", ["ts", "at_0"], ["tr"]),
               node("Cast", ["tr"], ["then"], to=FLOAT)], "then")  # fmt: skip
ELSE = branch([node("Size", ["v"], ["es"]), node("Cast", ["es"], ["else"], to=FLOAT)], "else")
NEGATED = branch([node("Neg", ["v"], ["negated"])], "negated")
KEPT = branch([node("Identity", ["v"], ["kept"])], "kept")
SUMS = graph_of(
    [node("Add", ["sum", "element"], ["next_sum"]), node("Identity", ["next_sum"], ["sums"])],
    "sums",
    [info("sum", FLOAT, [3]), info("element", FLOAT, [3])],
    [info("next_sum", FLOAT, [3]), info("sums", FLOAT, [3])],
)
LOOP_IN_SCAN = graph_of(
    [
        node("Unsqueeze", ["element", "first"], ["start"]),
        inner_loop("n", "start", "rows"),
        node("ReduceSum", ["rows", "first"], ["total"], keepdims=0),
        node("Add", ["sum", "total"], ["next_sum"]),
        node("Identity", ["total"], ["totals"]),
    ],
    "loops",
    [info("sum", FLOAT, [3]), info("element", FLOAT, [3])],
    [info("next_sum", FLOAT, [3]), info("totals", FLOAT, [3])],
)

NETWORKS = {
    "rows": [loop(grown(*ROWS, node("Add", ["v", "c"], ["k"]), by="k"), "x")],
    "elements": [loop(grown(*SIZE, node("Add", ["v", "c"], ["k"]), by="k"), "x")],
    "a result of each iteration": [
        loop([*grown(*SIZE, by="v"), node("Identity", ["c"], ["q"])], "x", ["w", "q"], ["y", "z"])
    ],
    "filled": [
        loop(grown(node("Shape", ["v"], ["s"]), node("ConstantOfShape", ["s"], ["f"]), node("Add", ["v", "f"], ["k"]),
                   by="k"), "x")
    ],
    "reshaped": [
        loop(grown(node("Shape", ["v"], ["s"]), node("Reshape", ["v", "flat"], ["f"]), node("Shape", ["f"], ["fs"]),
                   node("Expand", ["half", "fs"], ["e"]), node("Add", ["f", "e"], ["g"]),
                   node("Reshape", ["g", "s"], ["k"]), by="k"), "x")
    ],
    "positions": [
        loop(grown(*ROWS, node("Range", ["at_0", "r", "by_1"], ["p"]), node("Cast", ["p"], ["pf"], to=FLOAT),
                   node("Unsqueeze", ["pf", "second"], ["pu"]), node("Add", ["v", "pu"], ["k"]), by="k"), "x")
    ],
    "from one row": [loop(grown(*ROWS, node("Mul", ["x", "c"], ["k"]), by="k"), "row")],
    "from none": [loop(grown(*ROWS, node("Mul", ["x", "c"], ["k"]), by="k"), "none")],
    "the last row": [
        loop(grown(*ROWS, node("Sub", ["r", "by_1"], ["l"]), node("Gather", ["v", "l"], ["t"], axis=0),
                   node("Add", ["t", "half"], ["u"]), node("Unsqueeze", ["u", "first"], ["k"]), by="k"), "row")
    ],
    "fewer rows": [
        loop([GOES_ON, *ROWS, node("Add", ["v", "c"], ["k"]), node("Slice", ["k", "second", "far"], ["w"])], "ten")
    ],
    "broadcast": [loop([GOES_ON, *ROWS, node("Add", ["v", "x"], ["k"]), node("Add", ["k", "c"], ["w"])], "row")],
    "attention": [
        loop(grown(node("Transpose", ["v"], ["t"], perm=[1, 0]), node("MatMul", ["v", "t"], ["m"]),
                   node("Softmax", ["m"], ["p"], axis=-1), node("MatMul", ["p", "v"], ["k"]), by="k"), "row")
    ],
    "If in Loop": [
        loop(grown(node("ReduceSum", ["v"], ["sum"], keepdims=0), node("Greater", ["sum", "half"], ["more"]),
                   node("If", ["more"], ["c"], then_branch=THEN, else_branch=ELSE), node("Mul", ["v", "c"], ["m"]),
                   node("Mul", ["m", "tenth"], ["k"]), by="k"), "row")
    ],
    "If on rows in Loop": [
        loop(grown(*ROWS, node("Greater", ["r", "two"], ["more"]),
                   node("If", ["more"], ["k"], then_branch=NEGATED, else_branch=KEPT), by="k", of="k"), "row")
    ],
    "Scan in Loop": [
        loop(grown(node("Scan", ["no_sum", "v"], ["last", "all"], body=SUMS, num_scan_inputs=1),
                   node("Shape", ["all"], ["s"]), node("ReduceProd", ["s"], ["r"], keepdims=0),
                   node("Cast", ["r"], ["c"], to=FLOAT), node("Add", ["last", "c"], ["t"]),
                   node("Unsqueeze", ["t", "first"], ["k"]), by="k"), "row")
    ],
    "Loop in Loop": [loop([GOES_ON, *ROWS[:2], inner_loop("r", "v", "w")], "row")],
    "Loop in Scan": [node("Scan", ["no_sum", "x"], ["y", "z"], body=LOOP_IN_SCAN, num_scan_inputs=1)],
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_as_onnxruntime(name, tmp_path):
    nodes = NETWORKS[name]
    tensors = [onnx.numpy_helper.from_array(np.asarray(value), key) for key, value in TENSORS.items()]
    ends = [info(output, FLOAT, None) for output in nodes[-1].output]
    graph = graph_of(nodes, "growing", [info("x", FLOAT, [2, 3]), info("n", WHOLE, [])], ends, tensors)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "growing.onnx")
    settings = ort.SessionOptions()
    settings.log_severity_level = 4
    engine = ort.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    network = hs.load(tmp_path / "growing.onnx")
    hs.export(network, tmp_path / "again.onnx")
    again = ort.InferenceSession(str(tmp_path / "again.onnx"), settings, providers=["CPUExecutionProvider"])
    for count in (0, 1, 2, 5):
        inputs = {"x": np.random.default_rng(count).standard_normal((2, 3)).astype(np.float32), "n": np.array(count)}
        results = network(**inputs)
        for output, expected in zip(nodes[-1].output, engine.run(None, inputs)):
            found = results[output] if len(nodes[-1].output) > 1 else results
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
        for expected, found in zip(engine.run(None, inputs), again.run(None, inputs)):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
