#!/usr/bin/env python3
"""Measure calls of captured Python functions, and captures of functions such as a training step of ResNet-20.

usage: PYTHONPATH=build/release/gen/python bench/captured_speed.py [--batch 1] [--rounds 7] [--threads 1]

A capture runs the function too. The printed time is the median of the additional time of the captured run over the run
before it, step by step.
"""
import argparse
import statistics
import time
import timeit

import halfstep as hs


class Block(hs.nn.Module):
    """Two convolutions with a shortcut. If the channels grow, the shortcut is halved in size and padded with channels
    of zeros.
    """

    def __init__(self, channels, outputs):
        stride = 1 if channels == outputs else 2
        self.conv1, self.norm1 = hs.nn.Conv2d(channels, outputs, 3, stride, 1, bias=False), hs.nn.BatchNorm2d(outputs)
        self.conv2, self.norm2 = hs.nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), hs.nn.BatchNorm2d(outputs)
        self.stride, self.grown = stride, (outputs - channels) // 2

    def forward(self, x):
        out = self.norm2(self.conv2(self.norm1(self.conv1(x)).relu()))
        if self.grown:
            x = hs.ops.pad(x[:, :, ::2, ::2], hs.zeros(()), pads=[0, self.grown, 0, 0, 0, self.grown, 0, 0])
        return (out + x).relu()


class ResNet20(hs.nn.Module):
    def __init__(self):
        widths = [16, 16, 16, 16, 32, 32, 32, 64, 64, 64]
        self.conv, self.norm = hs.nn.Conv2d(3, 16, 3, 1, 1, bias=False), hs.nn.BatchNorm2d(16)
        self.blocks = hs.nn.Sequential(*(Block(*pair) for pair in zip(widths, widths[1:])))
        self.head = hs.nn.Linear(64, 10)

    def forward(self, x):
        return self.head(self.blocks(self.norm(self.conv(x)).relu()).mean((2, 3)))


def call_time(function, *arrays):
    function(*arrays)
    return min(timeit.repeat(lambda: function(*arrays), number=5_000, repeat=5)) / 5_000 * 1e6


def time_of(run):
    begun = time.perf_counter()
    run()
    return (time.perf_counter() - begun) * 1e3


def step_of_resnet20(given):
    hs.seed(0)
    net = ResNet20()
    optimizer = hs.optim.SGD(net.parameters(), 0.01, momentum=0.9)
    x, labels = hs.uniform((given.batch, 3, 32, 32)), hs.array([k % 10 for k in range(given.batch)], "i64")

    @hs.jit
    def step():
        loss = hs.nn.cross_entropy(net(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def resnet20(given):
    """Return milliseconds of a step in Python, in programs, and the additional time of a capture."""
    step = step_of_resnet20(given)
    eager, captured, extra = [], [], []
    with hs.train_mode():
        step(), step()  # Makes gradients and prepares operators.
        for _ in range(given.rounds):
            step.clear()
            with hs.capture(False):
                eager.append(time_of(step))
            extra.append(time_of(step) - eager[-1])
            step()  # Compiles the program.
            captured.append(time_of(step))
    return tuple(map(statistics.median, (eager, captured, extra)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    hs.set_threads(given.threads)
    a, b, c = (hs.ones((4,)) for _ in range(3))
    print(f"call of one operator            {call_time(hs.jit(lambda x: x + x), a):9.2f} us; step by step {call_time(lambda x: x + x, a):.2f}")
    print(f"call on three arrays, guarded   {call_time(hs.jit(lambda a, b, c: a + b * c), a, b, c):9.2f} us; step by step {call_time(lambda a, b, c: a + b * c, a, b, c):.2f}")
    eager, captured, extra = resnet20(given)
    print(f"a step of ResNet-20, batch {given.batch:<4} {captured:9.2f} ms; step by step {eager:.2f}")
    print(f"what capturing it adds          {extra:9.2f} ms")


if __name__ == "__main__":
    main()
