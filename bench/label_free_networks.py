#!/usr/bin/env python3
"""Write the ten networks of label_free.py: torchvision's architectures for 32x32 pixels, trained on the digits, as
ONNX.

usage: bench/label_free_networks.py FOLDER [--digits optdigits.csv.gz] [--epochs 10] [--threads 2] [--only NAME,...]

Writes NAME.onnx for each network, train.npz (x, no labels) and test.npz (x and labels): the digits at 32x32 pixels. The
first 1,000 are for training, each at one of four offsets, which changes in every epoch. The other 797 are for testing,
at all four offsets. Needs torch, torchvision and onnx. Existing networks are kept.
"""
import argparse
import gzip
import pathlib
import time

import numpy as np
import torch
import torchvision.models as zoo
from torch import nn
from torchvision.models import densenet, efficientnet

DIGITS = pathlib.Path(__file__).parent.parent / "models/optdigits.csv.gz"
RATES = {"squeezenet": 5e-4}  # It has no normalizations. The others use 2e-3.
TRAIN, SHIFTS = 1000, ((0, 0), (2, 1), (-1, 2), (1, -2))


def images(path):
    """Return pixels of 0 to 1, [n, 1, 32, 32], each digit at every offset, and their labels, in the file's order."""
    rows = np.loadtxt(gzip.open(path), delimiter=",", dtype=np.int64)
    small = torch.from_numpy(rows[:, :-1].astype(np.float32) / 16).reshape(-1, 1, 8, 8)
    large = nn.functional.interpolate(small, size=(32, 32), mode="bilinear", align_corners=False)
    shifted = torch.stack([large.roll(shift, (2, 3)) for shift in SHIFTS], 1).flatten(0, 1)
    return shifted, torch.from_numpy(np.repeat(rows[:, -1], len(SHIFTS)))


def replace_first(network, make):
    """Replace the first convolution by one with one channel. `make` makes it from the old one's number of output
    channels.
    """
    for module in network.modules():
        for name, child in module.named_children():
            if isinstance(child, nn.Conv2d):
                setattr(module, name, make(child.out_channels))
                return network
    raise ValueError("found no convolution")


def stem(stride):
    return lambda channels: nn.Conv2d(1, channels, 3, stride, 1, bias=False)


def squeezenet():
    network = zoo.squeezenet1_1(num_classes=10)
    return replace_first(network, lambda channels: nn.Conv2d(1, channels, 3, 1, 1))


def efficientnet_b0():
    setting, last = efficientnet._efficientnet_conf("efficientnet_b0", width_mult=0.5, depth_mult=1.0)
    return efficientnet.EfficientNet(setting, dropout=0.1, last_channel=last, num_classes=10)


NETWORKS = {
    "resnet18": lambda: replace_first(zoo.resnet18(num_classes=10), stem(2)),
    "mobilenet_v2": lambda: replace_first(zoo.mobilenet_v2(num_classes=10, width_mult=0.5), stem(1)),
    "mobilenet_v3_small": lambda: replace_first(zoo.mobilenet_v3_small(num_classes=10), stem(1)),
    "efficientnet_b0": lambda: replace_first(efficientnet_b0(), stem(1)),
    "shufflenet_v2": lambda: replace_first(zoo.shufflenet_v2_x0_5(num_classes=10), stem(1)),
    "mnasnet": lambda: replace_first(zoo.mnasnet0_5(num_classes=10), stem(1)),
    "regnet": lambda: replace_first(zoo.regnet_y_400mf(num_classes=10), stem(2)),
    "densenet": lambda: replace_first(densenet.DenseNet(growth_rate=16, block_config=(3, 4, 4, 3), num_init_features=32, num_classes=10), stem(1)),
    "googlenet": lambda: replace_first(zoo.googlenet(num_classes=10, aux_logits=False, init_weights=True), stem(2)),
    "squeezenet": squeezenet,
}


def accuracy(network, x, labels):
    network.eval()
    with torch.no_grad():
        return torch.cat([network(part).argmax(1) for part in x.split(256)]).eq(labels).float().mean().item()


def train(network, x, labels, epochs, rate):
    for module in network.modules():  # MNASNet's own momenta are too slow for a few hundred steps
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = 0.1
    optimizer = torch.optim.AdamW(network.parameters(), weight_decay=1e-3)
    steps = epochs * (len(x) // len(SHIFTS) // 64)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    for _ in range(epochs):
        network.train()
        for part in torch.randperm(len(x))[: steps // epochs * 64].split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(x[part]), labels[part]).backward()
            optimizer.step()
            schedule.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--digits", type=pathlib.Path, default=DIGITS)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default=",".join(NETWORKS))
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    given.folder.mkdir(parents=True, exist_ok=True)
    x, labels = images(given.digits)
    cut = TRAIN * len(SHIFTS)
    one_each = torch.arange(TRAIN) * len(SHIFTS) + torch.arange(TRAIN) % len(SHIFTS)
    np.savez(given.folder / "train.npz", x=x[one_each].numpy())
    np.savez(given.folder / "test.npz", x=x[cut:].numpy(), labels=labels[cut:].numpy().astype(np.int32))
    for name in given.only.split(","):
        path = given.folder / f"{name}.onnx"
        if path.exists():
            continue
        torch.manual_seed(0)
        begin = time.monotonic()
        network = NETWORKS[name]()
        train(network, x[:cut], labels[:cut], given.epochs, RATES.get(name, 2e-3))
        print(f"{name}: {100 * accuracy(network, x[cut:], labels[cut:]):.2f} %, {time.monotonic() - begin:.0f} s", flush=True)
        torch.onnx.export(network.eval(), (x[:2],), path, input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: "n"}, "y": {0: "n"}}, dynamo=False)


if __name__ == "__main__":
    main()
