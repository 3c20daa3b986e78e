"""Fifty short PyTorch networks on 14 back ends, compared with the quantizers of the real MQBench. Needs torch."""

import json
import os
import pathlib
import re
from collections import Counter

import pytest

import halfstep as hs

FOLDER = pathlib.Path(os.environ.get("HALFSTEP_TEST_DATA", "")) / "platforms" / "mqbench"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="there are no records of MQBench (HALFSTEP_TEST_DATA)")
np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
fx = pytest.importorskip("torch.fx")
nn, F = torch.nn, torch.nn.functional


class Fn(nn.Module):
    """Modules by name, and the function that `forward` applies to them."""

    def __init__(self, fn, **modules):
        super().__init__()
        for name, module in modules.items():
            setattr(self, name, module)
        self.fn = fn

    def forward(self, x):
        return self.fn(self, x)


class Fn2(Fn):
    def forward(self, x, y):
        return self.fn(self, x, y)


class Fn3(Fn):
    def forward(self, a, b, c):
        return self.fn(self, a, b, c)


def conv(channels=4, out=4):
    return nn.Conv2d(channels, out, 3, padding=1)


def up(groups=1):
    return nn.ConvTranspose2d(4, 4, 2, 2, groups=groups)


def halves(x, split):
    p, q = split(x, 2, 1)
    return p, q


def users(m, t):
    return m.c(t), F.relu(t)


def both(m, c):
    return m + c, m * c


def split_conv(m, x):
    p, q = halves(m.a(x), torch.split)
    return m.b(p), m.c(q)


def of_dict(m, x):
    d = {"x": x}
    d.update({"y": {"z": m.a(x)}})
    return d["y"]["z"] + d["x"]


