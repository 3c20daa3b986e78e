"""Networks with dynamic batch and length. They are quantized on samples of one length and correct at any other."""

import numpy as np
import pytest

import halfstep as hs

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")
WORDS, LONGEST, WIDE, HEADS = 50, 40, 16, 2


class Net:
    """Nodes and tensors of an ONNX file."""

    def __init__(self):
        self.nodes, self.tensors, self.rng = [], [], np.random.default_rng(3)

    def number(self, values):
        name = f"t{len(self.tensors)}"
        self.tensors.append(onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def weights(self, *dims):
        return self.number((self.rng.standard_normal(dims) / np.sqrt(dims[0])).astype(np.float32))

    def __call__(self, op, *inputs, name="", **attributes):
        name = name or f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(onnx.helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def file(self, inputs, outputs):
        ports = [onnx.helper.make_tensor_value_info(*port) for port in inputs]
        ends = [onnx.helper.make_tensor_value_info(end, onnx.TensorProto.FLOAT, None) for end in outputs]
        graph = onnx.helper.make_graph(self.nodes, "net", ports, ends, self.tensors)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
        model.ir_version = 8
        return model.SerializeToString()


def extents(net, x):
    shape = net("Shape", x)
    return [net("Gather", shape, net.number(i)) for i in (0, 1)]


def listed(net, *parts):
    whole = [net("Unsqueeze", p, net.number([0])) if isinstance(p, str) else net.number([p]) for p in parts]
    return net("Concat", *whole, axis=0)


def rows(net, x, weights, n, l):
    """Multiply the rows of all samples, in the form of exporters: [n * l, wide] and back."""
    wide = int(np.prod(net.tensors[int(weights[1:])].dims[1]))
    flat = net("Reshape", x, net.number([-1, WIDE]))
    return net("Reshape", net("Gemm", flat, weights), listed(net, n, l, wide))


def decoder():
    """Return a decoder with ids, positions, a causal mask and one of ids, attention, a difference and a norm."""
    net = Net()
    n, l = extents(net, "ids")
    places = net("Range", net.number(0), l, net.number(1))
    x = net("Add", net("Gather", net.weights(WORDS, WIDE), "ids"), net("Gather", net.weights(LONGEST, WIDE), places))
    heads = [
        net("Transpose", net("Reshape", rows(net, x, net.weights(WIDE, WIDE), n, l), listed(net, n, l, HEADS, -1)), perm=perm)
        for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
    ]  # fmt: skip
    scores = net("Div", net("MatMul", heads[0], heads[1]), net.number(np.float32(2.5)))
    seen = net("Unsqueeze", net("Cast", "mask", to=onnx.TensorProto.FLOAT), net.number([1, 2]))
    hidden = net("Mul", net("Sub", net.number(np.float32(1)), seen), net.number(np.float32(-10000)))
    row, column = (net("Unsqueeze", places, net.number([axis])) for axis in (0, 1))
    seen = net("Where", net("LessOrEqual", row, column), net("Add", scores, hidden), net.number(np.float32(-np.inf)))
    mixed = net("MatMul", net("Softmax", seen, axis=-1), heads[2])
    mixed = net("Reshape", net("Transpose", mixed, perm=[0, 2, 1, 3]), listed(net, n, l, WIDE))
    apart = net("Sub", x, rows(net, mixed, net.weights(WIDE, WIDE), n, l))
    normal = net("LayerNormalization", apart, net.number(np.ones(WIDE, np.float32)), net.number(np.zeros(WIDE, np.float32)))
    rows_out = rows(net, normal, net.weights(WIDE, 7), n, l)
    ids = [("ids", onnx.TensorProto.INT64, ["n", "l"]), ("mask", onnx.TensorProto.INT64, ["n", "l"])]
    return net.file(ids, [rows_out])


def sentences(count, length, seed=0):
    rng = np.random.default_rng(seed)
    mask = (np.arange(length) < rng.integers(1, length + 1, (count, 1))).astype(np.int64)
    return {"ids": rng.integers(0, WORDS, (count, length)), "mask": mask}


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    path = tmp_path_factory.mktemp("net") / "decoder.onnx"
    path.write_bytes(decoder())
    return path


@pytest.fixture(scope="module")
def prepared(network):
    return hs.quantize(hs.load(network), data=sentences(32, 12))


@pytest.mark.parametrize("count, length", [(1, 1), (2, 1), (3, 12), (1, 40), (5, 7)])
def test_floats_are_those_of_onnxruntime_at_any_length(network, count, length):
    inputs = sentences(count, length)
    (expected,) = ort.InferenceSession(str(network), providers=["CPUExecutionProvider"]).run(None, inputs)
    net = hs.load(network)
    found = net(**inputs)
    found = np.asarray(found if not isinstance(found, dict) else next(iter(found.values())))
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("count, length", [(4, 1), (6, 12), (3, 40), (8, 5)])
def test_integers_are_verified_at_any_length(prepared, count, length):
    program = hs.convert(prepared, float_fallback=True)
    proof = hs.verify(prepared, program, sentences(count, length, seed=4), semantics="all")
    assert proof.equal, str(proof)


def test_integers_are_near_the_floats_at_other_lengths(network, prepared):
    inputs = sentences(16, 23, seed=9)
    (expected,) = ort.InferenceSession(str(network), providers=["CPUExecutionProvider"]).run(None, inputs)
    program = hs.convert(prepared, float_fallback=True)
    found = program(**inputs)
    found = np.asarray(found if not isinstance(found, dict) else next(iter(found.values())))
    assert np.mean(np.square(found - expected)) < 0.01 * np.mean(np.square(expected))


def test_only_masks_of_ids_stay_in_float(prepared):
    assert {layer["operator"] for layer in prepared.report.in_float} <= {"cast", "sub", "mul", "unsqueeze"}


def test_training_goes_on_at_another_length(prepared):
    longer = hs.train(prepared.copy(), sentences(32, 9, seed=5), epochs=1, batch=8)
    assert longer is not None


def test_programs_in_c_take_ids_and_masks(prepared):
    program = hs.convert(prepared, float_fallback=True)
    flags = "cc -O1 -std=c99 -Wall -Wextra -Wconversion -pedantic -Werror -fsanitize=undefined -fsanitize-undefined-trap-on-error"
    for length in (1, 9):
        proof = hs.verify(prepared, program, sentences(4, length), backend="c", compiler=flags)
        assert proof.equal, str(proof)
