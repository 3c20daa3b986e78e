"""PyTorch networks: names, source lines, batches, and errors. Needs torch and onnxscript."""

import re
import subprocess
import sys
from collections import OrderedDict

import numpy as np
import pytest

import halfstep as hs
from raising import raises

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
nn = torch.nn


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x))) + x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.block = Block(8)
        self.head = nn.Linear(8, 10)

    def forward(self, image, scale=None):
        y = self.block(self.block(self.stem(image)))  # used twice
        y = self.head(y.mean((2, 3)))
        return y if scale is None else y * scale


def near(found, wanted):
    return np.abs(found - wanted.detach().numpy()).max() < 1e-5


@pytest.fixture()
def module():
    torch.manual_seed(1)
    module = Net()
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.running_mean.normal_()
            part.running_var.uniform_(0.5, 2)
    return module


def test_outputs_names_and_a_dynamic_batch(module):
    network = hs.from_torch(module, torch.randn(1, 3, 8, 8))
    assert network.name == "Net" and network.stage == "float"
    assert network.inputs == {"image": ("f32", (None, 3, 8, 8))}
    for batch in (1, 5):
        x = torch.randn(batch, 3, 8, 8)
        assert near(network(x.numpy()), module.eval()(x))
    assert {"stem", "block.conv", "head"} <= set(network.layers)


def test_the_module_stays_as_it_was(module):
    module.train()
    module.block.norm.eval()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    network = hs.from_torch(module, torch.randn(2, 3, 8, 8))
    assert module.training and module.stem.training and not module.block.norm.training
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    x = torch.randn(2, 3, 8, 8)
    wanted = network(x.numpy())
    with torch.no_grad():
        module.stem.weight.zero_()
    assert (network(x.numpy()) == wanted).all()  # its weights are copies


def test_arguments_by_name_and_several_outputs(module):
    network = hs.from_torch(module, torch.randn(2, 3, 8, 8), {"scale": torch.ones(2, 10)}, name="scaled")
    assert network.name == "scaled" and list(network.inputs) == ["image", "scale"]
    x, scale = torch.randn(3, 3, 8, 8), torch.randn(3, 10)
    assert near(network(x.numpy(), scale=scale.numpy()), module.eval()(x, scale))

    class Two(nn.Module):
        def forward(self, x):
            return {"twice": x * 2, "half": x / 2}

    outputs = hs.from_torch(Two(), torch.randn(2, 4)).run(np.ones((1, 4), np.float32))
    assert outputs["twice"][0, 0] == 2 and outputs["half"][0, 0] == 0.5


def test_the_whole_way():
    module = nn.Sequential(OrderedDict(stem=nn.Conv2d(3, 8, 3), block=Block(8), flat=nn.Flatten(), head=nn.Linear(288, 10)))
    network = hs.from_torch(module, torch.randn(2, 3, 8, 8))
    samples = np.random.default_rng(0).standard_normal((256, 3, 8, 8)).astype(np.float32)
    prepared = hs.quantize(network, data=samples, bits={"block.conv": (4, 8)})
    bits = {row["layer"]: row["bits"] for row in prepared.report.quantizers if row["kind"] == "weight"}
    assert bits["block.conv"] == 4 and bits["stem"] == 8
    assert hs.verify(prepared, hs.convert(prepared), samples[:32]).equal


def test_messages_have_the_line_of_the_module(module):
    network = hs.from_torch(module, torch.randn(2, 3, 8, 8))
    samples = np.zeros((8, 3, 8, 8), np.float32)
    with pytest.raises(hs.Error, match=r"test_torch_import.py:\d+: node 'stem'"):
        hs.quantize(network, "magik_t40", data=samples, weight_bits=4, activation_bits=4, overrides={"channels.above": 0})


class Branch(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x


class Strange(nn.Module):
    def forward(self, x):
        return torch.fft.fft(x).real + torch.linalg.det(x)


def test_what_cannot_be_exported_is_told_with_its_line():
    with raises("torch_export_failed", where="Branch") as raised:
        hs.from_torch(Branch(), torch.randn(4, 4))
    assert re.search(r"test_torch_import.py:\d+: if x.sum", raised.value.problem)


def test_all_that_is_missing_is_named_at_once():
    with pytest.raises(hs.Error) as raised:
        hs.from_torch(Strange(), torch.randn(4, 4))
    assert "test_torch_import.py" in str(raised.value)


def test_a_batch_that_cannot_stay_open_is_said():
    class Flat(nn.Module):
        def forward(self, x):
            return x.reshape(2, 12) * torch.arange(2.0).reshape(2, 1)

    with pytest.warns(UserWarning, match="the batch size of the example is fixed"):
        network = hs.from_torch(Flat(), torch.randn(2, 3, 4))
    assert network.inputs == {"x": ("f32", (2, 3, 4))}


def test_no_module_no_tensor():
    with pytest.raises(TypeError, match="expected a torch.nn.Module"):
        hs.from_torch(torch.relu, torch.randn(2))


def test_torch_is_imported_when_it_is_needed():
    code = "import sys, halfstep; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_several_outputs_keep_their_order():
    class Several(nn.Module):
        def forward(self, x):
            z = torch.relu(x)
            return {"z": z, "a": z + 1, "m": z.mean(dim=1)}

    x = torch.randn(3, 5)
    net = hs.from_torch(Several(), x)
    assert list(net.outputs) == ["z", "a", "m"]
    expected = Several()(x)
    for results in (net(x), net.as_torch()(x)):
        assert list(results) == ["z", "a", "m"]
        for name, result in results.items():
            assert np.allclose(np.asarray(result), expected[name])


class OwnOperators(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.scale = nn.Parameter(torch.tensor([0.1]))
        self.factors = nn.Parameter(torch.rand(8) + 0.5)
        self.register_buffer("zero", torch.tensor([128], dtype=torch.int32))

    def forward(self, x):
        y = hs.ops.fake_quantize(self.conv(x), self.scale, self.zero, code_min=1)
        y = hs.ops.concat([y, y * 2], axis=1)
        results = hs.ops.batch_norm(y, self.factors, self.factors, self.factors, self.factors, epsilon=0.5)
        return hs.ops.avg_pool2d(results.out, kernel=[2, 2], stride=[2, 2])


def test_operators_of_ours_stay_what_they_are():
    module, x = OwnOperators().eval(), torch.randn(5, 1, 8, 8)
    net = hs.from_torch(module, x[:2])
    for call in ("fake_quantize(", "{code_min: 1}", "concat(x=[", "batch_norm(", "{epsilon: 0.5}", "avg_pool2d("):
        assert call in str(net)
    assert net.stage == "float"
    assert np.abs(net(x) - module(x).detach().numpy()).max() < 1e-6


def test_operators_of_ours_with_dynamic_dims_inside():
    class Pool(nn.Module):
        def forward(self, x):
            return hs.ops.avg_pool2d(x, kernel=[2, 2], stride=[2, 2])

    dynamic = torch.export.Dim.DYNAMIC
    with pytest.raises(hs.Error) as raised:
        hs.from_torch(Pool(), torch.randn(2, 3, 8, 8), dynamic_shapes=({0: dynamic, 2: dynamic},))
    assert raised.value.name == "torch_export_failed"
    assert raised.value.__cause__ is not None
