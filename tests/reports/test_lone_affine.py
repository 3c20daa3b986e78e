"""Per-channel sums and products, and batch norms, without a layer in front: they have codes, and lose no accuracy by
them."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import sqnr


class Network:
    """Builds an ONNX network node by node."""

    def __init__(self, shape, seed=0):
        self.rng = np.random.default_rng(seed)
        self.shape, self.nodes, self.tensors = shape, [], []

    def tensor(self, values):
        name = f"t{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(np.asarray(values, np.float32), name))
        return name

    def add(self, kind, *inputs, **attributes):
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def conv(self, x, inputs, outputs, kernel=1):
        weight = self.rng.normal(0, np.sqrt(2 / (inputs * kernel * kernel)), (outputs, inputs, kernel, kernel))
        return self.add("Conv", x, self.tensor(weight), pads=[kernel // 2] * 4)

    def linear(self, x, inputs, outputs):
        return self.add("MatMul", x, self.tensor(self.rng.normal(0, np.sqrt(2 / inputs), (inputs, outputs))))

    def norm(self, x, channels, spread=0.5):
        """Statistics whose deviations spread by a factor of e^spread."""
        rng = self.rng
        numbers = (rng.normal(1, 0.2, channels), rng.normal(0, 0.3, channels), rng.normal(0, 0.5, channels))
        variance = np.exp(rng.normal(0, spread, channels)) ** 2
        return self.add("BatchNormalization", x, *map(self.tensor, (*numbers, variance)), epsilon=1e-5)

    def save(self, path, output, samples=64):
        value = helper.make_tensor_value_info
        x = value("x", TensorProto.FLOAT, ["n", *self.shape])
        graph = helper.make_graph(self.nodes, "g", [x], [helper.make_empty_tensor_value_info(output)], self.tensors)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        np.savez(path.with_suffix(".npz"), x=self.rng.normal(0, 1, (samples, *self.shape)).astype(np.float32))
        return path, path.with_suffix(".npz")


def dense_net(path, growth=8, blocks=(3, 3)):
    """Dense blocks of batch norm, ReLU, 1x1 and 3x3 convolutions, then transitions, and a batch norm at the end."""
    net = Network((3, 16, 16))
    channels = 2 * growth
    x = net.conv("x", 3, channels, 3)
    for block, layers in enumerate(blocks):
        for _ in range(layers):
            inner = net.conv(net.add("Relu", net.norm(x, channels)), channels, 4 * growth)
            inner = net.conv(net.add("Relu", net.norm(inner, 4 * growth)), 4 * growth, growth, 3)
            x = net.add("Concat", x, inner, axis=1)
            channels += growth
        x = net.add("Relu", net.norm(x, channels))
        if block + 1 < len(blocks):
            x = net.add("AveragePool", net.conv(x, channels, channels // 2), kernel_shape=[2, 2], strides=[2, 2])
            channels //= 2
    x = net.add("Flatten", net.add("GlobalAveragePool", x))
    return net.save(path, net.linear(x, channels, 10))


def preactivation(path):
    """Residual blocks that begin with batch norm and ReLU. The sum is read twice."""
    net = Network((3, 16, 16), seed=1)
    x = net.conv("x", 3, 16, 3)
    for _ in range(3):
        inner = net.conv(net.add("Relu", net.norm(x, 16)), 16, 16, 3)
        inner = net.conv(net.add("Relu", net.norm(inner, 16)), 16, 16, 3)
        x = net.add("Add", x, inner)
    x = net.add("GlobalAveragePool", net.add("Relu", net.norm(x, 16)))
    return net.save(path, net.linear(net.add("Flatten", x), 16, 5))


def at_the_input(path):
    """Batch norm, then division and difference by C numbers, in front of the first layer."""
    net = Network((3, 12, 12), seed=2)
    x = net.add("Sub", net.norm("x", 3), net.tensor([[[0.4]], [[0.5]], [[0.6]]]))
    x = net.add("Div", x, net.tensor([[[[0.2]], [[0.3]], [[0.25]]]]))
    return net.save(path, net.conv(net.add("Relu", net.conv(x, 3, 8, 3)), 8, 4))


def rows(path):
    """[n, f]: behind a ReLU, and twice behind one value."""
    net = Network((12,), seed=3)
    x = net.add("Relu", net.linear("x", 12, 24))
    x = net.linear(net.norm(x, 24), 24, 24)
    both = net.add("Concat", net.norm(x, 24), net.add("Mul", x, net.tensor(net.rng.normal(1, 0.3, 24))), axis=1)
    return net.save(path, net.linear(both, 48, 4))


def sequences(path):
    """[n, t, f]: by channel on the last axis, and as a batch norm between transposes."""
    net = Network((7, 12), seed=4)
    x = net.add("Relu", net.linear("x", 12, 16))
    x = net.add("Add", net.add("Mul", x, net.tensor(net.rng.normal(1, 0.3, 16))), net.tensor(net.rng.normal(0, 0.3, 16)))
    x = net.add("Relu", net.linear(x, 16, 16))
    x = net.add("Transpose", net.norm(net.add("Transpose", x, perm=[0, 2, 1]), 16), perm=[0, 2, 1])
    return net.save(path, net.linear(x, 16, 5))


def turned(path):
    """A factor behind a ReLU, and its term behind a transpose."""
    net = Network((3, 8, 8), seed=5)
    x = net.add("Relu", net.conv("x", 3, 8, 3))
    x = net.add("Mul", net.tensor(net.rng.normal(1, 0.3, (1, 8, 1, 1))), x)
    x = net.add("Add", net.add("Transpose", x, perm=[0, 2, 3, 1]), net.tensor(net.rng.normal(0, 0.3, 8)))
    return net.save(path, net.conv(net.add("Transpose", x, perm=[0, 3, 1, 2]), 8, 4))


NETWORKS = {
    "dense_net": dense_net,
    "preactivation": preactivation,
    "at_the_input": at_the_input,
    "rows": rows,
    "sequences": sequences,
    "turned": turned,
}
CHANNEL_SCALES = ["generic_int8", "onnxruntime_int8", "pytorch_x86"]
TENSOR_SCALES = ["pow2_int8", "signed_pow2_int8"]


def decibels(bench, deployed, network, samples):
    (found,), (expected,) = (bench.outputs(which, samples).values() for which in (deployed.integer, network))
    return sqnr(found, expected)


# A5.5
@pytest.mark.parametrize("platform", CHANNEL_SCALES + TENSOR_SCALES)
@pytest.mark.parametrize("name", NETWORKS)
def test_nothing_stays_in_float(bench, tmp_path, name, platform):
    if (name, platform) == ("sequences", "pytorch_x86"):
        pytest.skip("the platform has no ReLU behind a reshape")
    network, samples = NETWORKS[name](tmp_path / "n.onnx")
    deployed = bench.deploy(network, samples, "--platform", platform)
    assert deployed.converted["float"] == []
    assert deployed.differing == 0


# The chains by the names of their last operators.
CHAINS = {
    "dense_net": ["batchnormalization*"],
    "preactivation": ["batchnormalization*"],
    "at_the_input": ["div*"],
    "rows": ["batchnormalization*", "mul*"],
    "sequences": ["add*", "batchnormalization*"],
    "turned": ["add*"],
}


# A5.5
@pytest.mark.parametrize("name", NETWORKS)
def test_codes_cost_no_more_than_one_rounding(bench, tmp_path, name):
    """Compared with the same network whose chains stay in float, which then has fewer roundings."""
    network, samples = NETWORKS[name](tmp_path / "n.onnx")
    found = decibels(bench, bench.deploy(network, samples), network, samples)
    words = [word for pattern in CHAINS[name] for word in ("--skip-layers", pattern)]
    in_float = decibels(bench, bench.deploy(network, samples, *words, fallbacks=True), network, samples)
    print(f"{name}: {found:.1f} dB, with its chains in float {in_float:.1f} dB")
    assert found >= in_float - 1.0


@pytest.mark.parametrize("name", NETWORKS)
def test_c_gives_the_same_codes(bench, tmp_path, name):
    network, samples = NETWORKS[name](tmp_path / "n.onnx")
    deployed = bench.deploy(network, samples)
    bench.run("verify", deployed.prepared, deployed.integer, "--data", samples, "--backend", "c")


@pytest.mark.parametrize("form", ["folded", "frozen", "live"])
def test_it_trains(bench, tmp_path, form):
    network, samples = preactivation(tmp_path / "n.onnx")
    bench.run("quantize", network, "--data", samples, "--batch-norm", form, "--out", "p.safetensors")
    bench.run("train", "p.safetensors", "--data", samples, "--epochs", "1", "--out", "run")
    bench.run("convert", "run/model.safetensors", "--out", "i.safetensors")
    bench.run("verify", "run/model.safetensors", "i.safetensors", "--data", samples)


# A5.5
def test_it_is_neither_first_nor_last_layer(bench, tmp_path):
    """With 4 bits inside and 8 at the ends: the first convolution has 8 bits, the norm in front of it has 4."""
    network, samples = at_the_input(tmp_path / "n.onnx")
    deployed = bench.deploy(network, samples, "--weight-bits", "4", "--activation-bits", "4", "--first-last-bits", "8")
    bits = {entry["layer"]: entry["bits"] for entry in deployed.quantized["quantizers"] if entry["kind"] == "weight"}
    assert bits.pop("div2") == 4
    assert list(bits.values()) == [8, 8]


def test_its_name_means_all_of_it(bench, tmp_path):
    """--skip-layers NAME keeps reshapes and convolution in float."""
    network, samples = rows(tmp_path / "n.onnx")
    names = [node.name for node in onnx.load(network).graph.node if node.op_type == "BatchNormalization"]
    deployed = bench.deploy(network, samples, "--skip-layers", names[0], fallbacks=True)
    assert len(deployed.converted["float"]) == 3


def test_mqbench_platforms_keep_their_quantizers(bench, tmp_path):
    network, samples = dense_net(tmp_path / "n.onnx")
    bench.run("quantize", network, "--data", samples, "--platform", "tensorrt", "--out", "p.safetensors", "--json")
    assert "batch_norm" in bench.run("inspect", "p.safetensors").out


def test_reported_network(bench, shared):
    network, samples = (shared / f"reports/layer_tail/c53_f32norm{suffix}" for suffix in (".onnx", ".npz"))
    deployed = bench.deploy(network, samples)
    assert deployed.converted["float"] == []
    assert deployed.differing == 0