S = nn.Sequential
BN, LINEAR = nn.BatchNorm2d, nn.Linear
CHAINS = {
    "conv_leaky_conv": lambda: S(conv(), nn.LeakyReLU(), conv()),
    "conv_silu_conv": lambda: S(conv(), nn.SiLU(), conv()),
    "conv_leaky_maxpool_conv": lambda: S(conv(), nn.LeakyReLU(), nn.MaxPool2d(2), conv()),
    "conv_relu_maxpool_conv": lambda: S(conv(), nn.ReLU(), nn.MaxPool2d(2), conv()),
    "conv_bn_relu_avgpool_conv": lambda: S(conv(), BN(4), nn.ReLU(), nn.AvgPool2d(2), conv()),
    "conv_relu6_conv": lambda: S(conv(), nn.ReLU6(), conv()),
    "deconv_leaky_conv": lambda: S(up(), nn.LeakyReLU(), conv()),
    "deconv_relu_conv": lambda: S(up(), nn.ReLU(), conv()),
    "deconv_bn_conv": lambda: S(up(), BN(4), conv()),
    "conv_leaky_deconv": lambda: S(conv(), nn.LeakyReLU(), up()),
    "conv_relu_deconv": lambda: S(conv(), nn.ReLU(), up()),
    "mul_then_add": lambda: Fn3(lambda m, a, b, c: a * b + c),
    "add_then_mul": lambda: Fn3(lambda m, a, b, c: (a + b) * c),
    "mul_two_users": lambda: Fn3(lambda m, a, b, c: both(a * b, c)),
    "mul_scalar": lambda: Fn(lambda m, x: m.c(x) * 2.0, c=conv()),
    "mul_scalar_add": lambda: Fn(lambda m, x: m.c(x) * 2.0 + 1.0, c=conv()),
    "add_relu_conv": lambda: Fn2(lambda m, x, y: m.c(F.relu(x + y)), c=conv()),
    "add_two_users": lambda: Fn2(lambda m, x, y: users(m, x + y), c=conv()),
    "sub_conv": lambda: Fn2(lambda m, x, y: m.c(x - y), c=conv()),
    "torch_add_conv": lambda: Fn2(lambda m, x, y: m.c(torch.add(x, y)), c=conv()),
    "method_add_conv": lambda: Fn2(lambda m, x, y: m.c(x.add(y)), c=conv()),
    "cat_conv": lambda: Fn(lambda m, x: m.c(torch.cat([m.a(x), m.b(x)], 1)), a=conv(), b=conv(), c=conv(8)),
    "cat_keyword_conv": lambda: Fn(
        lambda m, x: m.c(torch.cat(tensors=[m.a(x), m.b(x)], dim=1)), a=conv(), b=conv(), c=conv(8)
    ),
    "interpolate_keyword": lambda: Fn(lambda m, x: F.interpolate(input=m.a(x), scale_factor=2.0), a=conv()),
    "interpolate_conv": lambda: Fn(lambda m, x: m.c(F.interpolate(m.a(x), scale_factor=2.0)), a=conv(), c=conv()),
    "upsample_conv": lambda: S(conv(), nn.Upsample(scale_factor=2), conv()),
    "split_conv": lambda: Fn(split_conv, a=conv(), b=conv(2, 2), c=conv(2, 2)),
    "chunk_cat": lambda: Fn(lambda m, x: torch.cat(halves(m.a(x), torch.chunk), 1), a=conv()),
    "view_linear": lambda: Fn(lambda m, x: m.l(m.a(x).view(2, -1)), a=conv(), l=LINEAR(256, 3)),
    "flatten_module_linear": lambda: S(conv(), nn.Flatten(), LINEAR(256, 3)),
    "linear_relu_linear": lambda: Fn(
        lambda m, x: m.b(m.r(m.a(torch.flatten(x, 1)))), a=LINEAR(256, 8), r=nn.ReLU(), b=LINEAR(8, 3)
    ),
    "linear_bn1d": lambda: Fn(lambda m, x: m.n(m.a(torch.flatten(x, 1))), a=LINEAR(256, 8), n=nn.BatchNorm1d(8)),
    "mean_linear": lambda: Fn(lambda m, x: m.l(m.a(x).mean([2, 3])), a=conv(), l=LINEAR(4, 3)),
    "bn_alone": lambda: S(BN(4), conv()),
    "maxpool_of_input": lambda: S(nn.MaxPool2d(2), conv()),
    "conv_dropout_linear": lambda: Fn(
        lambda m, x: m.l(m.d(torch.flatten(m.a(x), 1))), a=conv(), d=nn.Dropout(), l=LINEAR(256, 3)
    ),
    "conv_dropout2d_conv": lambda: S(conv(), nn.Dropout2d(), conv()),
    "grouped_deconv": lambda: S(conv(), up(2)),
    "grouped_deconv_bn": lambda: S(conv(), up(2), BN(4)),
    "conv1d": lambda: Fn(lambda m, x: m.a(torch.flatten(x, 2)), a=nn.Conv1d(4, 4, 3)),
    "conv_sigmoid_mul": lambda: Fn(lambda m, x: x * torch.sigmoid(m.a(x)), a=conv()),
    "conv_hardswish_conv": lambda: S(conv(), nn.Hardswish(), conv()),
    "conv_prelu_conv": lambda: S(conv(), nn.PReLU(4), conv()),
    "matmul": lambda: Fn2(lambda m, x, y: torch.matmul(m.a(x), y), a=conv()),
    "softmax_of_linear": lambda: Fn(lambda m, x: torch.softmax(m.l(torch.flatten(x, 1)), -1), l=LINEAR(256, 3)),
    "dict_update": lambda: Fn(of_dict, a=conv()),
    "nested_output": lambda: Fn(lambda m, x: {"p": m.a(x), "q": [m.b(x)]}, a=conv(), b=conv()),
    "embedding_linear": lambda: Fn(lambda m, x: m.l(m.e(x)), e=nn.Embedding(7, 4), l=LINEAR(4, 3)),
    "functional_linear": lambda: Fn(lambda m, x: F.linear(torch.flatten(x, 1), m.l.weight), l=LINEAR(256, 3)),
    "shared_conv": lambda: Fn(lambda m, x: m.a(F.relu(m.a(x))), a=conv()),
}

