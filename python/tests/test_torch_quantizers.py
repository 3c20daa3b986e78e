"""Networks with quantizers of PyTorch and of other libraries keep their codes. Needs torch and onnxscript."""

import numpy as np
import pytest

import halfstep as hs

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
quantization = pytest.importorskip("torch.ao.quantization")
nn = torch.nn


def weights_of(qmin, qmax, **settings):
    observer = quantization.PerChannelMinMaxObserver
    return quantization.FakeQuantize(observer, qmin, qmax, dtype=torch.qint8, qscheme=torch.per_channel_symmetric, ch_axis=0, **settings)


def results_of(qmin, qmax):
    return quantization.FakeQuantize(quantization.MovingAverageMinMaxObserver, qmin, qmax)


class Net(nn.Module):
    """A convolution and a linear layer. Each part of `quantizers` maps values to quantized ones."""

    def __init__(self, **quantizers):
        super().__init__()
        self.conv, self.head = nn.Conv2d(1, 8, 3), nn.Linear(288, 4)
        self.input, self.weight, self.result = (quantizers.get(name, nn.Identity()) for name in ("input", "weight", "result"))

    def forward(self, x):
        y = nn.functional.conv2d(self.input(x), self.weight(self.conv.weight), self.conv.bias)
        return self.head(self.result(torch.relu(y)).flatten(1))


@pytest.fixture()
def rows(samples):
    """Return a function that quantizes a module, and returns the rows of its report by tensor."""

    def run(module, **options):
        torch.manual_seed(0)
        module.eval()
        prepared = hs.quantize(hs.from_torch(module, torch.zeros(1, 1, 8, 8)), data=samples, **options)
        program = hs.convert(prepared)
        assert hs.verify(prepared, program, samples).equal
        return {row["tensor"]: row for row in prepared.report.quantizers}

    return run


def observed(module, samples):
    module.train()(torch.from_numpy(samples[0][:64]))
    return module


def row_of(rows, kind):
    """Return the row of the quantizer of the input, the weight or the result of the convolution."""
    found = {"input": [row for name, row in rows.items() if name == "x"]}
    found["weight"] = [row for name, row in rows.items() if name == "conv.weight"]
    found["result"] = [row for row in rows.values() if row["kind"] == "activation" and row["activation"] == "relu"]
    return found[kind][0]


def test_modules_keep_codes_scales_and_bits(samples, rows):
    module = observed(Net(input=results_of(0, 255), weight=weights_of(-8, 7), result=results_of(0, 15)), samples)
    found = rows(module)
    weight = row_of(found, "weight")
    assert (weight["bits"], weight["code_min"], weight["code_max"]) == (4, -8, 7)
    assert weight["reason"] == "codes -8..7 of the source"
    np.testing.assert_array_max_ulp(np.float32(weight["scale"]), module.weight.scale.numpy(), 1)
    for kind, part, bits in (("input", module.input, 8), ("result", module.result, 4)):
        row = row_of(found, kind)
        assert row["bits"] == bits and row["reason"] == f"codes 0..{2**bits - 1} of the source"
        np.testing.assert_array_max_ulp(np.float32(row["scale"]), part.scale.numpy(), 1)
        assert row["zero_point"] == part.zero_point.tolist()


def test_options_take_precedence(samples, rows):
    module = observed(Net(weight=weights_of(-8, 7)), samples)
    weight = row_of(rows(module, weight_bits=8), "weight")
    assert weight["bits"] == 8 and weight["reason"] == "range of the codes -8..7 of the source, in 8 bits"


def test_modules_that_are_switched_off_have_no_codes(samples, rows):
    module = observed(Net(weight=weights_of(-8, 7)), samples)
    module.weight.disable_fake_quant()
    assert row_of(rows(module), "weight")["bits"] == 8


def test_learnable_modules_keep_their_codes(samples, rows):
    learnable = pytest.importorskip("torch.ao.quantization._learnable_fake_quantize")._LearnableFakeQuantize
    module = Net(result=learnable(quantization.MovingAverageMinMaxObserver, 0, 255, scale=0.02, zero_point=3.0))
    row = row_of(rows(module), "result")
    assert np.float32(row["scale"][0]) == np.float32(0.02) and row["zero_point"][0] == 3


