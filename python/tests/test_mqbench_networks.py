"""Networks without an MQBench record, on its 14 back ends. With `--insert-as mqbench`, quantizers are at the positions
of its rules.

The rules are an independent reference (mqbench_rules.py), which is compared with records of the real MQBench.
docs/design/mqbench_sets.md lists the differences and the rule behind each. The tests recompute them. They need torch
and, for most networks, torchvision.
"""

import importlib
import inspect
import itertools
import json
import math
import os
import pathlib
import re
import sys
import tempfile
from unittest import mock

import pytest

import halfstep as hs

np = pytest.importorskip("numpy")
rules = pytest.importorskip("mqbench_rules")
torch, fx, nn, F = rules.torch, rules.fx, rules.nn, rules.F

FOLDER = pathlib.Path(os.environ.get("HALFSTEP_TEST_DATA", "")) / "platforms" / "mqbench"
PAGE = pathlib.Path(__file__).parents[2] / "docs/design/mqbench_sets.md"
needs_records = pytest.mark.skipif(not FOLDER.is_dir(), reason="there are no records of MQBench (HALFSTEP_TEST_DATA)")


@pytest.fixture
def recorders():
    """Import the scripts that made the records, to use their networks. Only recording needs MQBench and files."""
    of_mqbench = ("", ".prepare_by_platform", ".utils", ".utils.state", ".utils.logger")
    with pytest.MonkeyPatch.context() as patch:
        for name in (*(f"mqbench{part}" for part in of_mqbench), "onnx", "onnxruntime", "safetensors", "safetensors.numpy"):
            patch.setitem(sys.modules, name, mock.MagicMock())
        patch.syspath_prepend(str(FOLDER))
        for name in ("make_mqbench", "make_cases"):
            patch.delitem(sys.modules, name, raising=False)
        return importlib.import_module("make_mqbench"), importlib.import_module("make_cases")


@needs_records
def test_the_reference_has_the_recorded_quantizers_in_their_order(recorders):
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
    """Normalizations and activations before layers, and means that do not keep height and width."""

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
    """Return the same layers with fewer channels. Their types do not change."""
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


def image(size):
    return ((2, 3, size, size),)


def of_torchvision(make, size=32):
    """Return a torchvision network with an eighth of its channels, on small images."""

    def network():
        return slim(make(pytest.importorskip("torchvision.models"))), image(size)

    return network


OWN = {"pre_activation": lambda: (PreActivation(), image(8)), "parts": lambda: (Parts(), image(8))}
BARE = {"weights": None, "weights_backbone": None}
TORCHVISION = {
    "ResNet-18": of_torchvision(lambda models: models.resnet18()),
    "ResNeXt-50": of_torchvision(lambda models: models.resnext50_32x4d()),
    "MNASNet": of_torchvision(lambda models: models.mnasnet0_5()),
    "ShuffleNetV2": of_torchvision(lambda models: models.shufflenet_v2_x0_5()),
    "LR-ASPP": of_torchvision(lambda models: models.segmentation.lraspp_mobilenet_v3_large(**BARE)),
    "DenseNet": of_torchvision(lambda models: models.DenseNet(32, (2, 3, 2, 2), 64)),
    "MobileNetV3": of_torchvision(lambda models: models.mobilenet_v3_small()),
    "SqueezeNet": of_torchvision(lambda models: models.squeezenet1_1(num_classes=16)),
    "VGG-11": of_torchvision(lambda models: models.vgg11(), 224),
    "GoogLeNet": of_torchvision(lambda models: models.googlenet(aux_logits=False, init_weights=False)),
    "MobileNetV2": of_torchvision(lambda models: models.mobilenet_v2()),
    "AlexNet": of_torchvision(lambda models: models.alexnet(), 224),
    "FCN": of_torchvision(lambda models: models.segmentation.fcn_resnet50(**BARE)),
    "EfficientNet-B0": of_torchvision(lambda models: models.efficientnet_b0()),
    "RegNetY": of_torchvision(lambda models: models.regnet_y_400mf()),
    "Inception v3": of_torchvision(lambda models: models.inception_v3(aux_logits=False, init_weights=False), 75),
}
RECORDED = ("resnet", "mobilenetv2", "silu_neck", "se_block", "deconv_ae", "two_input", "functional", "encoder")


class Values(fx.Interpreter):
    """Store the value of every node by name."""

    def __init__(self, traced):
        super().__init__(traced)
        self.of = {}

    def run_node(self, n):
        result = super().run_node(n)
        self.of[n.name] = result.detach().clone().numpy() if isinstance(result, torch.Tensor) else result
        return result


class Places:
    """Numbers of values. Equal values have the same number."""

    def __init__(self):
        self.known = []

    def of(self, value):
        place = next((number for number, one in enumerate(self.known) if are_same(value, one)), len(self.known))
        if place == len(self.known):
            self.known.append(value)
        return place


