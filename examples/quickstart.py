#!/usr/bin/env python3
"""Call every main verb once on handwritten digits, from a float network to integers that are proved equal.

usage: examples/quickstart.py [--epochs 20] [--platform generic_int8] [--bits 8]

Needs only halfstep, which includes the network and the images.
"""

import argparse

import halfstep as hs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--platform", default="generic_int8", choices=hs.platforms())
    parser.add_argument("--bits", type=int, default=8)
    given = parser.parse_args()

    data = hs.datasets.digits()  # read once (a path, arrays or a DataLoader also work)
    net = hs.create_network("digits", data, seed=0)
    hs.train(net, data, epochs=given.epochs)
    print(f"float: {hs.evaluate(net, data):.2%}")
    prepared = hs.quantize(net, given.platform, data=data, weight_bits=given.bits, activation_bits=given.bits)
    print(prepared.report)
    print(hs.train(prepared, data, epochs=3))
    program = hs.convert(prepared)
    print(f"integers: {hs.evaluate(program, data):.2%}")
    print(hs.verify(prepared, program, data))
    program.save("digits.safetensors")


if __name__ == "__main__":
    main()
