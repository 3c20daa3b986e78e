#!/usr/bin/env python3
"""Train a network of halfstep.nn from random weights, convert it to integers and prove them equal. Needs only Halfstep.

usage: examples/own_network.py [--epochs 5] [--platform generic_int8]
"""

import argparse

import halfstep as hs
from halfstep import nn


class Digits(nn.Module):
    def __init__(self) -> None:
        self.conv1, self.bn1 = nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.conv2, self.bn2 = nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32)
        self.pool, self.flatten, self.head = nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 10)

    def forward(self, image: hs.array) -> hs.array:
        x = self.bn1(self.conv1(image)).relu()
        x = self.pool(self.bn2(self.conv2(x)).relu())
        return self.head(self.flatten(x))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--platform", default="generic_int8", choices=hs.platforms())
    given = parser.parse_args()

    hs.seed(0)  # sets the first weights
    data = hs.datasets.digits()
    net = hs.network(Digits(), image=(None, 1, 8, 8))
    print(hs.train(net, data, epochs=given.epochs, preprocess={"scale": 1 / 16}))
    prepared = hs.quantize(net, given.platform, data=data)
    print(hs.train(prepared, data, epochs=2))
    program = hs.convert(prepared)
    print(f"float {hs.evaluate(net, data):.2%}, integers {hs.evaluate(program, data):.2%}")
    print(hs.verify(prepared, program, data))
    program.save("own_network.safetensors")


if __name__ == "__main__":
    main()