class Network:
    """A module, its exported file as a network of ours, and MQBench's graph."""

    def __init__(self, make, read=hs.from_torch):
        torch.manual_seed(0)
        self.module, shapes = make()
        for part in self.module.modules():
            if isinstance(part, nn.BatchNorm2d):
                part.running_mean.normal_(0, 0.2), part.running_var.uniform_(0.6, 1.4)
                part.weight.data.uniform_(0.6, 1.4), part.bias.data.normal_(0, 0.2)
        self.inputs = tuple(torch.randn(*shape) for shape in shapes)
        self.network = read(self.module.eval(), self.inputs)
        self.samples = {name: x.numpy() for name, x in zip(self.network.inputs, self.inputs)}
        self.places, self.graphs, self.found = Places(), {}, {}
        values = Values(rules.trace(self.module))
        with torch.no_grad():
            values.run(*self.inputs)
        self.values = values.of

    def tensors(self, backend):
        """Return the names of the tensors with our quantizers."""
        try:
            prepared = hs.quantize(self.network, backend, data=self.samples, keep_samples=0, overrides={"insert.as": "mqbench"})
        except hs.Error as error:
            assert "found no operator" in str(error)
            return []
        return [one["tensor"] for one in prepared.report.quantizers if one["kind"] != "weight"]

    def ours(self, backend):
        """Return the positions of our quantizers, by tensor."""
        names = self.tensors(backend)
        if unknown := [name for name in names if name not in self.found]:
            own = {given: ours for ours, given in self.network.metadata.get("given_names", {}).items()}
            values = self.network.run(**self.samples, fetch=[own.get(name, name) for name in unknown])
            self.found |= {name: self.places.of(values[own.get(name, name)]) for name in unknown}
        return {name: self.found[name] for name in names}

    def theirs(self, backend, names):
        """Return the positions of MQBench's quantizers by node, after these rules simplified the graph."""
        if names not in self.graphs:
            self.graphs[names] = rules.as_files_say(rules.trace(self.module), names)
        last = {unit.name: unit.last for unit in rules.inserted(self.graphs[names], backend)}
        return {name: self.places.of(self.values[node.meta.get("in_place_of", node.name)]) for name, node in last.items()}

    def differences(self, backend):
        """Return our tensors and MQBench's nodes without a counterpart, except those that no file describes."""
        ours, theirs = self.ours(backend), self.theirs(backend, tuple(rules.RULES))
        only = lambda some, others: {name for name, place in some.items() if place not in others.values()}  # noqa: E731
        return only(ours, theirs), only(theirs, ours)

    def deciding(self, backend):
        """Return the smallest set of rules to apply so that MQBench's set equals ours, in number and position."""
        ours = sorted(self.ours(backend).values())
        for count in range(len(rules.RULES) + 1):
            subsets = itertools.combinations(rules.RULES, count)
            found = [names for names in subsets if sorted(self.theirs(backend, names).values()) == ours]
            assert len(found) < 2, f"{backend}: one of {found} decides"
            if found:
                return set(found[0])
        return pytest.fail(f"{backend}: no rule explains {self.differences(backend)}")

    def figures(self):
        """Return the number of equal sets, and the deciding rules of the others."""
        found = {backend.lower(): self.deciding(backend) for backend in rules.BACKENDS}
        others = {backend: names for backend, names in found.items() if names}
        return len(found) - len(others), others


def are_same(a, b):
    return a.shape == b.shape and np.abs(a - b).max() <= 1e-4 * np.abs(b).max()


def by_torchscript(module, inputs):
    """Import the module through the older exporter."""
    pytest.importorskip("onnx")
    if "dynamo" not in inspect.signature(torch.onnx.export).parameters:
        pytest.skip("this PyTorch has one exporter")
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "network.onnx")
        torch.onnx.export(module, inputs, file, dynamo=False)
        return hs.load(file)


def section(title):
    """Return a section of the page."""
    return PAGE.read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]


def of_page():
    """Return the figures of the page, by network."""
    text = section("Figures")
    group = re.search(r"The `snpe` group has (.*)\.", text)[1]
    text = text.replace("`snpe` group", group)
    rows = re.findall(r"^\| ([^|]+) \| (\d+) \|(.*)\|$", text, re.MULTILINE)
    return {name: (int(equal), rules_of(others)) for names, equal, others in rows for name in names.split(", ")}


def rules_of(cell):
    """Return the deciding rules by back end, from "`rule` and `rule`: `backend`, `backend`; `rule`: `backend`"."""
    found = {}
    for part in filter(str.strip, cell.split(";")):
        names, backends = (re.findall(r"`(\w+)`", half) for half in part.split(":"))
        found |= {backend: set(names) for backend in backends}
    return found


