#!/usr/bin/env python3
"""Train, quantize and evaluate a language model of characters: bits per character in float, calibrated, fine-tuned,
integer.

usage: bench/language_model.py TEXT NETWORK.onnx [--minutes 25] [--width 256] [--blocks 4] [--context 128] [--cells
       8/8:1 4/8:2] [--pieces 2000] [--rate 1e-4] [--threads 2] [--program build/release/halfstep]

TEXT is a file, such as the King James Bible of Debian's package bible-kjv (`bible -f 'gen1:1-rev22:21' > kjv.txt`).
With --minutes, PyTorch trains a GPT of that size for that time on the first nine tenths, and writes NETWORK.onnx.
Without it, that file is used as it is. Halfstep imports and quantizes the network, and fine-tunes it on --pieces pieces
of the training text (WEIGHTS/ACTIVATIONS:EPOCHS). It converts, verifies on 64 pieces and evaluates all stages on the last
tenth. Exits with 1 if a code differs or fails the semantic check. Needs numpy, and torch and onnxscript for training.
"""
import argparse
import math
import pathlib
import sys
import tempfile
import time

import numpy as np

from program import run


def pieces(text, context):
    """Return ids and the ids that follow them, i64 [pieces, context] each, in the order of the text."""
    letters = {letter: i for i, letter in enumerate(sorted(set(text)))}
    ids = np.array([letters[letter] for letter in text], np.int64)
    count = (len(ids) - 1) // context
    return ids[: count * context].reshape(count, context), ids[1 : count * context + 1].reshape(count, context), len(letters)


def network(letters, width, blocks, context):
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
            self.qkv, self.out, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), max(1, width // 64)
            self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            n, tokens, _ = x.shape
            q, k, v = self.qkv(self.norms[0](x)).view(n, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(seen.transpose(1, 2).reshape(n, tokens, width))
            return x + self.feed(self.norms[1](x))

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.letters, self.places = nn.Embedding(letters, width), nn.Parameter(0.02 * torch.randn(1, context, width))
            self.blocks, self.norm, self.head = nn.Sequential(*(Block() for _ in range(blocks))), nn.LayerNorm(width), nn.Linear(width, letters)

        def forward(self, ids):
            return self.head(self.norm(self.blocks(self.letters(ids) + self.places)))

    torch.manual_seed(0)
    made = Network()
    for parameter in made.parameters():
        if parameter.dim() == 2:
            nn.init.normal_(parameter, std=0.02)
    return made


def train(given, ids, following, letters, path):
    """Train with AdamW for given.minutes. The rate rises over the first twentieth, then falls as half a cosine."""
    import torch

    torch.set_num_threads(given.threads)
    model = network(letters, given.width, given.blocks, given.context)
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=0.05)
    generator, x, y = torch.Generator().manual_seed(0), torch.from_numpy(ids), torch.from_numpy(following)
    start, steps = time.monotonic(), 0
    while (done := (time.monotonic() - start) / (60 * given.minutes)) < 1:
        rate = 1e-3 * min(1, 20 * done + 0.01) * 0.5 * (1 + math.cos(math.pi * done))
        for group in optimizer.param_groups:
            group["lr"] = rate
        chosen = torch.randint(len(x), (8,), generator=generator)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x[chosen]).flatten(0, 1), y[chosen].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        steps += 1
        if steps % 100 == 0:
            print(f"step {steps}, {100 * done:.0f} %: {loss.item() / math.log(2):.3f} bits", file=sys.stderr, flush=True)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters, {steps} steps of {8 * given.context} characters", flush=True)
    model.eval()
    batch = torch.export.Dim("batch")
    torch.onnx.export(model, (x[:2],), path, dynamo=True, input_names=["ids"], output_names=["next"], dynamic_shapes=({0: batch},), external_data=False)


def bits(given, model, data):
    return run(given, "eval", model, "--data", data)[0]["loss"] / math.log(2)


def cell(given, name, in_float, data, folder):
    """Return a row of the table, and whether a code differs or fails the semantic check."""
    bit_widths, epochs = name.split(":")
    weights, activations = bit_widths.split("/")
    prepared, trained, integer = folder / "prepared.safetensors", folder / "trained", folder / "integer.safetensors"
    run(given, "quantize", given.network, "--platform", "generic_int8", "--data", data, "--weight-bits", weights, "--activation-bits", activations, "--overwrite", "--out", prepared)
    calibrated = bits(given, prepared, data)
    run(given, "train", prepared, "--data", data, "--samples", given.pieces, "--epochs", epochs, "--batch", 16, "--learning-rate", given.rate, "--overwrite", "--out", trained)
    run(given, "convert", trained / "model.safetensors", "--overwrite", "--out", integer)
    _, differs = run(given, "verify", trained / "model.safetensors", integer, "--data", data, "--samples", 64, "--semantics", "all")
    tuned, codes = bits(given, trained / "model.safetensors", data), bits(given, integer, data)
    cells = (f"{value:.4f} (+{100 * (value / in_float - 1):.2f} %)" for value in (calibrated, tuned, codes))
    print(f"| W{weights}A{activations} | {' | '.join(cells)} | {epochs} | {'no' if differs else 'yes'} |", flush=True)
    return differs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("network", type=pathlib.Path)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--cells", nargs="*", default=["8/8:1", "4/8:2"])
    parser.add_argument("--pieces", type=int, default=2000)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--program", default="build/release/halfstep")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        data = folder / "text.npz"
        ids, following, letters = pieces(given.text.read_text(), given.context)
        first = len(ids) * 9 // 10
        np.savez(data, ids_train=ids[:first], labels_train=following[:first], ids_test=ids[first:], labels_test=following[first:])
        if given.minutes:
            train(given, ids[:first], following[:first], letters, given.network)
        in_float = bits(given, given.network, data)
        print(f"float: {in_float:.4f} bits per character on {following[first:].size:,} of {following.size:,}\n")
        print("| bit widths | calibrated | fine-tuned | as integers | epochs | codes equal, semantic check |\n| --- | --- | --- | --- | --- | --- |", flush=True)
        differing = [cell(given, name, in_float, data, folder) for name in given.cells]
    sys.exit(1 if any(differing) else 0)


main()
