#!/usr/bin/env python3
"""Quantize a torchvision classifier from memory, verify its integers by layer name, and show the cost of each bit
width.

usage: examples/from_torch.py [--model resnet18] [--side 64] [--bits 8 6 4]

Weights are random unless --weights names some, and images are random. The output shows equal codes, not accuracy.
Needs torch, torchvision and onnxscript.
"""

import argparse

import torch
import torchvision

import halfstep as hs


def worst(proof: hs.VerifyReport) -> str:
    layer = min(proof.layers, key=lambda layer: layer["sqnr_db"] if layer["sqnr_db"] is not None else 200)
    return f"{layer['name']} ({layer['sqnr_db']:.1f} dB)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--weights")
    parser.add_argument("--side", type=int, default=64)
    parser.add_argument("--bits", type=int, nargs="+", default=[8, 6, 4])
    given = parser.parse_args()
    torch.manual_seed(0)
    module = torchvision.models.get_model(given.model, weights=given.weights).eval()
    images = torch.randn(16, 3, given.side, given.side)

    net = hs.from_torch(module, images[:2])
    print(f"{net!r}\nlayers: {', '.join(list(net.layers)[:5])} ...")
    prepared = hs.quantize(net, "generic_int8", data=images)
    print(repr(prepared.report))
    for bits in given.bits:
        at = hs.change_bits(prepared, "*", weight_bits=bits, activation_bits=bits)  # observed ranges do not change
        proof = hs.verify(at, hs.convert(at), images)
        print(f"{bits} bits: {proof.verdict}; furthest from float: {worst(proof)}")


if __name__ == "__main__":
    main()