ALL = ".*"
# (chain, back ends): the reason why sets or ranges differ.
DEVIATIONS = {
    ("torch_add_conv|method_add_conv", ALL): "an addition is one however it is spelled; theirs knows operator.add alone",
    ("functional_linear", ALL): "a linear layer is one when it is called as a function; theirs leaves its weight in float",
    ("conv1d", ALL): "theirs quantizes the weight of a Conv1d and never asks for its input",
    ("mean_linear", ALL): "a mean over rows and columns is a global average pool; theirs knows the module alone",
    ("view_linear|flatten_module_linear", "SNPE|PPL.*|STPU|Tengine_u8|OPENVINO"): (
        "view, nn.Flatten and torch.flatten are one operator; theirs passes the last one alone"
    ),
    ("conv_dropout.*", ALL): "a dropout is nothing when the network is evaluated; theirs quantizes what it gives too",
    ("deconv_relu_conv", "Vitis|Tengine_u8"): "an activation fuses into a deconvolution as into a convolution",
    ("add_two_users|split_conv", "Academic|Tengine_u8"): "outputs in a tuple are outputs; theirs sees a single one alone",
    ("split_conv", "OPENVINO"): "a convolution asks for what a split gives; theirs leaves it in float",
    ("linear_relu_linear", "OPENVINO"): "behind a ReLU codes are unsigned, also that of a linear layer",
    ("linear_bn1d", "Academic"): "a normalization folds into the linear layer, which is then the last one",
}


def deviates(chain, backend):
    return any(re.fullmatch(of, chain) and re.fullmatch(at, backend) for of, at in DEVIATIONS)


def examples(name, module):
    if name == "embedding_linear":
        return [torch.randint(0, 7, (2, 5))]
    return [torch.randn(2, 4, 8, 8) for _ in range({Fn2: 2, Fn3: 3}.get(type(module), 1))]


class Recorder(fx.Interpreter):
    def run_node(self, n):
        self.values[n.name] = super().run_node(n)
        return self.values[n.name]


def values_by_node(module, arrays):
    recorder = Recorder(fx.symbolic_trace(module))
    recorder.values = {}
    recorder.run(*arrays)
    return recorder.values


class Chain:
    def __init__(self, name):
        torch.manual_seed(0)
        module = CHAINS[name]().eval()
        for part in module.modules():
            if isinstance(part, nn.modules.batchnorm._BatchNorm):
                part.running_mean.normal_()
        arrays = examples(name, module)
        self.values = values_by_node(module, arrays)
        self.network = hs.from_torch(module, tuple(arrays))
        self.samples = {name: array.numpy() for name, array in zip(self.network.inputs, arrays)}
        self.ours = {given: own for own, given in self.network.metadata.get("given_names", {}).items()}

    def nodes_of(self, tensor):
        """Return the nodes that have the value of a tensor. Its form may be absent from the file."""
        name = self.ours.get(tensor, tensor)
        try:
            found = self.network.run(**self.samples, fetch=[name])[name]
        except hs.Error:
            return set()
        same = lambda value: (  # noqa: E731
            isinstance(value, torch.Tensor)
            and tuple(value.shape) == found.shape
            and np.allclose(value.detach().numpy(), found, atol=1e-5)
        )
        return {node for node, value in self.values.items() if same(value)}

    def equals(self, prepared, theirs):
        """Return whether each of our quantizers matches one of MQBench's with equal codes, and the numbers of quantized
        weights are equal.
        """
        last = {nodes.split("+")[0]: nodes.split("+")[-1] for nodes in theirs["fused"]}
        left = [(last.get(node, node), tuple(codes)) for node, codes in zip(theirs["act"], theirs["ranges"])]
        weights = 0
        for one in prepared.report.values["quantizers"] if prepared else []:
            weights += one["kind"] == "weight"
            if one["kind"] == "weight":
                continue
            nodes = self.nodes_of(one["tensor"])
            found = [their for their in left if their[0] in nodes and their[1] == (one["code_min"], one["code_max"])]
            if not found:
                return False
            left.remove(found[0])
        return not left and (prepared is None or weights == len(theirs["weight"]))


def prepare(chain, backend):
    """Return None if no activation needs a quantizer and no weight has one."""
    try:
        return hs.quantize(chain.network, backend, data=chain.samples, keep_samples=0)
    except hs.Error as error:
        assert "found no operator" in str(error)
        return None


def test_every_chain_on_every_back_end():
    counts = Counter()
    cases = json.loads((FOLDER / "cases_head.json").read_text())["chains"]
    assert cases.keys() == CHAINS.keys()
    for name, rows in cases.items():
        chain = Chain(name)
        for row in rows:
            for backend in row["backends"]:
                prepared = prepare(chain, backend)
                if "error" in row["result"]:
                    counts["theirs raises"] += 1
                elif chain.equals(prepared, row["result"]):
                    counts["equal"] += 1
                else:
                    assert deviates(name, backend), (name, backend, prepared and prepared.report)
                    counts["deviating"] += 1
    assert counts == {"equal": 593, "deviating": 81, "theirs raises": 26}
