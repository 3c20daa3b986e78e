"""Networks that no record of MQBench has, on its 14 back ends: with `--as mqbench` quantizers stand where its rules put them.

The rules are a witness (mqbench_rules.py), which is held against what the real MQBench recorded. Needs torch and, but
for the records, torchvision.
"""

import importlib
import json
import math
import os
import pathlib
import sys
from unittest import mock

import pytest

import halfstep as hs

np = pytest.importorskip("numpy")
rules = pytest.importorskip("mqbench_rules")
torch, fx, nn, F = rules.torch, rules.fx, rules.nn, rules.F

FOLDER = pathlib.Path(os.environ.get("HALFSTEP_TEST_DATA", "")) / "platforms" / "mqbench"
needs_records = pytest.mark.skipif(not FOLDER.is_dir(), reason="there are no records of MQBench (HALFSTEP_TEST_DATA)")


@pytest.fixture
def recorders(monkeypatch):
    """The scripts that made the records, for their networks; MQBench and files they need only to record."""
    of_mqbench = ("", ".prepare_by_platform", ".utils", ".utils.state", ".utils.logger")
    for name in (*(f"mqbench{part}" for part in of_mqbench), "onnx", "onnxruntime", "safetensors", "safetensors.numpy"):
        monkeypatch.setitem(sys.modules, name, mock.MagicMock())
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("make_mqbench", "make_cases"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("make_mqbench"), importlib.import_module("make_cases")


@needs_records
def test_the_witness_has_the_recorded_quantizers_in_their_order(recorders):
    networks, cases = recorders
    count = 0
    chains = json.loads((FOLDER / "cases_head.json").read_text())["chains"]
    for name, rows in chains.items():
        traced = rules.trace(cases.CHAINS[name]())
        for backend, theirs in ((backend, row["result"]) for row in rows for backend in row["backends"]):
            if "error" not in theirs:
                assert [unit.name for unit in rules.inserted(traced, backend)] == theirs["act"], (name, backend)
                count += 1
    for name, (network, _) in networks.NETS.items():
        traced = rules.trace(network())
        for backend in rules.BACKENDS:
            record = json.loads((FOLDER / name / "head" / f"{backend}.json").read_text())
            theirs = [one["follows"]["node"] for one in record["activation_quantizers"]]
            assert [unit.name for unit in rules.inserted(traced, backend)] == theirs, (name, backend)
            count += 1
    assert count == 674 + 112


class PreActivation(nn.Module):
    """Normalizations and activations in front of layers, and means that do not keep height and width."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.norms = nn.ModuleList(nn.BatchNorm2d(4) for _ in range(3))
        self.last = nn.Linear(4, 3)

    def forward(self, x):
        x = self.first(x)
        y = self.second(F.relu(self.norms[0](x)))
        x = self.norms[1](x + y)
        return self.last(F.relu(self.norms[2](x * y)).mean((2, 3)) + x.mean([2, 3]))


class Parts(nn.Module):
    """Parts of values, by chunk, by slices and by a number."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3), nn.Conv2d(4, 4, 1)
        self.last = nn.Linear(6, 3)

    def forward(self, x):
        a, b = self.first(x).chunk(2, 1)
        y = torch.cat([a, self.second(b)], 1)
        y = F.max_pool2d(y[:, :4], 2) + F.adaptive_avg_pool2d(y[:, :4, ::2, ::2], 1)
        return self.last(F.pad(y[:, 0].mean(1), (0, 3)))


def slim(module, by=8):
    """The same layers with fewer channels: who they are does not change."""
    fewer = lambda count: max(1, count // by)  # noqa: E731
    for name, part in list(module.named_children()):
        if type(part) is nn.Conv2d:
            inputs = part.in_channels if part.in_channels == 3 else fewer(part.in_channels)
            groups = inputs if part.groups == part.in_channels else math.gcd(part.groups, inputs)
            bias = part.bias is not None
            made = nn.Conv2d(inputs, fewer(part.out_channels), part.kernel_size, part.stride, part.padding, part.dilation, groups, bias)
            setattr(module, name, made)
        elif type(part) is nn.BatchNorm2d:
            setattr(module, name, nn.BatchNorm2d(fewer(part.num_features)))
        elif type(part) is nn.Linear:
            setattr(module, name, nn.Linear(fewer(part.in_features), fewer(part.out_features), part.bias is not None))
        else:
            slim(part, by)
    return module


def of_torchvision(make, fewer=8):
    def network():
        models = pytest.importorskip("torchvision.models")
        return slim(make(models), fewer), 32

    return network


def small_regnet(models):
    stages = models.regnet.BlockParams([1, 2], [16, 32], [8, 8], [1.0, 1.0], [2, 2], 0.25)
    return models.RegNet(stages, num_classes=10)


def small_efficientnet(models):
    config = models.efficientnet.MBConvConfig
    return models.EfficientNet([config(1, 3, 1, 32, 16, 1), config(6, 3, 2, 16, 24, 2)], dropout=0.2, num_classes=10)


NETWORKS = {
    "pre_activation": lambda: (PreActivation(), 8),
    "parts": lambda: (Parts(), 8),
    "googlenet": of_torchvision(lambda models: models.googlenet(aux_logits=False, init_weights=False)),
    "mobilenet_v2": of_torchvision(lambda models: models.mobilenet_v2()),
    "mobilenet_v3": of_torchvision(lambda models: models.mobilenet_v3_small()),
    "mnasnet": of_torchvision(lambda models: models.mnasnet0_5()),
    "shufflenet": of_torchvision(lambda models: models.shufflenet_v2_x0_5()),
    "squeezenet": of_torchvision(lambda models: models.squeezenet1_1(num_classes=16)),
    "densenet": of_torchvision(lambda models: models.DenseNet(4, (1, 2), 8, num_classes=10), 1),
    "regnet": of_torchvision(small_regnet, 1),
    "efficientnet": of_torchvision(small_efficientnet, 1),
}


class Values(fx.Interpreter):
    """What every node gives."""

    def __init__(self, traced):
        super().__init__(traced)
        self.of = {}

    def run_node(self, n):
        result = super().run_node(n)
        self.of[n] = result.detach().clone().numpy() if isinstance(result, torch.Tensor) else result
        return result


class Network:
    """A module, and what a file says of it as a network of ours and as MQBench's graph."""

    def __init__(self, make):
        torch.manual_seed(0)
        self.module, size = make()
        for part in self.module.modules():
            if isinstance(part, nn.BatchNorm2d):
                part.running_mean.normal_(0, 0.2), part.running_var.uniform_(0.6, 1.4)
                part.weight.data.uniform_(0.6, 1.4), part.bias.data.normal_(0, 0.2)
        x = torch.randn(2, 3, size, size)
        self.network = hs.from_torch(self.module.eval(), (x,))
        self.samples = {next(iter(self.network.inputs)): x.numpy()}
        self.traced = rules.as_files_say(rules.trace(self.module))
        self.values = Values(self.traced)
        with torch.no_grad():
            self.values.run(x)

    def tensors(self, backend):
        """Those that have quantizers of ours, with their values."""
        try:
            prepared = hs.quantize(self.network, backend, calibrate=self.samples, keep_samples=0, overrides={"insert.as": "mqbench"})
        except hs.Error as error:
            assert "found no operator" in str(error)
            return {}
        names = [one["tensor"] for one in prepared.report.quantizers if one["kind"] != "weight"]
        own = dict(reversed(line.split("\t")) for line in self.network.notes.get("given_names", "").splitlines())
        found = self.network.run(**self.samples, fetch=[own.get(name, name) for name in names])
        return {name: found[own.get(name, name)] for name in names}

    def differences(self, backend):
        """Tensors of ours that are none of theirs, and nodes of theirs that are none of ours."""
        theirs = {unit.name: self.values.of[unit.last] for unit in rules.inserted(self.traced, backend)}
        ours = self.tensors(backend)
        same = {(name, node) for name, a in ours.items() for node, b in theirs.items() if are_same(a, b)}
        return ours.keys() - {name for name, _ in same}, theirs.keys() - {node for _, node in same}


def are_same(a, b):
    return a.shape == b.shape and np.abs(a - b).max() <= 1e-4 * np.abs(b).max()


@pytest.mark.filterwarnings("ignore")  # of ranges, which two samples of noise do not make good
@pytest.mark.parametrize("name", NETWORKS)
def test_quantizers_stand_where_the_rules_of_mqbench_put_them(name):
    network = Network(NETWORKS[name])
    found = {backend: network.differences(backend) for backend in rules.BACKENDS}
    assert {backend: one for backend, one in found.items() if any(one)} == {}
