"""Image networks with random weights as ONNX files, BatchNorm folded as exporters do: for the benchmarks beside other engines."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Network:
    """An ONNX graph under construction; values are names."""

    def __init__(self, side):
        self.side, self.nodes, self.weights, self.rng = side, [], [], np.random.default_rng(0)

    def op(self, kind, *inputs, **attributes):
        self.nodes.append(helper.make_node(kind, list(inputs), [f"v{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def weight(self, array):
        self.weights.append(numpy_helper.from_array(np.asarray(array, np.float32), f"w{len(self.weights)}"))
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
        ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", *dims]) for name, dims in (("x", [3, self.side, self.side]), ("y", [outputs]))]
        graph = helper.make_graph(self.nodes, path.stem, ends[:1], ends[1:], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


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


CASES = [(resnet20, 1, 32), (resnet20, 128, 32), (resnet18, 1, 224), (resnet18, 8, 224), (mobilenet_v2, 1, 224), (mobilenet_v2, 8, 224)]  # and batch, side
