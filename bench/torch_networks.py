#!/usr/bin/env python3
"""Import networks of torchvision and transformers through halfstep.from_torch, and compare their outputs with
PyTorch's.

usage: bench/torch_networks.py [--only TEXT] [--list]

Weights are random, and batches have sizes that the export has not seen. Prints for each network the seconds of the
import and the largest difference of an output as a share of the largest output, or the error. Needs torch, torchvision
and onnxscript, and transformers for BERT and GPT-2. Exits with 1 if a network is neither imported nor refused with the
name of the missing operator, or if outputs differ from PyTorch's.
"""
import argparse
import sys
import time
import warnings

import numpy as np
import torch
import torchvision

import halfstep as hs

CLOSE = 2e-3  # tolerance for float32 sums in another order, through hundreds of layers
SIDES = {"inception_v3": 299, "vit_h_14": 224}


class Backbone(torch.nn.Module):
    """Returns the maps of a detector as a tuple."""

    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, x):
        return tuple(self.body(x).values())


class Transformer(torch.nn.Module):
    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, input_ids):
        return self.network(input_ids=input_ids, use_cache=False).last_hidden_state if hasattr(self.network.config, "n_layer") else self.network(
            input_ids=input_ids).last_hidden_state


def images(side):
    return lambda batch: torch.randn(batch, 3, side, side)


def classifiers():
    for name in torchvision.models.list_models(module=torchvision.models):
        extra = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
        yield name, lambda name=name, extra=extra: torchvision.models.get_model(name, weights=None, **extra), images(SIDES.get(name, 224))


def detectors():
    from torchvision.models import detection
    yield "fasterrcnn_resnet50_fpn.backbone", lambda: Backbone(detection.fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None).backbone), images(128)
    yield "ssdlite320_mobilenet.backbone", lambda: Backbone(
        detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None).backbone), images(320)


def transformers():
    try:
        from transformers import BertConfig, BertModel, GPT2Config, GPT2Model
    except ImportError as error:
        print(f"no BERT and GPT-2: {error}")
        return
    ids = lambda batch: torch.randint(0, 1000, (batch, 32))
    bert = BertConfig(hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256, vocab_size=1000)
    gpt2 = GPT2Config(n_embd=128, n_layer=2, n_head=4, vocab_size=1000, n_positions=64)
    yield "bert", lambda: Transformer(BertModel(bert)), ids
    yield "gpt2", lambda: Transformer(GPT2Model(gpt2)), ids


def outputs_of(module, x):
    with torch.no_grad():
        found = module.eval()(x)
    return [value.numpy() for value in (found if isinstance(found, tuple) else (found,))]


def difference(network, module, x):
    wanted = outputs_of(module, x)
    found = list(network.run(x.numpy()).values())
    return max(float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30)) for a, b in zip(found, wanted, strict=True))


def measure(name, make, sample):
    torch.manual_seed(0)
    module = make()
    begin = time.perf_counter()
    try:
        network = hs.from_torch(module, sample(1))
    except hs.UnsupportedError as error:
        print(f"{name:<34}{'-':>8}{'-':>12}  {error}", flush=True)
        return True
    except hs.Error as error:
        print(f"{name:<34}{'-':>8}{'-':>12}  {error}", flush=True)
        return False
    seconds = time.perf_counter() - begin
    batch = 2 if next(iter(network.inputs.values()))[1][0] is None else 1
    found = difference(network, module, sample(batch))
    fixed = "" if batch == 2 else "  the batch stays 1"
    print(f"{name:<34}{seconds:8.1f}{found:12.1e}{fixed}", flush=True)
    return found < CLOSE


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true", help="names alone")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    chosen = [case for source in (classifiers, detectors, transformers) for case in source() if given.only in case[0]]
    if given.list:
        print("\n".join(name for name, *_ in chosen))
        return 0
    print(f"{'network':<34}{'seconds':>8}{'difference':>12}")
    good = [measure(*case) for case in chosen]
    print(f"{sum(good)} of {len(good)} networks")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