class Functions(Net):
    def forward(self, x):
        x = torch.fake_quantize_per_tensor_affine(x, 0.125, 4, -8, 7)
        y = nn.functional.conv2d(x, self.conv.weight, self.conv.bias)
        return self.head(torch.relu(y).flatten(1))


def test_functions_keep_their_codes(rows):
    row = row_of(rows(Functions()), "input")
    assert (row["bits"], row["code_min"], row["code_max"]) == (4, 0, 15)  # The platform has codes from 0: all move by 8.
    assert row["scale"][0] == 0.125 and row["zero_point"][0] == 12


class Steps(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        return torch.clamp(torch.round(x / scale), -8, 7) * scale

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class Own(nn.Module):
    def __init__(self, steps):
        super().__init__()
        self.steps, self.scale = steps, nn.Parameter(torch.tensor([0.0625]))

    def forward(self, x):
        return self.steps(x, self.scale)


def estimated(x, scale):
    codes = x / scale
    codes = codes + (torch.round(codes) - codes).detach()
    return torch.clamp(codes, -8, 7) * scale


@pytest.mark.parametrize("steps", [Steps.apply, estimated])
def test_own_functions_are_recognised(rows, steps):
    row = row_of(rows(Net(input=Own(steps))), "input")
    assert (row["bits"], row["code_min"], row["code_max"]) == (4, 0, 15)  # The platform has codes from 0: all move by 8.
    assert row["scale"][0] == 0.0625 and row["zero_point"][0] == 8


class FixedFakeQuantize(quantization.FakeQuantizeBase):
    """A class of MQBench: its switches and its observer are not traced."""

    def __init__(self):
        super().__init__()
        self.quant_min, self.quant_max, self.ch_axis = -8, 7, -1
        self.register_buffer("scale", torch.tensor([0.0625]))
        self.register_buffer("zero_point", torch.tensor([0], dtype=torch.int))

    def forward(self, x):
        if self.observer_enabled[0] == 1:
            raise AssertionError("observes")
        return x

    def calculate_qparams(self, **kwargs):
        return self.scale, self.zero_point


def test_modules_of_mqbench_keep_their_codes(rows):
    row = row_of(rows(Net(weight=FixedFakeQuantize())), "weight")
    assert (row["bits"], row["code_min"], row["code_max"], set(row["scale"])) == (4, -8, 7, {0.0625})


@pytest.mark.parametrize("form", ["qcdq", "qonnx"])
def test_files_of_brevitas_keep_their_codes(samples, form, tmp_path):
    layers = pytest.importorskip("brevitas.nn")
    export = pytest.importorskip("brevitas.export")
    pytest.importorskip("onnxoptimizer")
    torch.manual_seed(0)
    module = nn.Sequential(
        layers.QuantIdentity(bit_width=8, return_quant_tensor=True),
        layers.QuantConv2d(1, 8, 3, weight_bit_width=4, bias=True),
        layers.QuantReLU(bit_width=4),
        nn.Flatten(),
        layers.QuantLinear(288, 4, bias=True, weight_bit_width=8),
    )
    observed(module, samples).eval()
    write = {"qcdq": export.export_onnx_qcdq, "qonnx": export.export_qonnx}[form]
    write(module, torch.zeros(1, 1, 8, 8), export_path=str(tmp_path / "net.onnx"), dynamo=False)
    prepared = hs.quantize(hs.load(tmp_path / "net.onnx", samples), data=samples)
    program = hs.convert(prepared)
    assert hs.verify(prepared, program, samples).equal
    found = [(row["kind"], row["bits"]) for row in prepared.report.quantizers if "of the source" in row["reason"]]
    weights = [("weight", 4), ("weight", 8)] if form == "qcdq" else []  # QONNX has weights as arithmetic on constants.
    assert sorted(found) == [("activation", 4), ("activation", 8), *weights]
