#!/usr/bin/env python3
"""Compare every layer of an integer program for pytorch_fbgemm or pytorch_x86 with PyTorch's operators on codes.

usage: bench/torch_codes.py MODEL --inputs X.npz [--engine fbgemm] [--batch 64] [--program build/release/halfstep]

MODEL is an output of `halfstep convert`. X.npz has the network's input, samples first. The default engine is that of
the Model.

  alone   PyTorch's operator on the codes that our layer reads, so a difference does not cause others
  whole   PyTorch's own codes from the input on, so differences propagate
  tails   differences of `alone` in the last elements that fill no vector of 64, where PyTorch rounds sums by another
  rule

Operators that only move codes are ours on both sides. Our codes come from the operators of the Python package
(PYTHONPATH=build/release/gen/python). With --program the outputs are also compared with those of `halfstep run`. Exits
with 1 if a code differs that is not in a tail. Needs numpy, safetensors and torch. Without them it prints that and
exits with 0.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
    import safetensors
    import torch

    import halfstep
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(0)

warnings.filterwarnings("ignore")
NODE = re.compile(r"  (\S+) = (\w+)\((.*?)\)(?: \{(.*)\})?(?: at .*)?$")
VECTOR = 64  # number of codes that PyTorch's kernels for a sum process at once


class Node:
    def __init__(self, match):
        self.name, self.op, arguments, attributes = match.groups()
        self.attributes = json.loads("{" + re.sub(r"(\w+): ", r'"\1": ', attributes or "") + "}")
        self.operands = {}
        for key, several, one in re.findall(r"(\w+)=(?:\[(.*?)\]|([^,]+))", arguments):
            self.operands[key] = several.split(", ") if several else one

    def __getitem__(self, key):
        defaults = {"stride": [1, 1], "dilation": [1, 1], "pad": [0, 0, 0, 0], "groups": 1, "code_min": 0, "code_max": 255, "count_include_pad": True}
        return self.attributes.get(key, defaults.get(key, 0))


def read(path):
    """Return nodes, and tensors by the names of operands."""
    with safetensors.safe_open(path, "numpy") as file:
        text = file.metadata()["halfstep.graph"]
        tensors = {"@" + name: file.get_tensor(name) for name in file.keys()}
    matches = [NODE.match(line) for line in text.splitlines()]
    source = re.match(r"graph \w+\((\S+): ", text).group(1)
    returned = re.search(r"^  return (?:.* = )?(\S+)$", text, re.M).group(1)
    return [Node(m) for m in matches if m], tensors, source, returned


def quantized(codes, scale, zero_point):
    tensor = torch._make_per_tensor_quantized_tensor(torch.from_numpy(np.ascontiguousarray(codes)), float(scale), int(zero_point))
    return tensor.contiguous(memory_format=torch.channels_last) if codes.ndim == 4 else tensor


class Torch:
    """PyTorch's operators, by the names of the nodes."""

    def __init__(self, tensors):
        self.tensors, self.packed = tensors, {}

    def __call__(self, node, operands):
        method = getattr(self, node.op, None)
        return None if method is None else method(node, operands)

    def weights(self, node, prepack):
        if node.name not in self.packed:
            w, b, scale = (self.tensors[node.operands[port]] for port in ("w", "b", "w_scale"))
            scale = np.broadcast_to(scale, w.shape[:1]).astype(np.float64)
            coded = torch._make_per_channel_quantized_tensor(torch.from_numpy(w), torch.from_numpy(scale), torch.zeros(len(scale), dtype=torch.int64), 0)
            self.packed[node.name] = prepack(coded, torch.from_numpy(b))
        return self.packed[node.name]

    @staticmethod
    def clamped(node, plain, with_relu, arguments):
        """Apply a clamp. relu is part of the operator, and relu6 follows it."""
        y = (with_relu if node["code_min"] == node["y_zero_point"] else plain)(*arguments, float(node["y_scale"]), node["y_zero_point"])
        return torch.nn.functional.relu6(y) if node["code_max"] < 255 else y

    def quantize(self, node, operands):
        scale, zero_point = (self.tensors[node.operands[port]].item() for port in ("scale", "zero_point"))
        return torch.quantize_per_tensor(torch.from_numpy(operands["x"]), float(scale), int(zero_point), torch.quint8)

    def integer_conv2d(self, node, operands):
        pad = node["pad"]
        if pad[:2] != pad[2:]:
            sys.exit(f"{node.name}: found padding {pad}, and PyTorch pads both sides alike")
        prepack = lambda w, b: torch.ops.quantized.conv2d_prepack(w, b, node["stride"], pad[:2], node["dilation"], node["groups"])
        arguments = quantized(operands["x"], node["x_scale"], node["x_zero_point"]), self.weights(node, prepack)
        return self.clamped(node, torch.ops.quantized.conv2d, torch.ops.quantized.conv2d_relu, arguments)

    def integer_linear(self, node, operands):
        arguments = quantized(operands["x"], node["x_scale"], node["x_zero_point"]), self.weights(node, torch.ops.quantized.linear_prepack)
        return self.clamped(node, torch.ops.quantized.linear, torch.ops.quantized.linear_relu, arguments)

    def pair(self, node, operands):
        return [quantized(operands[p], node[p + "_scale"], node[p + "_zero_point"]) for p in "ab"]

    def integer_add(self, node, operands):
        return self.clamped(node, torch.ops.quantized.add, torch.ops.quantized.add_relu, self.pair(node, operands))

    def integer_mul(self, node, operands):
        return self.clamped(node, torch.ops.quantized.mul, torch.ops.quantized.mul_relu, self.pair(node, operands))

    def integer_avg_pool2d(self, node, operands):
        x = quantized(operands["x"], node["x_scale"], node["x_zero_point"])
        if (node["x_scale"], node["x_zero_point"]) != (node["y_scale"], node["y_zero_point"]):
            sys.exit(f"{node.name}: found two scales, and PyTorch's means keep that of their input")
        if tuple(node["kernel"]) == x.shape[2:]:
            return torch.nn.functional.adaptive_avg_pool2d(x, 1)
        return torch.nn.functional.avg_pool2d(x, node["kernel"], node["stride"], node["pad"][:2], False, node["count_include_pad"])

    def max_pool2d(self, node, operands):
        return torch.nn.functional.max_pool2d(quantized(operands["x"], 1.0, 0), node["kernel"], node["stride"], node["pad"][:2])


