#!/usr/bin/env python3
"""Time a ResNet-20 for CIFAR-10 in C and LiteRT's reference and optimized kernels, on one thread, in the same run.

usage: bench/litert_speed.py PREPARED [--program P] [--runs N] [--size N]

PREPARED: that network as a prepared Model that keeps samples. The file for LiteRT has the same layers and extents with
random weights (int8, a scale for each channel), because the time does not depend on them. --size: pixels of a side.
"""
import argparse
import pathlib
import statistics
import tempfile
import time

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from c_speed import run, timer

COMPILER = "gcc -O3 -march=native"
KERNELS = {"LiteRT, reference": OpResolverType.BUILTIN_REF, "LiteRT, optimized": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES}


class Builder:
    """A network of one subgraph, layer by layer. Values are indices of tensors."""

    def __init__(self):
        self.random = np.random.default_rng(0)
        self.model, self.graph = schema.ModelT(), schema.SubGraphT()
        self.model.version, self.model.subgraphs, self.model.operatorCodes = 3, [self.graph], []
        self.model.buffers = [schema.BufferT()]
        self.graph.tensors, self.graph.operators = [], []

    def tensor(self, shape, kind=schema.TensorType.INT8, scales=(0.05,), contents=None):
        tensor = schema.TensorT()
        tensor.name, tensor.shape, tensor.type, tensor.buffer = f"t{len(self.graph.tensors)}", list(shape), kind, 0
        tensor.quantization = schema.QuantizationParametersT()
        tensor.quantization.scale, tensor.quantization.zeroPoint = list(scales), [0] * len(scales)
        if contents is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(contents.tobytes(), np.uint8)
            tensor.buffer = len(self.model.buffers)
            self.model.buffers.append(buffer)
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1

    def operator(self, code, options, inputs, shape, version=1):
        known = [(each.builtinCode, each.version) for each in self.model.operatorCodes]
        if (code, version) not in known:
            entry = schema.OperatorCodeT()
            entry.builtinCode = entry.deprecatedBuiltinCode = code
            entry.version = version
            self.model.operatorCodes.append(entry)
            known.append((code, version))
        operator = schema.OperatorT()
        operator.opcodeIndex, operator.inputs = known.index((code, version)), list(inputs)
        if options is not None:
            operator.builtinOptions = options
            operator.builtinOptionsType = getattr(schema.BuiltinOptions, type(options).__name__[:-1])
        operator.outputs = [self.tensor(shape)]
        self.graph.operators.append(operator)
        return operator.outputs[0]

    def layer(self, code, options, x, shape, w_shape, version):
        outputs = w_shape[0]
        w = self.tensor(w_shape, scales=[0.01] * outputs, contents=self.random.integers(-127, 128, w_shape, np.int8))
        bias = self.tensor([outputs], schema.TensorType.INT32, [0.0005] * outputs, self.random.integers(-1000, 1000, outputs, np.int32))
        return self.operator(code, options, [x, w, bias], shape, version)

    def conv(self, x, size, channels, outputs, stride, relu):
        options = schema.Conv2DOptionsT()
        options.padding, options.strideH, options.strideW = schema.Padding.SAME, stride, stride
        options.dilationHFactor = options.dilationWFactor = 1
        options.fusedActivationFunction = schema.ActivationFunctionType.RELU if relu else schema.ActivationFunctionType.NONE
        return self.layer(schema.BuiltinOperator.CONV_2D, options, x, [1, size // stride, size // stride, outputs], [outputs, 3, 3, channels], 3)

    def sum(self, a, b, shape):
        options = schema.AddOptionsT()
        options.fusedActivationFunction = schema.ActivationFunctionType.RELU
        return self.operator(schema.BuiltinOperator.ADD, options, [a, b], shape, 2)

    def shortcut(self, x, size, channels):
        """Take every second pixel, and add as many channels of zeros."""
        def whole(values):
            values = np.array(values, np.int32)
            return self.tensor(values.shape, schema.TensorType.INT32, (), values)

        half = size // 2
        options = schema.StridedSliceOptionsT()
        picked = self.operator(schema.BuiltinOperator.STRIDED_SLICE, options, [x, whole([0, 0, 0, 0]), whole([1, size, size, channels]), whole([1, 2, 2, 1])], [1, half, half, channels], 2)
        around = whole([[0, 0], [0, 0], [0, 0], [channels // 2, channels // 2]])
        return self.operator(schema.BuiltinOperator.PAD, schema.PadOptionsT(), [picked, around], [1, half, half, 2 * channels], 2)

    def bytes(self, x, y):
        self.graph.inputs, self.graph.outputs = [x], [y]
        builder = flatbuffers.Builder(1 << 20)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def resnet20(size):
    net = Builder()
    x = net.tensor([1, size, size, 3])
    y, channels = net.conv(x, size, 3, 16, 1, relu=True), 16
    for block in range(9):
        stride = 2 if block in (3, 6) else 1
        outputs = channels * stride
        through = net.conv(y, size, channels, outputs, stride, relu=True)
        size //= stride
        through = net.conv(through, size, outputs, outputs, 1, relu=False)
        y = net.sum(net.shortcut(y, 2 * size, channels) if stride == 2 else y, through, [1, size, size, outputs])
        channels = outputs
    axes = net.tensor([2], schema.TensorType.INT32, (), np.array([1, 2], np.int32))
    mean = net.operator(schema.BuiltinOperator.MEAN, schema.ReducerOptionsT(), [y, axes], [1, channels], 2)
    return net.bytes(x, net.layer(schema.BuiltinOperator.FULLY_CONNECTED, schema.FullyConnectedOptionsT(), mean, [1, 10], [10, channels], 4))


def milliseconds(model, kernels, runs):
    interpreter = Interpreter(model_content=model, experimental_op_resolver_type=kernels, num_threads=1)
    interpreter.allocate_tensors()
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        interpreter.invoke()
        times.append((time.perf_counter() - begin) * 1e3)
    return min(times), statistics.median(times)


def in_c(program, prepared, folder, runs):
    run(program, "export", prepared, "--format", "c", "--name", "net", "--out", folder, "--overwrite")
    (folder / "timer.c").write_text(timer((folder / "net.h").read_text(), runs))
    run(*COMPILER.split(), "-std=c99", f"-I{folder}", "-o", folder / "timer", folder / "timer.c", folder / "net.c")
    return float(run(folder / "timer"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prepared")
    parser.add_argument("--program", default="build/release/halfstep")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--size", type=int, default=32)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        ours = in_c(options.program, options.prepared, pathlib.Path(name), options.runs)
    print(f"{COMPILER}: {ours:.3f} ms")
    model = resnet20(options.size)
    for kernels, resolver in KERNELS.items():
        fastest, median = milliseconds(model, resolver, options.runs)
        print(f"{kernels}: {fastest:.3f} ms, median {median:.3f}: {fastest / ours:.1f} times as long as the C")


if __name__ == "__main__":
    main()
