#!/usr/bin/env python3
"""Measure how often `halfstep compare` names the right fault, as a confusion table of faults and first guesses.

usage: bench/compare_faults.py FOLDER [--program build/release/halfstep] [--models DIR] [--networks NAME,...] [--faults
       NAME,...] [--places 3]

Prepares networks in FOLDER (those of --models, a collection of ONNX files, and the digits) and dumps their integer
programs. For each fault and up to --places layers of each network, it writes the dump of a board that has the fault.
NumPy moves the bytes. For wrong arithmetic, a layer is computed here from dumped inputs, weights, biases, multipliers
and shifts. The script shares no code with the program. Faults that change no code are left out. Prints the table. Exits
with 1 if less than 95 % are named right or a difference is not found.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np

# name: model file below --models ("": the digits), platform, weights, activations, side and channels of the pictures
NETWORKS = {
    "digits_8_8": ("", "generic_int8", 8, 8),
    "digits_4_4": ("", "magik_t40", 4, 4),
    "digits_8_12": ("", "magik_t40", 8, 12),
    "digits_pow2": ("", "pow2_int8", 8, 8),
    "resnet20": ("resnet20_cifar10/model.onnx", "generic_int8", 8, 8),
    "resnet20_float32": ("resnet20_ts11/model.onnx", "onnxruntime_int8", 8, 8),
    "mobilenet_v2": ("mobilenet_v2_w050_ts17/model.onnx", "generic_int8", 8, 8),
    "dscnn": ("dscnn_ts13/model.onnx", "generic_int8", 8, 8),
    "efficientnet": ("efficientnet_b0_w050_ts13/model.onnx", "generic_int8", 8, 8),
    "squeezenet": ("squeezenet1_1_ts11/model.onnx", "generic_int8", 8, 8),
    "shufflenet": ("shufflenet_v2_x0_5_ts13/model.onnx", "generic_int8", 4, 8),
    "resnet18": ("resnet18_w16_ts9/model.onnx", "signed_pow2_int8", 8, 8),
}
TYPES = {"u8": np.uint8, "i8": np.int8, "i4": np.int8, "u16": np.uint16, "i16": np.int16, "i32": np.int32, "f32": np.float32}


class Dump:
    """A folder of dumps in NCHW, as arrays."""

    def __init__(self, folder):
        self.folder = folder
        self.manifest = json.loads((folder / "manifest.json").read_text())
        self.values = {value["name"]: value for value in self.manifest["values"]}
        self.ops = dict(self.operators(self.manifest["graph"]))

    def array(self, name):
        value = self.values[name]
        return np.fromfile(self.folder / value["file"], TYPES[value["type"]]).reshape(value["shape"])

    @staticmethod
    def operators(graph):
        """name: (operands by port, attributes)."""
        for match in re.finditer(r"^\s*(\S+) = (\w+)\(([^)]*)\)(?: \{(.*)\})?$", graph, re.M):
            name, op, operands, attributes = match.groups()
            ports = dict(re.findall(r"(\w+)=@?([^,\[\]]+)", operands))
            parsed = {key: json.loads(text) if text[0] in "[0123456789-" or text in ("true", "false") else text.strip('"')
                      for key, text in re.findall(r"(\w+): (\[[^\]]*\]|[^,]+)", attributes or "")}  # fmt: skip
            yield name, (op, ports, parsed)


class Layer:
    """A convolution or matrix product on codes, with any changes of its parts."""

    def __init__(self, dump, name):
        self.op, ports, self.attributes = dump.ops[name]
        self.codes = dump.array(name)
        value = dump.values[name]
        self.low, self.high = value["code_min"], value["code_max"]
        self.x = dump.array(ports["x"]).astype(np.int64)
        self.tensors = {port: dump.array(ports[port]).astype(np.float32 if dump.values[ports[port]]["type"] == "f32" else np.int64)
                        for port in ("w", "b", "multiplier", "shift", "w_scale") if port in ports}  # fmt: skip

    def get(self, name, default=0):
        return self.attributes.get(name, default)

    def sums(self, x=None, x_zero=None, pad=None, pad_code=None):
        x_zero = self.get("x_zero_point") if x_zero is None else x_zero
        x = self.x if x is None else x
        w = self.tensors["w"].astype(np.float64)
        if self.op == "integer_linear":
            return ((x - x_zero).astype(np.float64) @ w.T).astype(np.int64)[..., None, None]
        pad = self.get("pad", [0] * 4) if pad is None else pad
        fill = x_zero if pad_code is None else pad_code
        x = np.pad(x, ((0, 0), (0, 0), (pad[0], pad[2]), (pad[1], pad[3])), constant_values=fill) - x_zero
        stride, dilation, groups = self.get("stride", [1, 1]), self.get("dilation", [1, 1]), self.get("groups", 1)
        kh, kw = w.shape[2:]
        windows = np.lib.stride_tricks.sliding_window_view(x, ((kh - 1) * dilation[0] + 1, (kw - 1) * dilation[1] + 1), (2, 3))
        windows = windows[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]].astype(np.float64)
        n, c, oh, ow = windows.shape[:4]
        out = []
        for g in range(groups):
            i, o = c // groups, w.shape[0] // groups
            columns = windows[:, g * i : (g + 1) * i].transpose(0, 2, 3, 1, 4, 5).reshape(n * oh * ow, -1)
            out.append((columns @ w[g * o : (g + 1) * o].reshape(o, -1).T).reshape(n, oh, ow, o))
        return np.concatenate(out, 3).transpose(0, 3, 1, 2).astype(np.int64)

    def bias(self, acc, b=None):
        return acc + (self.tensors["b"] if b is None else b)[:, None, None]

    def by_channel(self, values):
        return np.broadcast_to(values, self.tensors["w"].shape[:1])[:, None, None]

    def steps(self, acc):
        """Return the value before rounding, in float64."""
        if "w_scale" in self.tensors:
            m = (np.float32(self.get("x_scale")) * self.by_channel(self.tensors["w_scale"]) / np.float32(self.get("y_scale"))).astype(np.float32)
            return (acc.astype(np.float32) * m).astype(np.float64)
        m = self.by_channel(self.tensors["multiplier"]) if "multiplier" in self.tensors else 1
        return acc.astype(np.float64) * m / 2.0 ** self.by_channel(self.tensors["shift"])

    def scaled(self, acc, rounding=None, multiplier=None, shift=None):
        if "w_scale" in self.tensors:
            v = self.steps(acc)
            if multiplier is not None:
                m = (np.float32(self.get("x_scale")) * multiplier / np.float32(self.get("y_scale"))).astype(np.float32)
                v = (acc.astype(np.float32) * m).astype(np.float64)
            if shift is not None:
                v = v / 2.0**shift
            rules = {None: np.rint, "half_even": np.rint, "half_up": lambda v: np.floor(v) + (v - np.floor(v) >= 0.5),
                     "half_away": lambda v: np.copysign(np.floor(np.abs(v)) + (np.abs(v) - np.floor(np.abs(v)) >= 0.5), v), "truncate": np.floor}  # fmt: skip
            return rules[rounding](v).astype(np.int64)
        m = multiplier if multiplier is not None else self.by_channel(self.tensors["multiplier"]) if "multiplier" in self.tensors else np.int64(1)
        s = shift if shift is not None else self.by_channel(self.tensors["shift"])
        p, s = np.broadcast_arrays(acc * m, s)
        p = np.where(s < 1, p << np.maximum(1 - s, 0), p)
        s = np.maximum(s, 1)
        floor, half = p >> s, (p >> (s - 1)) & 1
        beyond = (p & ((np.int64(1) << (s - 1)) - 1)) != 0
        rounding = rounding or self.get("shift_rounding", "half_up")
        if rounding == "half_up":
            return floor + half
        if rounding == "half_even":
            return floor + np.where(beyond | (floor % 2 != 0), half, 0)
        if rounding == "half_away":
            return floor + np.where(beyond | (p >= 0), half, 0)
        return floor

    def code(self, steps, low=None, high=None, zero=None):
        zero = self.get("y_zero_point") if zero is None else zero
        low, high = self.get("code_min") if low is None else low, self.get("code_max", 255) if high is None else high
        return np.clip(steps + zero, low, high).reshape(self.codes.shape)


# Faults of files. Each maps codes [n, c, ...] and the value to the contents of the board's file, or to None.



def as_nhwc(codes, value, rng):
    return None if codes.ndim < 3 else np.moveaxis(codes, 1, -1)


def height_width(codes, value, rng):
    return None if codes.ndim != 4 else codes.swapaxes(2, 3)


def blocks(codes, value, rng):
    if codes.ndim != 4:
        return None
    n, c, h, w = codes.shape
    padded = np.zeros((n, -(-c // 32) * 32, h, w), codes.dtype)
    padded[:, :c] = codes
    return padded.reshape(n, -1, 32, h, w).transpose(0, 1, 3, 4, 2)


def offset(codes, value, rng):
    return codes ^ codes.dtype.type(0x80) if codes.dtype == np.uint8 else None


def byte_order(codes, value, rng):
    return codes.byteswap() if codes.dtype.itemsize > 1 else None


def border(codes, value, rng):
    if codes.ndim != 4:
        return None
    sides = [(1, 1), (1, 1)] if rng.integers(2) else [(1, 0), (1, 0)]
    return np.pad(codes, [(0, 0), (0, 0), *sides], constant_values=value.get("zero_point", 0))


def pixel_shift(codes, value, rng):
    return None if codes.ndim != 4 else np.roll(codes, int(rng.choice([-1, 1])), int(rng.choice([2, 3])))


def channel_shift(codes, value, rng):
    return None if codes.ndim != 4 or codes.shape[1] < 4 else np.roll(codes, int(rng.choice([-1, 1])), 1)


def block_wrong(codes, value, rng):
    if codes.ndim != 4:
        return None
    block = next((b for b in (32, 16, 8) if codes.shape[1] > b), None)
    if block is None:
        return None
    wrong = codes.copy()
    wrong[:, block:] = rng.integers(value["code_min"], value["code_max"] + 1, wrong[:, block:].shape)
    return wrong


def block_lost(codes, value, rng):
    block = next((b for b in (32, 16, 8) if codes.ndim == 4 and codes.shape[1] > b), None)
    return None if block is None else np.where(np.arange(codes.shape[1])[:, None, None] < block, codes, codes.dtype.type(0))


def bits_right(codes, value, rng):
    return codes >> 1


# Faults of arithmetic. Each maps a layer to codes.


def no_activation(layer, rng):
    if layer.get("code_min") <= layer.low and layer.get("code_max", 255) >= layer.high:
        return None
    return layer.code(layer.scaled(layer.bias(layer.sums())), layer.low, layer.high)


def no_clamp(layer, rng):
    bits = int(np.ceil(np.log2(layer.high - layer.low + 1)))
    least = layer.get("code_min") if layer.get("code_min") > layer.low else -(1 << 40)  # keeps the activation
    wide = layer.code(layer.scaled(layer.bias(layer.sums())), least, 1 << 40)
    base = layer.low if layer.low < 0 else 0
    return (wide - base) % (1 << bits) + base


def no_input_zero(layer, rng):
    return layer.code(layer.scaled(layer.bias(layer.sums(x_zero=0, pad_code=0)))) if layer.get("x_zero_point") else None


def no_output_zero(layer, rng):
    return layer.code(layer.scaled(layer.bias(layer.sums())), zero=0) if layer.get("y_zero_point") else None


def rounding(mode):
    return lambda layer, rng: layer.code(layer.scaled(layer.bias(layer.sums()), mode))


def no_bias(layer, rng):
    return layer.code(layer.scaled(layer.bias(layer.sums(), layer.tensors["b"] * 0)))


def no_channel_bias(layer, rng):
    b = layer.tensors["b"].copy()
    b[rng.integers(len(b))] = 0
    return layer.code(layer.scaled(layer.bias(layer.sums(), b)))


def channel_scale(layer, rng):
    channel = int(rng.integers(1, len(layer.tensors["b"])))
    acc = layer.bias(layer.sums())
    if "w_scale" in layer.tensors:
        scales = np.array(np.broadcast_to(layer.tensors["w_scale"], len(layer.tensors["b"])))
        scales[channel] = scales[0]
        return layer.code(layer.scaled(acc, multiplier=scales[:, None, None]))
    if "multiplier" not in layer.tensors or len(layer.tensors["multiplier"]) < 2:
        return None
    m, s = layer.tensors["multiplier"].copy(), layer.tensors["shift"].copy()
    m[channel], s[channel] = m[0], s[0]
    return layer.code(layer.scaled(acc, multiplier=m[:, None, None], shift=s[:, None, None]))


def wrong_shift(layer, rng):
    by = int(rng.choice([-1, 1]))
    shift = by if "w_scale" in layer.tensors else layer.by_channel(layer.tensors["shift"]) + by
    return layer.code(layer.scaled(layer.bias(layer.sums()), shift=shift))


def saturated(layer, rng):
    acc = layer.bias(layer.sums())
    bits = int(np.floor(np.log2(max(1, np.abs(acc).max())))) + 1  # one bit less than the accumulator needs
    if bits < 9:
        return None
    return layer.code(layer.scaled(np.clip(acc, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)))


def ties(layer, rng):
    steps = layer.steps(layer.bias(layer.sums())).reshape(layer.codes.shape)
    near = np.abs(steps - np.floor(steps) - 0.5) < 1 / 100
    codes = layer.codes.astype(np.int64)
    inside = near & (codes > layer.get("code_min")) & (codes < layer.get("code_max", 255)) & (rng.random(codes.shape) < 0.5)
    return np.where(inside, codes + np.where(steps - np.floor(steps) >= 0.5, -1, 1), codes)


def padding_side(layer, rng):
    pad = layer.get("pad", [0] * 4)
    if not any(pad) or layer.op != "integer_conv2d":
        return None
    return layer.code(layer.scaled(layer.bias(layer.sums(pad=[pad[0] + pad[2], pad[1] + pad[3], 0, 0]))))


def padding_code(layer, rng):
    if not any(layer.get("pad", [0] * 4)) or not layer.get("x_zero_point"):
        return None
    return layer.code(layer.scaled(layer.bias(layer.sums(pad_code=0))))


def bgr(layer, rng):
    return layer.code(layer.scaled(layer.bias(layer.sums(x=layer.x[:, ::-1])))) if layer.x.ndim == 4 and layer.x.shape[1] == 3 else None


# Faults of sums of two values of codes, through multipliers.


def summed(dump, name, truncated=False, **other):
    _, ports, attributes = dump.ops[name]
    get = {**attributes, **other}.get
    if not get("a_multiplier"):
        return None
    total = sum((dump.array(ports[port]).astype(np.int64) - get(f"{port}_zero_point", 0)) * get(f"{port}_multiplier") for port in "ab")
    steps = total >> get("shift")
    if not truncated:
        steps += total >> (get("shift") - 1) & 1
    return np.clip(steps + get("y_zero_point", 0), get("code_min", 0), get("code_max", 255))


def no_operand_zero(dump, name):
    zeros = {f"{port}_zero_point": 0 for port in "ab" if dump.ops[name][2].get(f"{port}_zero_point")}
    return summed(dump, name, **dict(list(zeros.items())[:1])) if zeros else None


def one_operand_scale(dump, name):
    return summed(dump, name, b_multiplier=dump.ops[name][2].get("a_multiplier"))


# fault: (function, names of matching hypotheses)
OF_FILES = {
    "NHWC for NCHW": (as_nhwc, {"order"}), "height and width": (height_width, {"height_width"}), "blocks of 32": (blocks, {"order"}),
    "offset of 128": (offset, {"sign"}), "byte order": (byte_order, {"byte_order"}), "border in the file": (border, {"border"}),
    "a pixel off": (pixel_shift, {"pixel_shift"}), "a channel off": (channel_shift, {"channel_shift"}),
    "wrong from a block on": (block_wrong, {"from_channel"}), "0 from a block on": (block_lost, {"from_channel"}),
    "codes a bit right": (bits_right, {"bit_shift"}),
}  # fmt: skip
OF_LAYERS = {
    "no activation": (no_activation, {"activation"}), "no clamp": (no_clamp, {"clamp"}), "no zero point of x": (no_input_zero, {"zero_point"}),
    "no zero point of y": (no_output_zero, {"zero_point"}), "rounded half up": (rounding("half_up"), {"rounding"}),
    "rounded half away": (rounding("half_away"), {"rounding"}), "rounded half even": (rounding("half_even"), {"rounding"}),
    "truncated": (rounding("truncate"), {"rounding"}), "no bias": (no_bias, {"bias"}), "no bias of a channel": (no_channel_bias, {"bias"}),
    "no scale of a channel": (channel_scale, {"channel_scale"}), "shift one off": (wrong_shift, {"bit_shift"}),
    "saturated sums": (saturated, {"accumulator"}), "ties": (ties, {"ties"}), "padding on another side": (padding_side, {"padding"}),
    "padding of another code": (padding_code, {"padding"}), "BGR": (bgr, {"bgr"}),
}  # fmt: skip
OF_SUMS = {
    "sum truncated": (lambda dump, name: summed(dump, name, truncated=True), {"rounding"}),
    "sum: no zero point": (no_operand_zero, {"zero_point"}), "sum: one scale for both": (one_operand_scale, {"operand_scale"}),
    "sum: a bit too far": (lambda dump, name: summed(dump, name, shift=dump.ops[name][2].get("shift", 1) + 1), {"bit_shift"}),
}  # fmt: skip
SPECIAL = {"nibbles swapped": {"nibbles"}, "BGR of the input": {"bgr"}, "other preprocessing": {"preprocessing"}}


class Bench:
    def __init__(self, given):
        self.given, self.program = given, str(pathlib.Path(given.program).resolve())
        self.right = collections.Counter()
        self.tried = collections.Counter()
        self.confusion = collections.defaultdict(collections.Counter)
        self.missed = []

    def run(self, *words, codes=(0,)):
        done = subprocess.run([self.program, *map(str, words)], capture_output=True, text=True, timeout=6000)
        if done.returncode not in codes:
            sys.exit(f"halfstep {' '.join(map(str, words))}: exit code {done.returncode}: {done.stderr.strip()}")
        return done

    def prepare(self, name):
        """Return the integer program's dump, in NCHW."""
        file, platform, weights, activations = NETWORKS[name]
        folder = self.given.folder / name
        if (folder / "integer.safetensors").exists():
            return folder
        folder.mkdir(parents=True, exist_ok=True)
        if file:
            source, data = self.given.models / file, folder / "samples.npz"
            shape = next(model for model in json.loads((self.given.models / "index.json").read_text())["models"] if model["path"] == file)["inputs"][0]["shape"]
            shape = [64 if isinstance(extent, str) else extent for extent in shape]
            rng = np.random.default_rng(3)
            coarse = rng.standard_normal((12, shape[1], *(-(-side // 4) for side in shape[2:])))
            smooth = np.kron(coarse, np.ones((1, 1, 4, 4)))[:, :, : shape[2], : shape[3]]
            np.savez(data, x=(smooth + 0.3 * rng.standard_normal(smooth.shape)).astype(np.float32))
            samples = ["--data", data]
        else:
            digits = self.given.folder / "digits"
            if not digits.exists():
                self.run("train", "--epochs", 2, "--out", digits)
            source, samples = digits / "model.safetensors", []
        bit_widths = ["--weight-bits", weights, "--activation-bits", activations]
        self.run("quantize", source, *samples, "--platform", platform, *bit_widths, "--pad-channels", "--out", folder / "prepared.safetensors")
        self.run("convert", folder / "prepared.safetensors", "--float-fallback", "--out", folder / "integer.safetensors")
        self.run("dump", folder / "integer.safetensors", *samples, "--samples", 2, "--layout", "nchw", "--packing", "none", "--out", folder / "dump")
        if activations <= 4:
            self.run("dump", folder / "integer.safetensors", *samples, "--samples", 2, "--layout", "nhwc", "--packing", "low_first", "--out", folder / "packed")
        return folder

    def compare(self, dump, name, contents, fault, expected):
        """Compare one board: the dump with another file for one value."""
        board = self.given.folder / "board"
        shutil.rmtree(board, ignore_errors=True)
        board.mkdir()
        for file in dump.folder.iterdir():
            os.link(file, board / file.name)
        changed = board / dump.values[name]["file"]
        changed.unlink()
        changed.write_bytes(contents)
        done = self.run("compare", dump.folder, board, "--json", codes=(0, 1))
        report = json.loads(done.stdout)
        self.tried[fault] += 1
        guess = report["guesses"][0]["name"] if report["guesses"] else "nothing"
        if report["equal"] or report["differs"] != name:
            guess = "equal" if report["equal"] else f"another value: {report['differs']}"
        self.confusion[fault][guess] += 1
        if guess in expected:
            self.right[fault] += 1
        else:
            sentence = report["guesses"][0]["sentence"] if report["guesses"] else ""
            self.missed.append(f"{dump.folder.parent.name} {name} ({dump.values[name]['op']}): {fault}: named {guess} {sentence} {report.get('undiagnosed', '')}")

    def wants(self, fault):
        return not self.given.faults or fault in self.given.faults.split(",")

    def places(self, names, make, dump, fault, expected):
        """Return the first of `names`, evenly spread, in which the fault changes a code."""
        done, order = 0, [names[i] for i in np.random.default_rng(len(fault)).permutation(len(names))]
        for name in order:
            if done == self.given.places:
                return
            before = dump.array(name)
            with np.errstate(all="ignore"):
                after = make(name)
            if after is None:
                continue
            if after.dtype != before.dtype and after.shape == before.shape:
                after = after.astype(before.dtype)
            after = np.ascontiguousarray(after)
            if after.tobytes() == before.tobytes():
                continue
            self.compare(dump, name, after.tobytes(), fault, expected)
            done += 1

    def network(self, name):
        folder = self.prepare(name)
        dump = Dump(folder / "dump")
        activations = [v["name"] for v in dump.manifest["values"] if v["what"] == "activation" and "zero_point" in v]
        layers = [n for n in activations if dump.ops.get(n, ("",))[0] in ("integer_conv2d", "integer_linear")]
        for fault, (make, expected) in OF_FILES.items():
            values = [v["name"] for v in dump.manifest["values"]] if make is byte_order else activations
            if self.wants(fault):
                rng = np.random.default_rng(1)
                self.places(values, lambda n, m=make, r=rng: m(dump.array(n), dump.values[n], r), dump, fault, expected)
        for fault, (make, expected) in OF_LAYERS.items():
            if self.wants(fault):
                rng = np.random.default_rng(2)
                self.places(layers, lambda n, m=make, r=rng: m(Layer(dump, n), r), dump, fault, expected)
        sums = [n for n in activations if dump.ops.get(n, ("",))[0] == "integer_add"]
        for fault, (make, expected) in OF_SUMS.items():
            if self.wants(fault):
                self.places(sums, lambda n, m=make: m(dump, n), dump, fault, expected)
        self.special(folder, dump)

    def special(self, folder, dump):
        if self.wants("nibbles swapped") and (folder / "packed").exists():
            packed = Dump(folder / "packed")
            names = [v["name"] for v in packed.manifest["values"] if v["layout"]["packing"] != "none" and v["what"] == "activation"]
            for name in names[:: max(1, len(names) // self.given.places)][: self.given.places]:
                raw = np.fromfile(packed.folder / packed.values[name]["file"], np.uint8)
                swapped = (raw >> 4) | (raw << 4)
                if (swapped != raw).any():
                    self.compare(packed, name, swapped.tobytes(), "nibbles swapped", SPECIAL["nibbles swapped"])
        x = dump.manifest["values"][0]["name"]
        codes = next(v["name"] for v in dump.manifest["values"] if v["op"] == "quantize" and v["what"] == "activation")
        if self.wants("BGR of the input") and dump.array(x).shape[1] == 3:
            for name in (x, codes):
                self.compare(dump, name, np.ascontiguousarray(dump.array(name)[:, ::-1]).tobytes(), "BGR of the input", SPECIAL["BGR of the input"])
        if not self.wants("other preprocessing"):
            return
        value, floats = dump.values[codes], dump.array(x).astype(np.float64)
        for gain, base in ((0.5, 0.0), (1.0, 0.3 * np.abs(floats).max()), (0.8, -0.1 * np.abs(floats).max())):
            moved = np.rint((floats * gain + base) / value["scale"]) + value["zero_point"]
            wrong = np.clip(moved, value["code_min"], value["code_max"]).astype(TYPES[value["type"]])
            self.compare(dump, codes, wrong.tobytes(), "other preprocessing", SPECIAL["other preprocessing"])

    def report(self):
        print(f"{'fault':26} {'tried':>6} {'right':>6}  first guesses")
        for fault in self.tried:
            guesses = ", ".join(f"{name} {count}" for name, count in self.confusion[fault].most_common())
            print(f"{fault:26} {self.tried[fault]:6} {self.right[fault]:6}  {guesses}")
        tried, right = self.tried.total(), self.right.total()
        equal = sum(guesses["equal"] for guesses in self.confusion.values())
        print(f"\n{right} of {tried} named right ({100 * right / max(1, tried):.1f} %), {equal} wrong claims of equality")
        print("\n".join(self.missed), end="\n" if self.missed else "")
        return 0 if right >= 0.95 * tried and equal == 0 else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--program", default="build/release/halfstep")
    parser.add_argument("--models", type=pathlib.Path)
    parser.add_argument("--networks", default="")
    parser.add_argument("--faults", default="")
    parser.add_argument("--places", type=int, default=3)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    bench = Bench(given)
    for name, (file, *_) in NETWORKS.items():
        if given.networks and name not in given.networks.split(","):
            continue
        if file and given.models is None:
            continue
        bench.network(name)
        print(f"{name}: {bench.tried.total()} boards so far, {bench.right.total()} named right", file=sys.stderr)
    return bench.report()


if __name__ == "__main__":
    sys.exit(main())
