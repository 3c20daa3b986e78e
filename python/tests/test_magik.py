"""Rules for networks on a fixed-point chip. Each violation is reported before training, with module, line and remedy.
Where our capture accepts more than the vendor's, a test proves it.
"""
# pyright: basic, reportMissingImports=false

import inspect
import re

import numpy as np
import pytest

import halfstep as hs

torch = pytest.importorskip("torch")
nn = torch.nn

X = np.random.default_rng(0).random((32, 3, 8, 8)).astype(np.float32)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def conv(inputs, outputs):
    return nn.Conv2d(inputs, outputs, 3, padding=1)


def network(module):
    return hs.from_torch(module, torch.zeros(2, 3, 8, 8))


def quantized(module, platform="magik_t40", **options):
    return hs.quantize(network(module), platform, data=X, **options)


def refusal(module, platform="magik_t40", **options):
    """Return the error of quantize. inspect must report it too."""
    net = network(module)
    with pytest.raises(hs.Error) as raised:
        hs.quantize(net, platform, data=X, **options)
    assert not hs.inspect(net, platform, **options)
    return str(raised.value)


def line_of(module, text):
    """Return the line of `text` in the source of the module's forward: "test_magik.py:N"."""
    lines, first = inspect.getsourcelines(type(module).forward)
    return f"test_magik.py:{next(first + i for i, line in enumerate(lines) if text in line)}"


def assert_proven(module, **options):
    prepared = quantized(module, **options)
    program = hs.convert(prepared)
    proof = hs.verify(prepared, program, X)
    assert proof and proof.equal


class Marked(nn.Module):
    """Two outputs, each marked directly after its layer."""

    def __init__(self, outputs=2):
        super().__init__()
        self.start = hs.magik.InputNOp()
        self.end1, self.end2 = hs.magik.OutputNOp(outputs), hs.magik.OutputNOp(outputs)
        self.conv0, self.conv1, self.conv2 = conv(3, 32), conv(32, 32), conv(32, 32)

    def body(self, x):
        return torch.relu(self.conv0(self.start(x)))

    def forward(self, x):
        x = self.body(x)
        a = self.end1(self.conv1(x))
        b = self.end2(self.conv2(x))
        return torch.cat([a, b], 1).flatten(2).softmax(1)


def test_markers_are_nothing_to_pytorch_and_bound_what_is_quantized():
    module = Marked()
    assert not [name for name in module.state_dict() if name.startswith(("start", "end"))]
    x = torch.from_numpy(X)
    assert module.start(x) is x and module.end1(x) is x
    assert_proven(module)
    report = str(quantized(module).report)
    for name in ("start.call", "cat", "view", "softmax"):
        assert re.search(rf"{name} .*outside of the quantized region", report)
    net = network(module)
    np.testing.assert_allclose(net(X), module.eval()(x).detach().numpy(), atol=1e-5)


# ---- rule 1: model_output_num is the number of OutputNOp instances, one directly after the layer of each output


def test_rule_1_the_number_of_outputs_does_not_hold():
    message = refusal(module := Marked(outputs=3))
    assert "rule output-count" in message and "found 2, after 'conv1', 'conv2', expected 3" in message
    assert "insert one OutputNOp directly after each layer that computes an output" in message
    assert line_of(module, "self.end1(") in message and line_of(module, "self.end2(") in message


def test_rule_1_layers_first_and_markers_behind_them_is_fine():
    class Late(Marked):
        def forward(self, x):
            x = self.body(x)
            a, b = self.conv1(x), self.conv2(x)
            a, b = self.end1(a), self.end2(b)
            return a + b

    assert_proven(Late())


# ---- rule 2: lists


def test_rule_2_lists_in_forward_are_followed():
    class Lists(Marked):
        def forward(self, x):
            x = self.body(x)
            outputs = list((self.conv1(x), self.conv2(x)))
            outputs = [end(y) for end, y in zip([self.end1, self.end2], outputs)]
            return tuple(outputs)

    class Split(Marked):
        def forward(self, x):
            x = torch.cat(list(self.body(x).chunk(2, 1)), 1)
            return [self.end1(self.conv1(x)), self.end2(self.conv2(x))]

    assert_proven(Lists())
    assert_proven(Split())


def test_rule_2_a_list_that_depends_on_values_is_named():
    class Values(Marked):
        def forward(self, x):
            x = self.body(x)
            kept = [part for part in list(x) if part.sum() > 0]
            return torch.stack(kept)

    with pytest.raises(hs.Error) as raised:
        network(module := Values())
    assert (raised.value.name, raised.value.where) == ("torch_export_failed", "Values")
    assert line_of(module, "list(x)") in raised.value.problem


# ---- rule 3: markers come after the last layer, on all outputs, before anything else


def test_rule_3_a_marker_behind_a_concat():
    class Cat(Marked):
        def forward(self, x):
            x = self.body(x)
            return self.end1(torch.cat([self.conv1(x), self.conv2(x)], 1))

    message = refusal(module := Cat(outputs=1))
    assert "rule output-behind-layer: concat 'cat' is between OutputNOp and the layers that compute its values: 'conv1', 'conv2'" in message
    assert "insert one OutputNOp directly after each of these layers, and the concat after the OutputNOp operators" in message
    assert line_of(module, "self.end1(") in message


