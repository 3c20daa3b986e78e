#!/usr/bin/env python3
"""Train a network on real values and boxes with a sum of two losses, and quantize it. Needs only Halfstep and NumPy.

usage: examples/regression.py [--epochs 20]
"""

import argparse

import numpy as np

import halfstep as hs
from halfstep import nn


class Finder(nn.Module):
    """The box of a bright rectangle in a picture, and its brightness."""

    def __init__(self) -> None:
        self.conv, self.flatten, self.hidden = nn.Conv2d(1, 8, 3, padding=1), nn.Flatten(), nn.Linear(8 * 8 * 8, 32)
        self.box, self.brightness = nn.Linear(32, 4), nn.Linear(32, 1)

    def forward(self, picture: hs.array) -> dict[str, hs.array]:
        x = self.hidden(self.flatten(self.conv(picture).relu())).relu()
        return {"box": self.box(x), "brightness": self.brightness(x)}


def samples(count: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    pictures, boxes = random.uniform(0, 0.1, (count, 1, 8, 8)).astype(np.float32), np.zeros((count, 4), np.float32)
    brightness = random.uniform(0.5, 1, (count, 1)).astype(np.float32)
    for picture, box, value in zip(pictures, boxes, brightness):
        x, y = random.integers(0, 6, 2)
        width, height = random.integers(2, [9 - x, 9 - y])
        picture[0, y : y + height, x : x + width] += value
        box[:] = np.array([x, y, x + width, y + height]) / 8
    return {"x": pictures, "target.box": boxes, "target.brightness": brightness}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=20)
    given = parser.parse_args()

    data = samples(1000)
    net = hs.network(Finder(), picture=(None, 1, 8, 8))
    loss = "giou(output=box) + l1(output=box) * 2 + mse(output=brightness)"
    print(hs.train(net, data, loss=loss, epochs=given.epochs, learning_rate=0.02))
    prepared = hs.quantize(net, "generic_int8", data=data)
    print(hs.verify(prepared, hs.convert(prepared), data))


if __name__ == "__main__":
    main()
