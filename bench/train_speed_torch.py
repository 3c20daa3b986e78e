"""Training steps of ResNet-20 in PyTorch, float and quantization-aware, for train_speed.py."""
import copy
import time

import torch
from torch import nn
from torch.ao import quantization


def conv_relu(inputs, outputs, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1), nn.ReLU())


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first, self.second = conv_relu(inputs, outputs, stride), nn.Conv2d(outputs, outputs, 3, 1, 1)
        self.shortcut = nn.Conv2d(inputs, outputs, 1, stride) if stride > 1 else nn.Identity()
        self.sum = torch.ao.nn.quantized.FloatFunctional()

    def forward(self, x):
        return self.sum.add_relu(self.second(self.first(x)), self.shortcut(x))


class ResNet20(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [16] * 4 + [32] * 3 + [64] * 3
        blocks = [Block(i, o, 1 if i == o else 2) for i, o in zip(widths, widths[1:])]
        self.body = nn.Sequential(conv_relu(3, 16), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()

    def forward(self, x):
        return self.dequant(self.body(self.quant(x)))


def quantization_aware(network):
    network = copy.deepcopy(network).train()
    pairs = [name for name, module in network.named_modules() if isinstance(module, nn.Sequential) and isinstance(module[-1], nn.ReLU)]
    network = quantization.fuse_modules_qat(network, [[f"{name}.0", f"{name}.1"] for name in pairs])
    network.qconfig = quantization.get_default_qat_qconfig("x86")
    return quantization.prepare_qat(network)


def fixed_ranges(network):
    """Set quantizers to their state late in a training: they have seen data, and observers are off."""
    network = quantization_aware(network)
    network(torch.randn(8, 3, 32, 32))
    return network.apply(quantization.disable_observer)


class PyTorch:
    def __init__(self, given, name, network, compiled, steps, rate):
        self.name, self.steps = name, steps
        network = copy.deepcopy(network).train().to(memory_format=torch.channels_last)
        optimizer = torch.optim.SGD(network.parameters(), lr=rate, momentum=0.9, weight_decay=1e-4)
        forward = torch.compile(network) if compiled else network
        x = torch.randn(given.batch, 3, 32, 32).to(memory_format=torch.channels_last)
        labels = torch.arange(given.batch) % 10

        def step():
            optimizer.zero_grad()
            nn.functional.cross_entropy(forward(x), labels).backward()
            optimizer.step()

        self.step = step
        for _ in range(3):
            step()

    def times(self):
        times = []
        for _ in range(self.steps):
            start = time.perf_counter()
            self.step()
            times.append((time.perf_counter() - start) * 1e3)
        return times


def modules(given, folder, steps, rate):
    """Return the prepared networks in `folder` as modules in a PyTorch loop."""
    try:
        import halfstep
    except ModuleNotFoundError as error:
        print(f"no modules: {error}")
        return
    torch.set_num_threads(given.threads)
    halfstep.set_threads(given.threads)
    for name in ("w8a8", "w4a4"):
        yield PyTorch(given, f"halfstep {name.upper()} as_torch", halfstep.load(folder / name).as_torch(), False, steps, rate)


def pytorches(given, steps, rate):
    torch.set_num_threads(given.threads)
    network = ResNet20()
    for kind, made in (("float", network), ("QAT", quantization_aware(network)), ("QAT, fixed ranges", fixed_ranges(network))):
        yield PyTorch(given, f"PyTorch {kind}", made, False, steps, rate)
        if not given.compile:
            continue
        try:
            yield PyTorch(given, f"PyTorch {kind} compiled", made, True, steps, rate)
        except Exception as error:  # The compiler may lack anything here.
            print(f"PyTorch {kind} is not compiled: {str(error).splitlines()[0]}")
