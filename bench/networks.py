"""Networks with random weights as ONNX files, in the form of exporters, for benchmarks with other engines."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Network:
    """An ONNX graph under construction. Values are names."""

    def __init__(self, side):
        self.side, self.nodes, self.weights, self.rng = side, [], [], np.random.default_rng(0)

    def op(self, kind, *inputs, **attributes):
        self.nodes.append(helper.make_node(kind, list(inputs), [f"v{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def weight(self, array):
        self.weights.append(numpy_helper.from_array(np.asarray(array, np.float32), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def whole(self, *numbers):
        self.weights.append(numpy_helper.from_array(np.asarray(numbers, np.int64), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def conv(self, x, inputs, outputs, kernel, stride=1, groups=1):
        fan = inputs // groups * kernel * kernel
        w = self.weight(self.rng.standard_normal((outputs, inputs // groups, kernel, kernel)) * (2 / fan) ** 0.5)
        b = self.weight(self.rng.standard_normal(outputs) * 0.1)
        return self.op("Conv", x, w, b, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4, group=groups)

    def block(self, x, inputs, outputs, stride):
        y = self.op("Relu", self.conv(x, inputs, outputs, 3, stride))
        y = self.conv(y, outputs, outputs, 3)
        shortcut = x if stride == 1 and inputs == outputs else self.conv(x, inputs, outputs, 1, stride)
        return self.op("Relu", self.op("Add", y, shortcut))

    def stages(self, x, widths, blocks):
        inputs = widths[0]
        for stage, outputs in enumerate(widths):
            for number in range(blocks):
                x = self.block(x, inputs, outputs, 2 if stage > 0 and number == 0 else 1)
                inputs = outputs
        return x

    def save(self, x, inputs, outputs, path):
        flat = self.op("Flatten", self.op("GlobalAveragePool", x))
        w, b = self.rng.standard_normal((outputs, inputs)) / inputs**0.5, self.rng.standard_normal(outputs) * 0.1
        self.op("Gemm", flat, self.weight(w), self.weight(b), transB=1)
        self.nodes[-1].output[0] = "y"
        self.write(path, [value("x", [3, self.side, self.side])], value("y", [outputs]), 13)

    def write(self, path, inputs, output, opset):
        graph = helper.make_graph(self.nodes, path.stem, inputs, [output], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)


def value(name, dims, dtype=TensorProto.FLOAT):
    """Return an input or output with a dynamic batch."""
    return helper.make_tensor_value_info(name, dtype, ["n", *dims])


def resnet20(path):
    net = Network(32)
    x = net.op("Relu", net.conv("x", 3, 16, 3))
    net.save(net.stages(x, [16, 32, 64], 3), 64, 10, path)


def resnet18(path):
    net = Network(224)
    x = net.op("Relu", net.conv("x", 3, 64, 7, 2))
    x = net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    net.save(net.stages(x, [64, 128, 256, 512], 2), 512, 1000, path)


def mobilenet_v2(path):
    net = Network(224)
    bounds = net.weight(0), net.weight(6)

    def unit(x, inputs, outputs, kernel, stride=1, groups=1):
        return net.op("Clip", net.conv(x, inputs, outputs, kernel, stride, groups), *bounds)

    x, inputs = unit("x", 3, 32, 3, 2), 32
    for factor, outputs, count, first in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for stride in [first] + [1] * (count - 1):
            wide = inputs * factor
            y = unit(x, inputs, wide, 1) if factor > 1 else x
            y = net.conv(unit(y, wide, wide, 3, stride, wide), wide, outputs, 1)
            x = net.op("Add", x, y) if stride == 1 and inputs == outputs else y
            inputs = outputs
    net.save(unit(x, 320, 1280, 1), 1280, 1000, path)


class Encoder(Network):
    """A BERT."""

    def __init__(self, width, heads, tokens):
        super().__init__(side=None)
        self.width, self.heads, self.tokens = width, heads, tokens

    def linear(self, x, inputs, outputs):
        product = self.op("MatMul", x, self.weight(self.rng.standard_normal((inputs, outputs)) / inputs**0.5))
        return self.op("Add", product, self.weight(self.rng.standard_normal(outputs) * 0.1))

    def norm(self, x):
        scale, bias = self.rng.uniform(0.5, 1.5, self.width), self.rng.standard_normal(self.width) * 0.1
        return self.op("LayerNormalization", x, self.weight(scale), self.weight(bias), axis=-1, epsilon=1e-12)

    def by_head(self, x, perm):
        split = self.op("Reshape", self.linear(x, self.width, self.width), self.whole(0, self.tokens, self.heads, -1))
        return self.op("Transpose", split, perm=perm)

    def block(self, x, mask):
        q, k, v = (self.by_head(x, perm) for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = self.op("Div", self.op("MatMul", q, k), self.weight((self.width / self.heads) ** 0.5))
        seen = self.op("MatMul", self.op("Softmax", self.op("Add", scores, mask), axis=-1), v)
        rows = self.op("Reshape", self.op("Transpose", seen, perm=[0, 2, 1, 3]), self.whole(0, self.tokens, self.width))
        x = self.norm(self.op("Add", self.linear(rows, self.width, self.width), x))
        wide = self.linear(x, self.width, 4 * self.width)
        bent = self.op("Add", self.op("Erf", self.op("Div", wide, self.weight(2**0.5))), self.weight(1))
        bent = self.op("Mul", self.op("Mul", wide, bent), self.weight(0.5))
        return self.norm(self.op("Add", self.linear(bent, 4 * self.width, self.width), x))


def bert(path, layers=2, width=256, heads=4, tokens=128, words=1000):
    """Write a BERT. Inputs are ids and a mask of 1 and 0. The output is a row for each token."""
    net = Encoder(width, heads, tokens)
    places = net.weight(net.rng.standard_normal((1, tokens, width)))
    x = net.norm(net.op("Add", net.op("Gather", net.weight(net.rng.standard_normal((words, width))), "ids"), places))
    mask = net.op("Unsqueeze", net.op("Cast", "mask", to=TensorProto.FLOAT), net.whole(1, 2))
    mask = net.op("Mul", net.op("Sub", net.weight(1), mask), net.weight(-10000))
    for _ in range(layers):
        x = net.block(x, mask)
    net.nodes[-1].output[0] = "y"
    net.write(path, [value(name, [tokens], TensorProto.INT64) for name in ("ids", "mask")], value("y", [tokens, width]), 17)


CASES = [(resnet20, 1, 32), (resnet20, 128, 32), (resnet18, 1, 224), (resnet18, 8, 224), (mobilenet_v2, 1, 224), (mobilenet_v2, 8, 224)]  # batch, side
