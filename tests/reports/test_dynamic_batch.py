"""Dynamic dimensions of a file stay dynamic. Where one cannot, the report names the operator and the fixed dimension.
"""

import numpy as np
import pytest

from conftest import sqnr

onnx = pytest.importorskip("onnx")


def arrays(network, shapes, seed=1):
    """Random values for the float inputs of a file."""
    rng = np.random.default_rng(seed)
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def check_extents(bench, network, samples, others, least_db, *options, fallbacks=True):
    """The integer program, deployed on some samples, runs at other extents and is as near to the float network there.
    """
    deployed = bench.deploy(network, samples, *options, fallbacks=fallbacks)
    assert deployed.differing == 0
    assert deployed.verified["whole_network"]["holds"]
    assert not any("fixed extents" in note for note in deployed.quantized["notes"])
    for number, inputs in enumerate(others):
        file = bench.folder / f"others{number}.npz"
        np.savez(file, **inputs)
        expected, found = bench.outputs(network, file), bench.outputs(deployed.integer, file)
        for name, value in expected.items():
            assert found[name].shape == value.shape
            assert sqnr(found[name], value) > least_db, (name, value.shape)
    return deployed


def test_size_of_the_input(bench, shared):
    case = shared / "reports" / "resize_closes_batch"
    others = [arrays(case, {"x": shape}) for shape in [(1, 3, 16, 16), (5, 3, 16, 16), (33, 3, 16, 16)]]
    check_extents(bench, case / "c47_batch_only.onnx", case / "c47_batch_only.npz", others, 25)


def test_size_of_two_numbers(bench, shared):
    case = shared / "hunt" / "resize_fixes_batch"
    others = [arrays(case, {"x": (batch, 3, 8, 8)}) for batch in (1, 3, 40)]
    check_extents(bench, case / "m.onnx", case / "rb.npz", others, 25)


class Network:
    """An ONNX file: x [n, 3, h, w] -> conv -> h, the operators of `add`, conv -> y."""

    def __init__(self, path, stride=1):
        self.path, self.nodes, self.constants = path, [], {}
        rng = np.random.default_rng(0)
        self.constants["w"] = (rng.standard_normal((4, 3, 3, 3)) / 5).astype(np.float32)
        self.constants["v"] = (rng.standard_normal((2, 4, 1, 1)) / 2).astype(np.float32)
        self.add("Conv", ["x", "w"], "h", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[stride, stride])

    def add(self, op, inputs, output, **attributes):
        self.nodes.append(onnx.helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def constant(self, name, value):
        self.constants[name] = np.array(value)
        return name

    def extents(self, value, *axes):
        """A list of extents of a value."""
        name = f"{value}_{len(self.nodes)}"
        shape = self.add("Shape", [value], f"{name}_shape")
        return self.add("Gather", [shape, self.constant(f"{name}_axes", list(axes))], f"{name}_extents")

    def save(self, last, opset=17):
        helper, kinds = onnx.helper, onnx.TensorProto
        self.add("Conv", [last, "v"], "y", kernel_shape=[1, 1])
        tensors = [onnx.numpy_helper.from_array(value, name) for name, value in self.constants.items()]
        graph = helper.make_graph(self.nodes, "open", [helper.make_tensor_value_info("x", kinds.FLOAT, ["n", 3, "h", "w"])],
                                  [helper.make_tensor_value_info("y", kinds.FLOAT, None)], tensors)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), self.path)
        return self.path


def resized(network, height_and_width, **attributes):
    sizes = network.add("Concat", [network.extents("h", 0, 1), height_and_width], "sizes", axis=0)
    return network.add("Resize", ["h", "", "", sizes], "resized", **attributes)


def of_the_input(network, mode, **attributes):
    """interpolate(h, size=x.shape[2:]), where a convolution with stride 2 made h smaller, as in a U-Net."""
    return resized(network, network.extents("x", 2, 3), mode=mode, **attributes)


