#!/usr/bin/env python3
"""Train with quantization in your own PyTorch loop, with any loss, optimizer and schedule. The integers are equal.

usage: examples/own_loop.py [--epochs 3] [--bits 4] [--onnx digits_int8.onnx]

The network is a PyTorch module. Its images are the digits of scikit-learn, which Halfstep includes.
Needs torch and onnxscript, and onnxruntime for the last line.
"""

import argparse

import numpy as np
import torch
from torch import nn

import halfstep as hs


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 16, 10),
    )  # fmt: skip


def digits() -> tuple[torch.Tensor, torch.Tensor]:
    arrays = hs.datasets.digits().arrays()
    return torch.from_numpy(arrays["x"]).float() / 16, torch.from_numpy(arrays["labels"]).long()


def fit(module: nn.Module, x: torch.Tensor, y: torch.Tensor, epochs: int, rate: float, what: str) -> None:
    """A plain PyTorch training loop, without any call of Halfstep."""
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=32, shuffle=True)
    optimizer = torch.optim.SGD(module.parameters(), lr=rate, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * len(loader))
    module.train()
    for epoch in range(epochs):
        for images, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(module(images), labels, label_smoothing=0.1)
            loss.backward()
            optimizer.step()
            schedule.step()
        print(f"{what}, epoch {epoch + 1}: loss {loss.item():.3f}")


def accuracy(module: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    with torch.no_grad():
        return (module.eval()(x).argmax(1) == y).float().mean().item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--bits", type=int, default=4)
    parser.add_argument("--onnx", default="digits_int8.onnx")
    given = parser.parse_args()
    torch.manual_seed(0)
    x, y = digits()
    test = torch.arange(len(x)) % 5 == 0
    train_x, train_y, test_x, test_y = x[~test], y[~test], x[test], y[test]

    module = network()
    fit(module, train_x, train_y, 2 * given.epochs, 0.05, "float")
    print(f"float: {accuracy(module, test_x, test_y):.2%}")

    net = hs.from_torch(module.eval(), test_x[:2])
    prepared = hs.quantize(net, "onnxruntime_int8", data=train_x.numpy(), weight_bits=given.bits, activation_bits=given.bits, first_last_bits=8)
    quantized = prepared.as_torch()  # a torch.nn.Module that shares memory with `prepared`
    print(f"calibrated at {given.bits} bits: {accuracy(quantized, test_x, test_y):.2%}")
    fit(quantized, train_x, train_y, given.epochs, 0.002, "quantized")
    print(f"trained: {accuracy(quantized, test_x, test_y):.2%}")

    program = hs.convert(prepared)
    same = np.array_equal(program(test_x), quantized(test_x).numpy())
    print(f"integers: {hs.evaluate_metric(program, (test_x.numpy(), test_y.numpy()), share):.2%}, outputs equal: {same}")
    print(hs.verify(prepared, program, test_x.numpy()))
    hs.export(program, given.onnx)
    print(hs.verify(prepared, program, test_x.numpy(), backend="onnxruntime", exported=given.onnx))


def share(outputs: np.ndarray, labels: np.ndarray) -> float:
    return float((outputs.argmax(1) == labels).mean())


if __name__ == "__main__":
    main()
