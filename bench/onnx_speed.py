#!/usr/bin/env python3
"""Float inference of image networks beside onnxruntime and OpenVINO, in one run.

usage: bench/onnx_speed.py [--program build/release/halfstep] [--threads 2] [--rounds 5] [--only TEXT] [--models FOLDER]

Writes ResNet-20, ResNet-18 and MobileNetV2 with random weights as ONNX files, BatchNorm folded as exporters do, and times runs of an opened network:
medians over rounds in which the engines take turns. A ratio above 1 says how many times longer the engine takes than Halfstep. Needs onnx, numpy,
safetensors and onnxruntime; OpenVINO where it is installed. With --models the files stay there. Exits with 1 when outputs disagree.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file, save_file

try:
    import openvino
except ImportError:
    openvino = None


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


class Halfstep:
    name = "halfstep"

    def __init__(self, given, path, x, folder):
        self.inputs, self.outputs = folder / "x.safetensors", folder / "y.safetensors"
        save_file({"x": x}, self.inputs)
        self.command = [given.program, "run", str(path), "--inputs", str(self.inputs), "--outputs", str(self.outputs), "--json", "--threads", str(given.threads)]

    def times(self, runs):
        done = subprocess.run([*self.command, "--repeat", str(runs + 5)], check=True, capture_output=True, text=True, timeout=600)
        return json.loads(done.stdout)["milliseconds"][5:]

    def output(self):
        return load_file(self.outputs)["y"]


class Peer:
    """An engine in this process: `call` runs it once and gives its output."""

    def times(self, runs):
        times = []
        for _ in range(runs + 5):
            start = time.perf_counter()
            self.y = self.call()
            times.append((time.perf_counter() - start) * 1e3)
        return times[5:]

    def output(self):
        return self.y


class OnnxRuntime(Peer):
    name = "onnxruntime"

    def __init__(self, given, path, x, folder):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = given.threads
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.call = lambda: session.run(None, {"x": x})[0]


class OpenVino(Peer):
    name = "openvino"

    def __init__(self, given, path, x, folder):
        network = openvino.Core().read_model(path)
        network.reshape(list(x.shape))
        settings = {"INFERENCE_NUM_THREADS": given.threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
        request = openvino.compile_model(network, "CPU", settings).create_infer_request()
        self.call = lambda: request.infer([x], share_inputs=True, share_outputs=True)[0]


def measure(given, make, batch, side, folder):
    path = folder / f"{make.__name__}.onnx"
    if not path.exists():
        make(path)
    x = np.random.default_rng(1).standard_normal((batch, 3, side, side)).astype(np.float32)
    engines = [engine(given, path, x, folder) for engine in (Halfstep, OnnxRuntime, *([OpenVino] if openvino else []))]
    times = {engine.name: [] for engine in engines}
    for _ in range(given.rounds):
        for engine in engines:
            time.sleep(0.05)  # until the threads of the one before no longer spin
            times[engine.name] += engine.times(given.runs if batch == 1 else max(3, given.runs // 10))
    medians = {name: statistics.median(values) for name, values in times.items()}
    own, peer = engines[0].output(), engines[1].output()
    gap = float(np.abs(own - peer).max() / np.abs(peer).max())
    ratios = "".join(f"{medians[engine.name]:12.3f}{medians[engine.name] / medians['halfstep']:7.2f}" for engine in engines[1:])
    print(f"{make.__name__:<14}{batch:6}{medians['halfstep']:12.3f}{ratios}{gap:12.1e}", flush=True)
    return gap < 1e-4


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/halfstep")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=40, help="in a round at batch 1; a tenth of them at others")
    parser.add_argument("--only", default="", help="networks whose names hold this text")
    parser.add_argument("--models", type=pathlib.Path, help="folder for the files")
    given = parser.parse_args()
    cases = [(resnet20, 1, 32), (resnet20, 128, 32), (resnet18, 1, 224), (resnet18, 8, 224), (mobilenet_v2, 1, 224), (mobilenet_v2, 8, 224)]
    print(f"milliseconds with {given.threads} threads, and how many times Halfstep's")
    print(f"{'network':<14}{'batch':>6}{'halfstep':>12}{'onnxruntime':>12}{'':7}" + (f"{'openvino':>12}{'':7}" if openvino else "") + f"{'difference':>12}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.models or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        right = [measure(given, *case, folder) for case in cases if given.only in case[0].__name__]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
