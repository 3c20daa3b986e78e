#!/usr/bin/env python3
"""Write, train, quantize, verify and export a recurrent network that decides when to stop, with Halfstep alone.

usage: examples/recurrent.py [--steps 200] [--out FOLDER]

A sequence has eight numbers at each step. The class is given by the signs of the sums of the first two. The network
reads until it is sure, so the number of steps depends on the data. A `while_loop` is one operator with a region, in
training, in integers and in C.
"""

import argparse
import pathlib
import tempfile

import numpy as np

import halfstep as hs

LENGTH, WIDTH, HIDDEN, CLASSES = 12, 8, 24, 4


class Reader(hs.nn.Module):
    def __init__(self) -> None:
        self.into = hs.nn.Linear(WIDTH, HIDDEN)
        self.again = hs.nn.Linear(HIDDEN, HIDDEN)
        self.out = hs.nn.Linear(HIDDEN, CLASSES)

    def forward(self, x: hs.array) -> hs.array:
        def goes_on(step: hs.array, hidden: hs.array) -> hs.array:
            unsure = abs(hidden).max() < 0.999
            return (step < float(LENGTH)) & unsure

        def read(step: hs.array, hidden: hs.array) -> tuple[hs.array, hs.array]:
            now = hs.ops.gather(x, step.astype("i64"), axis=1)
            return step + 1.0, (self.into(now) + self.again(hidden)).tanh()

        empty = x[:, 0, :1] * hs.zeros((1, HIDDEN))
        _, hidden = hs.while_loop(goes_on, read, hs.array(0.0), empty, at_most=LENGTH)
        return self.out(hidden)


def sequences(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(seed).standard_normal((count, LENGTH, WIDTH)).astype(np.float32)
    return x, ((x[:, :, 0].sum(1) > 0) + 2 * (x[:, :, 1].sum(1) > 0)).astype(np.int32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--out")
    given = parser.parse_args()
    out = pathlib.Path(given.out or tempfile.mkdtemp())

    hs.seed(1)
    network = Reader()
    optimizer = hs.optim.Adam(network.parameters(), learning_rate=0.01)

    @hs.jit
    def step(x: hs.array, labels: hs.array) -> hs.array:
        loss = hs.nn.cross_entropy(network(x), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    for number in range(given.steps):
        x, labels = sequences(64, number)
        loss = step(hs.array(x), hs.array(labels))
        if number % 50 == 0:
            print(f"step {number}: loss {loss.item():.3f}")

    samples = sequences(256, 10_000)
    prepared = hs.quantize(network, "onnxruntime_int8", data=samples)
    program = hs.convert(prepared, float_fallback=True)
    print(hs.verify(prepared, program, samples).verdict)
    hs.export(program, out / "reader.onnx", format="qoperator", approximate=True)
    fixed = hs.quantize(hs.network(network, x=(1, LENGTH, WIDTH)), "generic_int8", data=samples)
    hs.export(hs.convert(fixed, float_fallback=True), out / "c", format="c", float_fallback=True)
    print("written:", *sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()))


if __name__ == "__main__":
    main()