def by_a_float_factor(network):
    """interpolate(h, scale_factor=1.5, recompute_scale_factor=True): floor(float(h) * 1.5)."""
    extents = network.add("Cast", [network.extents("h", 2, 3)], "floats", to=onnx.TensorProto.FLOAT)
    scaled = network.add("Mul", [extents, network.constant("factor", np.float32(1.5))], "scaled")
    return resized(network, network.add("Cast", [network.add("Floor", [scaled], "whole")], "size", to=onnx.TensorProto.INT64),
                   mode="linear", coordinate_transformation_mode="half_pixel")


def by_two(network):
    size = network.add("Mul", [network.extents("h", 2, 3), network.constant("two", [2])], "size")
    return resized(network, size, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")


def repeated(network):
    """A row of numbers, repeated for each sample."""
    times = network.add("Concat", [network.extents("h", 0), network.constant("ones", [1, 1, 1])], "times", axis=0)
    row = network.constant("row", np.linspace(-1, 1, 4, dtype=np.float32).reshape(1, 4, 1, 1))
    return network.add("Add", ["h", network.add("Tile", [row, times], "rows")], "sum")


def halved(network):
    """The first half of the rows, rounded down."""
    half = network.add("Div", [network.extents("h", 2), network.constant("two", [2])], "half")
    return network.add("Slice", ["h", network.constant("zero", [0]), half, network.constant("axis", [2])], "part")


FORMS = {
    "nearest": lambda n: of_the_input(n, "nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
    "linear": lambda n: of_the_input(n, "linear", coordinate_transformation_mode="pytorch_half_pixel"),
    "corners": lambda n: of_the_input(n, "linear", coordinate_transformation_mode="align_corners"),
    "factor": by_a_float_factor, "two": by_two, "tile": repeated, "half": halved,
}


@pytest.mark.parametrize("form", FORMS)
def test_sizes_of_dynamic_dims(bench, form):
    network = Network(bench.folder / "open.onnx", stride=2)
    path = network.save(FORMS[form](network))
    samples = bench.folder / "samples.npz"
    np.savez(samples, **arrays(path, {"x": (32, 3, 10, 14)}))
    others = [arrays(path, {"x": shape}) for shape in [(1, 3, 10, 14), (3, 3, 11, 7), (2, 3, 23, 40)]]
    check_extents(bench, path, samples, others, 20)


def test_float_results_are_those_of_onnxruntime(bench):
    runtime = pytest.importorskip("onnxruntime")
    for form, make in FORMS.items():
        network = Network(bench.folder / f"{form}.onnx", stride=2)
        path = network.save(make(network))
        bench.run("quantize", path, "--data", write(bench, path, (8, 3, 10, 14)), "--out", "q", "--overwrite")
        # the network with dynamic dimensions
        bench.run("export", "q", "--format", "float", "--out", "again.onnx", "--overwrite")
        for shape in [(1, 3, 10, 14), (3, 3, 11, 7), (2, 3, 23, 40)]:
            x = arrays(path, {"x": shape})
            expected = runtime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, x)[0]
            found = runtime.InferenceSession(bench.folder / "again.onnx", providers=["CPUExecutionProvider"]).run(None, x)[0]
            assert sqnr(found, expected) > 100, (form, shape)


def write(bench, path, shape):
    file = bench.folder / "written.npz"
    np.savez(file, **arrays(path, {"x": shape}))
    return file


def test_what_becomes_fixed_is_said(bench):
    network = Network(bench.folder / "cubic.onnx", stride=2)
    path = network.save(of_the_input(network, "cubic"))
    samples = write(bench, path, (8, 3, 10, 14))
    ended = bench.run("quantize", path, "--data", samples, "--out", "prepared", "--json")
    [note] = [note for note in ended.report["notes"] if "fixed extents" in note]
    assert "'x' of float32[n, 3, h, w] is f32[?, 3, 10, 14]" in note and "'resized'" in note and "cubic" in note
    said = bench.run("quantize", path, "--data", samples, "--out", "prepared", "--overwrite").err
    assert "fixed extents" in said
