#!/usr/bin/env python3
"""Run small networks of one or a few Paddle operators, saved by Paddle, and compare with Paddle's own outputs.

usage: bench/paddle_operators.py [--program build/release/halfstep] [--legacy] [--only NAME]

--legacy saves a ProgramDesc instead of PIR. Networks that Paddle itself cannot save or run are left out. Prints cases
that are not supported or differ by more than 1e-5 of the largest magnitude. Needs paddle 3, numpy and safetensors.
Exits with 1 if one differs. Paddle's strided_slice of a ProgramDesc keeps axes that the file removes, so `slice`
differs there.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
from safetensors.numpy import load_file, save_file


def cases(paddle):
    """Return {name: (function or layer, input)}."""
    F, nn, rng = paddle.nn.functional, paddle.nn, np.random.default_rng(0)

    def random(*dims):
        return rng.standard_normal(dims).astype("float32")

    def tensor(*dims):
        return paddle.to_tensor(random(*dims))

    x = random(2, 4, 9, 7)
    result = {
        "conv_same": nn.Conv2D(4, 6, 3, stride=2, padding="SAME"),
        "conv_valid": nn.Conv2D(4, 6, 3, padding="VALID", dilation=2),
        "conv_asymmetric": nn.Conv2D(4, 6, 3, padding=[1, 0, 2, 1]),
        "conv_groups": nn.Conv2D(4, 8, (3, 2), padding=[1, 0], groups=2, stride=[2, 1]),
        "max_ceil": lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
        "max_asymmetric": lambda x: F.max_pool2d(x, 3, 2, [1, 0, 1, 1]),
        "average": lambda x: F.avg_pool2d(x, 3, 2, 1, exclusive=True),
        "average_counting": lambda x: F.avg_pool2d(x, 3, 2, 1, exclusive=False),
        "average_ceil": lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
        "average_ceil_counting": lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, exclusive=False),
        "average_adaptive": lambda x: F.adaptive_avg_pool2d(x, (3, 7)),
        "bilinear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False, align_mode=0),
        "bilinear_asymmetric": lambda x: F.interpolate(x, size=(5, 11), mode="bilinear", align_corners=False, align_mode=1),
        "bilinear_corners": lambda x: F.interpolate(x, size=(5, 11), mode="bilinear", align_corners=True),
        "nearest": lambda x: F.interpolate(x, size=(5, 11), mode="nearest"),
        "nearest_scale": lambda x: F.interpolate(x, scale_factor=[1.5, 0.7], mode="nearest"),
        "split": lambda x: paddle.concat(paddle.split(x, 2, axis=1)[::-1], axis=1),
        "split_parts": lambda x: paddle.concat(paddle.split(x, [2, -1, 3], axis=2)[::-1], axis=-2),
        "squeeze": lambda x: paddle.squeeze(paddle.unsqueeze(x, [0, -1]), [0]),
        "stack": lambda x: paddle.stack([x, x * 2], axis=-1),
        "slice": lambda x: x[:, -2, 1:-1, ::2],
        "slice_back": lambda x: paddle.strided_slice(x, [2, 3], [8, 6], [1, 0], [-2, -3]),
        "dropout": lambda x: F.dropout(x, 0.3, training=False, mode="downscale_in_infer"),
        "prod": lambda x: paddle.prod(x, axis=[1, -1], keepdim=True),
        "min": lambda x: paddle.min(x, axis=2),
        "mean": lambda x: paddle.mean(x, axis=[2, 3], keepdim=True),
        "sum": lambda x: paddle.sum(x),
        "sum_double": lambda x: paddle.sum(x, axis=1, dtype="float64"),
        "matmul_transposed": lambda x: paddle.matmul(x, tensor(3, 7), transpose_y=True),
        "matmul_transposed_first": lambda x: paddle.matmul(x, tensor(2, 4, 9, 5), transpose_x=True),
        "matmul_broadcast": lambda x: paddle.matmul(x, tensor(4, 7, 5)),
        "matmul_vector": lambda x: paddle.matmul(x, tensor(7)),
        "scale": lambda x: paddle.scale(x, 2.0, 0.5, bias_after_scale=False),
        "flatten": lambda x: paddle.flatten(x, 0, -2),
        "reshape": lambda x: paddle.reshape(x, [0, -1, 7]),
        "transpose": lambda x: paddle.transpose(x, [3, 0, 2, 1]),
        "clip": lambda x: paddle.clip(x, -0.5, 0.7),
        "gelu_tanh": lambda x: F.gelu(x, approximate=True),
        "softmax": lambda x: F.softmax(x, axis=1),
        "arithmetic": lambda x: (x - tensor(7)) / (x * x + 1.5) + tensor(4, 1, 1),
        "cast": lambda x: paddle.cast(paddle.cast(x * 3, "int32"), "float32"),
        "maximum": lambda x: paddle.maximum(x, tensor(7)),
        "where": lambda x: paddle.where(x > 0, x, tensor(1) * x),
        "tile": lambda x: paddle.tile(x, [1, 2, 1, 2]),
        "gather": lambda x: paddle.gather(x, paddle.to_tensor([2, 0, 1, 1]), axis=1),
        "pow": lambda x: paddle.pow(x, 2.0),
        "arange": lambda x: x + paddle.arange(0, 7, 1, dtype="float32"),
        "batch_norm": nn.BatchNorm2D(4),
        "instance_norm": nn.InstanceNorm2D(4),
        "group_norm": nn.GroupNorm(2, 4),
        "layer_norm": nn.LayerNorm([9, 7]),
        "layer_norm_plain": lambda x: F.layer_norm(x, [7]),
    }
    for name in "gelu silu hardswish relu6 leaky_relu sigmoid tanh softsign log_softmax elu celu selu hardsigmoid mish softplus".split():
        result[name] = getattr(F, name)
    result = {name: (function, x) for name, function in result.items()}
    for name in "abs exp floor ceil sin cos atan erf sqrt rsqrt square log reciprocal sign".split():
        result[name] = (getattr(paddle, name), np.abs(x) + np.float32(0.1))
    for name, network in [("lstm", nn.LSTM(6, 5, 2, direction="bidirect")), ("gru", nn.GRU(6, 5)), ("rnn", nn.SimpleRNN(6, 5))]:
        result[name] = (lambda x, network=network: network(x)[0], random(2, 4, 6))
    return result


def as_layer(paddle, function):
    if isinstance(function, paddle.nn.Layer):
        return function

    class Layer(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            for default in getattr(function, "__defaults__", None) or ():
                self.inner = default  # a network with parameters

        def forward(self, x):
            return function(x)

    return Layer()


def save(paddle, function, x, folder):
    layer = as_layer(paddle, function)
    layer.eval()
    spec = [paddle.static.InputSpec(list(x.shape), str(x.dtype), name="x")]
    paddle.jit.save(paddle.jit.to_static(layer, input_spec=spec, full_graph=True), str(folder / "model"))
    result = paddle.jit.load(str(folder / "model"))(paddle.to_tensor(x))
    return np.asarray(result[0] if isinstance(result, (list, tuple)) else result)


def run(program, x, folder):
    """Return the output, or the error of halfstep."""
    save_file({"x": np.ascontiguousarray(x)}, folder / "in.safetensors")
    done = subprocess.run([program, "run", str(folder), "--inputs", str(folder / "in.safetensors"), "--overwrite", "--outputs",
                           str(folder / "out.safetensors")], capture_output=True, text=True, timeout=600)
    return load_file(folder / "out.safetensors")["out0"] if done.returncode == 0 else done.stderr.strip()


def verdict(found, expected):
    """Return "" if both are equal."""
    if isinstance(found, str):
        return found
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"found {found.dtype}{list(found.shape)}, expected {expected.dtype}{list(expected.shape)}"
    error = np.abs(found.astype(np.float64) - expected).max() / (np.abs(expected).max() or 1)
    return "" if error < 1e-5 else f"differs by {error:.2e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/halfstep")
    parser.add_argument("--legacy", action="store_true")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    if arguments.legacy:
        os.environ["FLAGS_enable_pir_api"] = "0"
    warnings.simplefilter("ignore")
    import paddle
    paddle.seed(1)
    same = bad = left_out = 0
    for name, (function, x) in cases(paddle).items():
        if arguments.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            try:
                expected = save(paddle, function, x, folder)
            except Exception as error:  # Paddle may raise any type.
                left_out += 1
                print(f"{name}: left out: {(str(error).strip().splitlines() or [''])[-1][:100]}")
                continue
            text = verdict(run(arguments.program, x, folder), expected)
        same, bad = same + (not text), bad + bool(text)
        if text:
            print(f"{name}: {text}")
    print(f"{same} the same, {bad} not, {left_out} left out")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