def test_rule_3_an_output_without_a_marker():
    class Missing(Marked):
        def forward(self, x):
            x = self.body(x)
            return self.end1(self.conv1(x)), self.conv2(x).softmax(1)

    message = refusal(module := Missing(outputs=1))
    assert "rule unmarked-output: this conv2d reads 'relu', which leaves the region without an OutputNOp" in message
    assert "insert one directly after 'relu', and increment `outputs`" in message and line_of(module, "self.conv2(") in message


def test_rule_3_a_region_that_begins_nowhere_or_ends_nowhere():
    class NoInput(Marked):
        def forward(self, x):
            x = self.conv0(x)
            return self.end1(self.conv1(x)), self.end2(self.conv2(x))

    class NoOutput(Marked):
        def forward(self, x):
            return self.conv1(self.body(x))

    assert "rule missing-input: a region ends here, but no InputNOp precedes it" in refusal(NoInput())
    assert "rule missing-output: a region begins here, but no OutputNOp follows" in refusal(NoOutput())


def test_rule_3_crossed_markers_and_what_comes_back():
    class Crossed(Marked):
        def forward(self, x):
            return self.conv1(self.start(self.end1(self.conv0(x))))

    class Again(Marked):
        def forward(self, x):
            a = self.end1(self.conv1(self.body(x)))
            return self.end2(self.conv2(a))

    assert "rule crossed-markers: a region ends here, before it begins; exchange the two markers" in refusal(Crossed(outputs=1))
    assert "rule missing-input" in refusal(Again())


# ---- rule 4: a module called more than once


def test_rule_4_a_shared_activation_and_a_shared_layer_are_followed():
    class Shared(nn.Module):
        act = nn.ReLU()

        def __init__(self):
            super().__init__()
            self.conv0, self.conv1 = conv(3, 32), conv(32, 32)

        def forward(self, x):
            x = self.act(self.conv0(x))
            return self.act(self.conv1(self.act(self.conv1(x))))

    assert_proven(Shared())


# ---- rule 5: forward


def test_rule_5_a_forward_that_is_assigned_is_the_one_that_is_followed():
    class Assigned(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv0, self.conv1 = conv(3, 32), conv(32, 32)
            self.forward = self.forward_split

        def forward(self, x):
            raise NotImplementedError

        def forward_split(self, x):
            a, b = torch.relu(self.conv0(x)).split(16, 1)
            return self.conv1(torch.cat([b, a], 1))

    module = Assigned()
    assert_proven(module)
    np.testing.assert_allclose(network(module)(X), module(torch.from_numpy(X)).detach().numpy(), atol=1e-4)


def test_rule_5_no_calibration_data_is_a_message_of_its_own():
    with pytest.raises(hs.Error) as raised:
        hs.quantize(network(Marked()), "magik_t40", data=X[:0])
    assert raised.value.id


# ---- rule 6: bit widths of operators


def test_rule_6_bit_widths_that_an_operator_does_not_take():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv0, self.conv1, self.conv2 = conv(3, 32), conv(32, 32), conv(32, 32)

        def forward(self, x):
            return self.conv2(torch.relu(self.conv1(torch.relu(self.conv0(x)))))

    message = refusal(module := Two(), weights=3, features=6)
    assert "weights on magik_t40: found 3 bits, expected 4, 8" in message
    assert "activations on magik_t40: found 6 bits, expected 4, 8, 10, 12" in message
    assert line_of(module, "self.conv1(") in message


def test_rule_6_channels_that_are_no_multiples():
    class Narrow(Marked):
        def __init__(self):
            super().__init__()
            self.conv0, self.conv1, self.conv2 = conv(3, 20), conv(20, 20), conv(20, 32)

    message = refusal(Narrow())
    assert "magik_t40 needs channels in multiples of 32 above 12: found 20 in and 20 out; pad it with zeros (--pad-channels)" in message
    assert_proven(Narrow(), pad_channels=True)


# ---- rule 7: evaluation never changes: test_ema.py


# ---- a region by names


def test_a_region_by_names_is_the_one_that_markers_make():
    class Plain(Marked):
        def forward(self, x):
            x = torch.relu(self.conv0(x))
            return torch.cat([self.conv1(x), self.conv2(x)], 1).sigmoid()

    prepared = quantized(Plain(), regions="x:conv[12]")
    assert_proven(Plain(), regions="x:conv[12]")
    torch.manual_seed(0)
    marked = quantized(Marked())
    assert [q["scale"] for q in prepared.report.values["quantizers"]] == [q["scale"] for q in marked.report.values["quantizers"]]
    assert hs.inspect(network(Plain()), "magik_t40", regions="x:conv[12]")
    with pytest.raises(hs.Error, match=r"region 'x:head': 'head' matches no layer and no input"):
        quantized(Plain(), regions="x:head")


def test_a_marker_counts_at_least_itself():
    with pytest.raises(ValueError, match="OutputNOp: model_output_num: found 0, expected at least 1"):
        hs.magik.OutputNOp(0)