def in_tail(node, differ):
    """Return the number of differing codes in parts of a sum that fill no whole vector. Memory is channels last."""
    if node.op != "integer_add":
        return 0
    flat = differ.transpose(0, 2, 3, 1).reshape(-1) if differ.ndim == 4 else differ.reshape(-1)
    return int(flat[flat.size // VECTOR * VECTOR:].sum())


class Walk:
    def __init__(self, nodes, tensors, source):
        self.nodes, self.tensors, self.source = nodes, tensors, source
        self.torch = Torch(tensors)
        self.counts = {}

    def operands(self, node, values):
        value = lambda name: self.tensors[name] if name in self.tensors else values[name]
        return {key: [value(n) for n in name] if isinstance(name, list) else value(name) for key, name in node.operands.items()}

    def ours(self, node, operands):
        return np.asarray(getattr(halfstep.ops, node.op)(**operands, **node.attributes))

    def add(self, x):
        ours, whole = {self.source: x}, {self.source: x}
        for node in self.nodes:
            given, carried = self.operands(node, ours), self.operands(node, whole)
            ours[node.name] = self.ours(node, given)
            alone = self.torch(node, given)
            if alone is None:  # moves codes, or converts them
                whole[node.name] = self.ours(node, carried)
                continue
            whole[node.name] = self.torch(node, carried).int_repr().numpy()
            differ = alone.int_repr().numpy() != ours[node.name]
            count = self.counts.setdefault(node.name, [node.op, 0, 0, 0, 0])
            for i, n in enumerate((differ.size, differ.sum(), in_tail(node, differ), (whole[node.name] != ours[node.name]).sum())):
                count[i + 1] += int(n)
        return ours


def run(program, model, source, x):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        np.savez(folder / "x.npz", **{source: x})
        done = subprocess.run([program, "run", model, "--inputs", folder / "x.npz", "--overwrite", "--outputs", folder / "y.npz"], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"halfstep run: {done.stderr.strip()}")
        return list(np.load(folder / "y.npz").values())[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--inputs", required=True)
    parser.add_argument("--engine")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--program")
    arguments = parser.parse_args()
    nodes, tensors, source, returned = read(arguments.model)
    forms = {node["requantize"] for node in nodes if node["requantize"]}
    if len(forms) != 1 or not forms <= {"fbgemm", "x86"}:
        sys.exit(f"{arguments.model}: found requantization by {', '.join(sorted(forms))}, expected fbgemm or x86")
    torch.backends.quantized.engine = arguments.engine or forms.pop()
    x = np.load(arguments.inputs)[source]
    walk = Walk(nodes, tensors, source)
    same = True
    for begin in range(0, len(x), arguments.batch):
        part = x[begin:begin + arguments.batch]
        ours = walk.add(part)
        if arguments.program:
            same &= bool((run(arguments.program, arguments.model, source, part) == ours[returned]).all())
    print(f"torch {torch.__version__}, engine {torch.backends.quantized.engine}, {len(x)} samples")
    print(f"{'layer':44} {'operator':20} {'codes':>10} {'alone':>7} {'tails':>7} {'whole':>7}")
    for name, (op, *counts) in walk.counts.items():
        print(f"{name[-44:]:44} {op:20} {counts[0]:10} {counts[1]:7} {counts[2]:7} {counts[3]:7}")
    totals = [sum(count[i] for count in walk.counts.values()) for i in range(1, 5)]
    print(f"{'all ' + str(len(walk.counts)) + ' layers':44} {'':20} {totals[0]:10} {totals[1]:7} {totals[2]:7} {totals[3]:7}")
    if not same:
        print("the outputs of `halfstep run` differ from those of the operators")
    sys.exit(0 if same and totals[1] == totals[2] else 1)


main()
