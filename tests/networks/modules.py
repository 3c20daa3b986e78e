#!/usr/bin/env python3
"""Random PyTorch modules, exported to ONNX and checked by `halfstep fuzz --networks`.

usage: tests/networks/modules.py [--count 100] [--seed 0] [--jobs 2] [--program build/release/halfstep] [--out FOLDER]

Each seed determines one module: layers of torch.nn and functional code, exported by one of the two exporters, with a
batch of 1 or a dynamic one. The file contains PyTorch's own outputs, so that the import is compared with them. Exit
code 1 means a finding. With --out the networks and the report stay there.
"""
import argparse
import contextlib
import io
import json
import multiprocessing
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SAMPLES = 12
OPSET = 18
LIMIT = 7200  # seconds for all networks, to catch hangs only


class Do(nn.Module):
    """A module that computes a function of its layers and its inputs."""

    def __init__(self, function, *layers, **tensors):
        super().__init__()
        self.function = function
        self.layers = nn.ModuleList(layers)
        for name, tensor in tensors.items():
            setattr(self, name, nn.Parameter(tensor))

    def forward(self, x):
        return self.function(self, x)


class Maker:
    """Grows a module part by part. `shape` is the input of the next part: (c, h, w), (t, f) or (f,)."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        torch.manual_seed(seed)
        self.parts = []
        self.shape = self.random.choice([self.image_shape(), self.image_shape(), self.rows_shape(), (self.random.randint(4, 12),)])

    def image_shape(self):
        size = self.random.choice([6, 8, 12])
        return (self.random.randint(1, 4), size, size)

    def rows_shape(self):
        return (self.random.randint(3, 8), self.random.choice([4, 6, 8]))

    def one_of(self, *choices):
        return self.random.choice(choices)

    def chance(self, share):
        return self.random.random() < share

    def add(self, part, shape=None):
        self.parts.append(part)
        self.shape = shape or self.shape

    def activation(self):
        return self.one_of(nn.ReLU(), nn.ReLU(), nn.ReLU6(), nn.LeakyReLU(0.1), nn.Hardswish(), nn.SiLU(), nn.GELU(), nn.Tanh(), nn.Sigmoid(),
                           nn.Hardtanh(-1.5, 2.0), nn.ELU(), nn.Softplus(), nn.Identity(), nn.PReLU(), nn.Mish())

    # Images.

    def conv(self):
        c, h, w = self.shape
        out, groups = self.random.randint(2, 6), 1
        if self.chance(0.25):
            groups, out = c, c
        kernel = self.one_of(1, 3, 3)
        stride = self.one_of(1, 1, 2) if h >= 6 else 1
        layer = nn.Conv2d(c, out, kernel, stride, kernel // 2, groups=groups, bias=self.chance(0.5))
        norm = nn.BatchNorm2d(out) if self.chance(0.6) else nn.Identity()
        self.add(nn.Sequential(layer, norm, self.activation()), (out, (h + stride - 1) // stride, (w + stride - 1) // stride))

    def pre_activation(self):
        c, h, w = self.shape
        out = self.random.randint(2, 5)
        block = nn.Sequential(nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, out, 3, padding=1, bias=False))
        if self.chance(0.5):
            self.add(Do(lambda m, x: torch.cat([x, m.layers[0](x)], 1), block), (c + out, h, w))
        else:
            self.add(block, (out, h, w))

    def skip(self):
        c = self.shape[0]
        block = nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.BatchNorm2d(c), self.activation(), nn.Conv2d(c, c, 1, bias=self.chance(0.5)))
        norm = nn.BatchNorm2d(c)
        self.add(self.one_of(Do(lambda m, x: F.relu(x + m.layers[0](x)), block), Do(lambda m, x: m.layers[1](x + m.layers[0](x)), block, norm),
                             Do(lambda m, x: x * torch.sigmoid(m.layers[0](x)), block)))

    def tail(self):
        """A layer and per-channel numbers, in the forms that torch code uses."""
        c = self.shape[0]
        layer = nn.Conv2d(c, c, 3, padding=1, bias=self.chance(0.5))
        a, b = torch.rand(c, 1, 1) + 0.5, torch.randn(c, 1, 1) * 0.5
        self.add(self.one_of(
            Do(lambda m, x: m.layers[0](x) * m.a + m.b, layer, a=a, b=b),
            Do(lambda m, x: (m.layers[0](x) - m.b) / m.a, layer, a=a, b=b),
            Do(lambda m, x: m.layers[0](x) * m.a.view(1, -1, 1, 1) + m.b.view(1, -1, 1, 1), layer, a=a.flatten(), b=b.flatten()),
            Do(lambda m, x: torch.clamp(m.layers[0](x) + m.b, max=4.0), layer, b=b),
            Do(lambda m, x: (x - m.b) / m.a, a=a, b=b),
            Do(lambda m, x: m.layers[0](x) / 3.0 + 0.25, layer)))

    def resize(self):
        c, h, w = self.shape
        kind = self.one_of("fixed", "like", "scale", "pool")
        if kind == "fixed":
            size = (self.random.randint(4, 10), self.random.randint(4, 10))
            mode = self.one_of("nearest", "bilinear")
            self.add(Do(lambda m, x: F.interpolate(x, size=size, mode=mode)), (c, *size))
        elif kind == "like" and h >= 4:
            layer = nn.Conv2d(c, c, 3, stride=2, padding=1)
            self.add(Do(lambda m, x: x + F.interpolate(m.layers[0](x), size=x.shape[2:]), layer))
        elif kind == "scale" and h <= 8:
            self.add(nn.Upsample(scale_factor=2, mode=self.one_of("nearest", "bilinear")), (c, 2 * h, 2 * w))
        else:
            self.add(nn.AdaptiveAvgPool2d((h // 2, w // 2)) if h % 2 == 0 else nn.Identity(), (c, h // 2, w // 2) if h % 2 == 0 else None)

    def image_norm(self):
        c = self.shape[0]
        self.add(self.one_of(nn.GroupNorm(1, c), nn.InstanceNorm2d(c, affine=True), nn.BatchNorm2d(c), nn.Dropout(0.1)))

    def attention_of_channels(self):
        c = self.shape[0]
        squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(c, c, 1), nn.ReLU(), nn.Conv2d(c, c, 1), nn.Hardsigmoid())
        self.add(Do(lambda m, x: x * m.layers[0](x), squeeze))

    def move(self):
        c, h, w = self.shape
        kind = self.one_of("chunk", "pad", "flip", "coordinates", "pool", "shuffle")
        if kind == "chunk" and c % 2 == 0:
            self.add(Do(lambda m, x: torch.cat([torch.relu(x.chunk(2, 1)[0]), x.chunk(2, 1)[1]], 1)))
        elif kind == "pad":
            self.add(Do(lambda m, x: F.pad(x, (1, 1, 0, 1))), (c, h + 1, w + 2))
        elif kind == "flip":
            self.add(Do(lambda m, x: torch.cat([x, x.flip(3)], 1)), (2 * c, h, w))
        elif kind == "coordinates":
            self.add(Do(lambda m, x: torch.cat([x, (torch.arange(x.shape[3]) / x.shape[3]).expand(x.shape[0], 1, x.shape[2], x.shape[3])], 1)),
                     (c + 1, h, w))
        elif kind == "shuffle" and c % 2 == 0:
            self.add(nn.ChannelShuffle(2))
        elif h >= 4 and w >= 4:
            self.add(self.one_of(nn.MaxPool2d(2), nn.AvgPool2d(2)), (c, h // 2, w // 2))

    def end_image(self):
        c, h, w = self.shape
        kind = self.one_of("mean", "flatten", "rows", "rows")
        if kind == "mean":
            self.add(Do(lambda m, x: x.mean((2, 3))), (c,))
        elif kind == "flatten":
            self.add(nn.Flatten(), (c * h * w,))
        else:
            self.add(Do(lambda m, x: x.flatten(2).transpose(1, 2)), (h * w, c))

    # Rows: [n, t, f].

    def linear(self):
        t, f = self.shape
        out = self.one_of(4, 6, 8)
        layer = nn.Linear(f, out, bias=self.chance(0.7))
        kind = self.one_of("plain", "norm", "tail", "batch_norm", "shared")
        if kind == "plain":
            self.add(nn.Sequential(layer, self.activation()), (t, out))
        elif kind == "norm":
            self.add(nn.Sequential(nn.LayerNorm(f), layer), (t, out))
        elif kind == "tail":
            self.add(Do(lambda m, x: m.layers[0](x) * m.a + m.b, layer, a=torch.rand(out) + 0.5, b=torch.randn(out)), (t, out))
        elif kind == "batch_norm":
            self.add(Do(lambda m, x: m.layers[1](m.layers[0](x).transpose(1, 2)).transpose(1, 2), layer, nn.BatchNorm1d(out)), (t, out))
        else:
            square, norm = nn.Linear(f, f), nn.LayerNorm(f)
            self.add(Do(lambda m, x: m.layers[1](m.layers[0](m.layers[1](torch.relu(m.layers[0](x))))), square, norm), (t, f))

    def attention(self):
        t, f = self.shape
        heads = 2
        parts = nn.Linear(f, 3 * f), nn.Linear(f, f), nn.LayerNorm(f)
        causal = self.chance(0.3)

        def attend(m, x):
            n, t, f = x.shape
            q, k, v = (p.reshape(n, t, heads, f // heads).transpose(1, 2) for p in m.layers[0](m.layers[2](x)).chunk(3, -1))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
            return x + m.layers[1](y.transpose(1, 2).reshape(n, t, f))

        if f % 2 == 0:
            self.add(Do(attend, *parts))

    def recurrent(self):
        t, f = self.shape
        out = self.one_of(4, 6)
        cell = self.one_of(nn.GRU, nn.LSTM, nn.RNN)(f, out, batch_first=True)
        self.add(Do(lambda m, x: m.layers[0](x)[0], cell), (t, out))

    def place(self):
        """Positions, tokens, and rows at computed positions."""
        t, f = self.shape
        kind = self.one_of("positions", "token", "reversed", "masked", "cumsum", "conv")
        if kind == "positions":
            self.add(Do(lambda m, x: x + m.layers[0](torch.arange(x.shape[1])), nn.Embedding(t + 2, f)))
        elif kind == "token":
            self.add(Do(lambda m, x: torch.cat([m.token.expand(x.shape[0], -1, -1), x], 1), token=torch.randn(1, 1, f)), (t + 1, f))
        elif kind == "reversed":
            self.add(Do(lambda m, x: x[:, torch.arange(t - 1, -1, -1)]))
        elif kind == "masked":
            self.add(Do(lambda m, x: x.masked_fill((torch.arange(x.shape[1]) > 1)[None, :, None], 0.0) + x))
        elif kind == "cumsum":
            self.add(Do(lambda m, x: x.cumsum(1) / torch.arange(1, t + 1).view(1, -1, 1)))
        else:
            self.add(Do(lambda m, x: m.layers[0](x.transpose(1, 2)).transpose(1, 2), nn.Conv1d(f, f, 3, padding=1)))

    def end_rows(self):
        t, f = self.shape
        kind = self.one_of("mean", "first", "last", "computed", "max")
        k = self.random.randrange(t)
        function = {
            "mean": lambda m, x: x.mean(1),
            "first": lambda m, x: x[:, 0],
            "last": lambda m, x: x[:, -1],
            "computed": lambda m, x: x[torch.arange(x.shape[0]), torch.full((x.shape[0],), k)],
            "max": lambda m, x: x.amax(1),
        }[kind]
        self.add(Do(function), (f,))

    # One row per sample.

    def dense(self):
        (f,) = self.shape
        out = self.random.randint(3, 8)
        layer = nn.Linear(f, out)
        if self.chance(0.3):
            self.add(Do(lambda m, x: x + m.layers[1](torch.relu(m.layers[0](x))), layer, nn.Linear(out, f)))
        else:
            self.add(nn.Sequential(layer, nn.BatchNorm1d(out) if self.chance(0.4) else nn.Identity(), self.activation()), (out,))

    def row_norm(self):
        (f,) = self.shape
        self.add(self.one_of(nn.LayerNorm(f), nn.BatchNorm1d(f), nn.Softmax(1), nn.Hardtanh(), Do(lambda m, x: x.clamp(min=-0.5))))

    def grow(self):
        images = [self.conv, self.conv, self.conv, self.pre_activation, self.skip, self.tail, self.tail, self.resize, self.image_norm,
                  self.attention_of_channels, self.move, self.move]
        rows = [self.linear, self.linear, self.linear, self.attention, self.recurrent, self.place, self.place]
        for kind, steps, end in ((3, images, self.end_image), (2, rows, self.end_rows), (1, [self.dense, self.dense, self.row_norm], None)):
            if len(self.shape) != kind:
                continue
            for _ in range(self.random.randint(1, 4)):
                self.random.choice(steps)()
            if end is not None and (self.chance(0.8) or kind == 2):
                end()
        return nn.Sequential(*self.parts)


def settle(module):
    """Statistics and factors as after training."""
    for part in module.modules():
        if isinstance(part, (nn.BatchNorm1d, nn.BatchNorm2d)):
            part.running_mean.normal_(0, 0.3)
            part.running_var.uniform_(0.5, 2)
        if isinstance(part, (nn.BatchNorm1d, nn.BatchNorm2d, nn.LayerNorm, nn.GroupNorm, nn.InstanceNorm2d)) and part.weight is not None:
            nn.init.uniform_(part.weight, 0.5, 1.5)
            nn.init.normal_(part.bias, 0, 0.3)
    return module.eval()


def export(module, samples, batch, dynamo, path):
    """Writes the ONNX file. `batch` 0 makes the batch dynamic."""
    example = samples[:batch or 2]
    names = {"input_names": ["x"], "output_names": ["y"], "opset_version": OPSET}
    if dynamo:
        shapes = None if batch else ({0: torch.export.Dim("n")},)
        torch.onnx.export(module, (example,), path, dynamo=True, external_data=False, dynamic_shapes=shapes, verbose=False, **names)
    else:
        axes = None if batch else {"x": {0: "n"}, "y": {0: "n"}}
        torch.onnx.export(module, (example,), path, dynamo=False, dynamic_axes=axes, **names)


def write(task):
    """Writes one network into the folder. Returns the reason when the exporter does not accept the module."""
    seed, folder = task
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    maker = Maker(seed)
    shape = maker.shape
    dynamo, batch = maker.chance(0.5), maker.one_of(0, 1)
    with torch.no_grad():
        module = settle(maker.grow())
        spread = 2 ** (-4 * torch.rand(SAMPLES, *[1] * len(shape))) if maker.chance(0.5) else 1.0
        samples = torch.randn(SAMPLES, *shape) * spread
        expected = module(samples)
        stem = folder / f"module_{seed:06}"
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                export(module, samples, batch, dynamo, f"{stem}.onnx")
        except Exception as error:  # whatever an exporter throws
            pathlib.Path(f"{stem}.onnx").unlink(missing_ok=True)
            return f"{type(error).__name__}: {str(error).splitlines()[0][:100]}"
    np.savez(f"{stem}.npz", x=samples.numpy())
    np.savez(f"{stem}.expected.npz", y=expected.numpy())
    facts = {"samples": SAMPLES, "batch": batch or 2, "rows": True, "plain": False, "dynamic_batch": batch == 0}
    pathlib.Path(f"{stem}.json").write_text(json.dumps(facts), encoding="utf-8")
    pathlib.Path(f"{stem}.txt").write_text(f"{'dynamo' if dynamo else 'torchscript'}, batch {batch or 'dynamic'}\n{module}\n", encoding="utf-8")
    return None


def look(program, folder, jobs):
    """The report on all networks of the folder."""
    command = [str(program), "fuzz", "--networks", str(folder), "--json", "--threads", str(jobs)]
    environment = dict(os.environ)
    environment.setdefault("HALFSTEP_PYTHON", sys.executable)
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT, env=environment)
    if not ended.stdout:
        raise SystemExit(f"{' '.join(command)}: exit {ended.returncode}\n{ended.stderr}")
    return json.loads(ended.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--program", type=pathlib.Path, default=os.environ.get("HALFSTEP_PROGRAM", ROOT / "build/release/halfstep"))
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = options.out or pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="halfstep-modules-")))
        folder.mkdir(parents=True, exist_ok=True)
        tasks = [(seed, folder) for seed in range(options.seed, options.seed + options.count)]
        with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
            refused = [reason for reason in pool.map(write, tasks, chunksize=4) if reason]
        report = look(options.program, folder, options.jobs)
        if options.out:
            (folder / "report.json").write_text(json.dumps(report, indent=2), encoding="utf-8")
    for reason in sorted(set(refused)):
        print(f"{refused.count(reason):6} not exported: {reason}")
    for check, verdicts in report["outcomes"].items():
        print(f"{check:12} " + ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()))
    quality = report["quality"].get("all", {})
    print(f"{report['graphs']} networks, {report['converted']} integer programs, {report['without_fallbacks']} without float operators, "
          f"median {quality.get('sqnr_db', 0):.1f} dB")
    for finding in report["findings"]:
        print(f"found: {finding['files']}, {finding['check']}: {finding['what']}; target {finding['target']}")
    print(f"{len(report['findings'])} found")
    return 1 if report["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
