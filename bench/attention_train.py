#!/usr/bin/env python3
"""Compare a training step of a vision transformer for 32 x 32 pixels, in float and on codes, with PyTorch's float step.

usage: bench/attention_train.py NETWORK.onnx [--batch 64] [--steps 12] [--rounds 3] [--threads 2] [--program
       build/release/halfstep]

NETWORK is an image classifier that `halfstep train` accepts. PyTorch's is the one of this project's measurements (three
convolutions, five blocks of 96 with three heads and 288 hidden units), eager, with SGD. Images and labels are
random. It prints medians of milliseconds over rounds in which both take turns, and ratios to Halfstep's float step.
Needs numpy and onnx. Without torch its column is missing.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np
import onnx

try:
    import torch
    from torch import nn
except ImportError:
    torch = None


def torch_network():
    class Block(nn.Module):
        def __init__(self, width=96, heads=3, hidden=288):
            super().__init__()
            self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
            self.qkv, self.out, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads
            self.feed = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))

        def forward(self, x):
            n, tokens, width = x.shape
            q, k, v = self.qkv(self.norms[0](x)).view(n, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            seen = nn.functional.scaled_dot_product_attention(q, k, v)
            x = x + self.out(seen.transpose(1, 2).reshape(n, tokens, width))
            return x + self.feed(self.norms[1](x))

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            parts = [nn.Conv2d(3, 32, 3, 1, 1), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU(), nn.Conv2d(64, 96, 3, 2, 1)]
            self.stem, self.position = nn.Sequential(*parts), nn.Parameter(torch.zeros(1, 64, 96))
            self.blocks, self.norm, self.head = nn.Sequential(*(Block() for _ in range(5))), nn.LayerNorm(96), nn.Linear(96, 10)

        def forward(self, x):
            tokens = self.stem(x).flatten(2).transpose(1, 2) + self.position
            return self.head(self.norm(self.blocks(tokens)).mean(1))

    return Network()


class Torch:
    def __init__(self, given):
        torch.set_num_threads(given.threads)
        self.network, self.steps = torch_network(), given.steps
        self.optimizer = torch.optim.SGD(self.network.parameters(), 1e-3, momentum=0.9)
        self.x, self.y = torch.randn(given.batch, 3, 32, 32), torch.randint(0, 10, (given.batch,))

    def milliseconds(self):
        times = []
        for _ in range(self.steps):
            start = time.perf_counter()
            self.optimizer.zero_grad()
            nn.functional.cross_entropy(self.network(self.x), self.y).backward()
            self.optimizer.step()
            times.append((time.perf_counter() - start) * 1e3)
        return statistics.median(times[2:])


class Halfstep:
    def __init__(self, given, model, data, folder):
        self.command = [given.program, "train", model, "--data", data, "--epochs", 1, "--batch", given.batch, "--threads", given.threads, "--overwrite", "--out", folder / "run", "--json"]

    def milliseconds(self):
        done = subprocess.run([str(word) for word in self.command], check=True, capture_output=True, text=True, timeout=6000)
        return json.loads(done.stdout)["step_milliseconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--program", default="build/release/halfstep")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        data, prepared = folder / "data.npz", folder / "prepared.safetensors"
        generator, count = np.random.default_rng(0), given.batch * given.steps * 5 // 4  # a fifth is for tests
        graph = onnx.load(given.network).graph
        image, classes = ([dim.dim_value for dim in value.type.tensor_type.shape.dim][1:] for value in (graph.input[0], graph.output[0]))
        np.savez(data, x=generator.standard_normal((count, *image), np.float32), y=np.arange(count) % classes[0])
        subprocess.run([given.program, "quantize", given.network, "--platform", "generic_int8", "--data", data, "--overwrite", "--out", prepared], check=True, capture_output=True)
        steps = {"halfstep float": Halfstep(given, given.network, data, folder), "halfstep W8A8": Halfstep(given, prepared, data, folder)}
        if torch:
            steps["torch float"] = Torch(given)
        times = {name: [] for name in steps}
        for _ in range(given.rounds):
            for name, step in steps.items():
                times[name].append(step.milliseconds())
    base = statistics.median(times["halfstep float"])
    for name, own in times.items():
        print(f"{name:16}{statistics.median(own):10.1f} ms{statistics.median(own) / base:8.2f}")


if __name__ == "__main__":
    main()