def tensors_of_page():
    """Return the tensors that differ from records, and the deciding rule, by network and back end."""
    rows = re.findall(r"^\| (\w+) \| (`[^|]*) \| (/[^|]*) \| `(\w+)` \|$", section("Figures"), re.MULTILINE)
    words = lambda cell: set(re.findall(r"[/\w]+", cell))  # noqa: E731
    return {(name, one): (words(tensors), {rule}) for name, some, tensors, rule in rows for one in words(some)}


def tensors_beside_record(name, make):
    """Return by back end the tensors that have a quantizer in only one of two sets: ours for the shared file, and the
    recorded one.
    """
    ours, found = Network(make, lambda *_: hs.load(FOLDER / name / f"{name}.onnx")), {}
    for backend in rules.BACKENDS:
        record = json.loads((FOLDER / name / "head" / f"{backend}.json").read_text())
        theirs = {one["tensor"] for one in record["activation_quantizers"]}
        found[backend.lower()] = theirs ^ set(ours.tensors(backend))
    return {backend: tensors for backend, tensors in found.items() if tensors}


quietly = pytest.mark.filterwarnings("ignore")  # Two noise samples determine ranges badly.


@quietly
@pytest.mark.parametrize("name", OWN)
def test_quantizers_stand_where_the_rules_of_mqbench_put_them(name):
    network = Network(OWN[name])
    found = {backend: network.differences(backend) for backend in rules.BACKENDS}
    assert {backend: one for backend, one in found.items() if any(one)} == {}


@quietly
@pytest.mark.parametrize("name", TORCHVISION)
def test_the_page_says_which_rules_decide(name):
    assert of_page()[name] == Network(TORCHVISION[name]).figures()


@quietly
def test_the_page_says_which_rules_decide_in_a_file_of_torchscript():
    found = Network(TORCHVISION["Inception v3"], by_torchscript).figures()
    assert of_page()["Inception v3 by TorchScript"] == found


@quietly
@needs_records
@pytest.mark.parametrize("name", RECORDED)
def test_the_page_says_which_rules_decide_on_recorded_networks(name, recorders):
    network, shapes = recorders[0].NETS[name]
    assert of_page()[name] == Network(lambda: (network(), shapes.values()), by_torchscript).figures()


@quietly
@needs_records
def test_the_page_says_where_from_torch_reads_another_network(recorders):
    network, shapes = recorders[0].NETS["deconv_ae"]
    found = Network(lambda: (network(), shapes.values())).figures()
    assert of_page()["deconv_ae by from_torch"] == found


@quietly
@needs_records
def test_the_page_names_the_tensors_that_differ_from_records(recorders):
    figures, found = of_page(), {}
    for name, (network, shapes) in recorders[0].NETS.items():
        for backend, tensors in tensors_beside_record(name, lambda: (network(), shapes.values())).items():  # noqa: B023
            found[name, backend] = tensors, figures[name][1][backend]
    assert tensors_of_page() == found
    count = len(RECORDED) * len(rules.BACKENDS) - len(found)
    assert f"{count} are equal as sets of tensors" in section("Figures")


def test_the_page_counts_the_sets_of_its_networks():
    rows = of_page()
    assert rows.keys() == {*TORCHVISION, *RECORDED, "Inception v3 by TorchScript", "deconv_ae by from_torch"}
    for names, title in ((TORCHVISION, "networks of torchvision"), (RECORDED, "shared networks")):
        equal = sum(rows[name][0] for name in names)
        assert f"Of the {len(names) * len(rules.BACKENDS)} sets of {title} {equal} are equal" in section("Figures")
    assert {rule for _, others in rows.values() for found in others.values() for rule in found} == rules.RULES.keys()
    assert {*rules.RULES, "leaf"} == set(re.findall(r"^\| `(\w+)`", section("Decisions that no file shows"), re.MULTILINE))


def test_pytorch_fuses_a_batch_norm_with_its_relu_and_no_list_names_the_result():
    """The quirk `norms_with_relu` describes this. The real MQBench recorded no such network."""
    fuse = getattr(pytest.importorskip("torch.ao.quantization.quantize_fx"), "_fuse_fx", None)
    fused_kind = pytest.importorskip("torch.ao.nn.intrinsic").BNReLU2d
    if fuse is None:
        pytest.skip("this PyTorch has no fuser of graphs by the name that MQBench calls")
    fused = fuse(rules.trace(PreActivation()), True)
    made = {name for name, module in fused.named_modules() if type(module) is fused_kind}
    assert made == {"norms.0", "norms.2"}
    units = rules.Units(rules.trace(PreActivation())).all
    assert made == {unit.first.target for unit in units if unit.is_fused and isinstance(unit.module, rules.NORMS)}
    lists = ("asks", "gives", "passes", "results", "producers")
    kinds = [backend[key][0] for backend in rules.BACKENDS.values() for key in lists if key in backend]
    assert not any(issubclass(fused_kind, some) for some in kinds)
