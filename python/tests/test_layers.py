"""Layers of hs.nn, compared with their formulas: run step by step, captured, as networks, and exported to ONNX."""

import layer_formulas as formulas
import os

import numpy as np
import pytest
from raising import raises

import halfstep as hs

nn = hs.nn


def conv(stride=(1,), pad=None, dilation=None, groups=1, mode="constant"):
    one = (1,) * len(stride)
    return lambda s, x: formulas.conv(x, s["weight"], s.get("bias"), stride, pad or [(0, 0)] * len(stride), dilation or one, groups, mode)


def transposed(stride, pad, output_padding, dilation, groups=1):
    return lambda s, x: formulas.conv_transpose(x, s["weight"], s.get("bias"), stride, pad, output_padding, dilation, groups)


def recurrent(kind, hidden, **settings):
    return lambda s, x: formulas.recurrent(kind, s, x, hidden, **settings)[0]


class First(nn.Module):
    """The first result of a module."""

    def __init__(self, module):
        self.module = module

    def forward(self, x):
        return self.module(x)[0]


class Self(nn.Module):
    """Attention of x to itself."""

    def __init__(self, module):
        self.module = module

    def forward(self, x):
        return self.module(x, x, x, need_weights=False)[0]


def inner(formula):
    return lambda s, x: formula({name.removeprefix("module."): each for name, each in s.items()}, x)


# The layer, the shape of its input, and its formula of the state and the input.
LAYERS = {
    "conv1d": (lambda: nn.Conv1d(4, 6, 3), (2, 4, 9), conv()),
    "conv1d_settings": (lambda: nn.Conv1d(4, 6, 3, 2, 1, 2, 2, False), (2, 4, 9), conv((2,), [(1, 1)], (2,), 2)),
    "conv1d_same": (lambda: nn.Conv1d(4, 6, 4, padding="same"), (2, 4, 9), conv((1,), [(1, 2)])),
    "conv1d_circular": (lambda: nn.Conv1d(4, 6, 3, padding=2, padding_mode="circular"), (2, 4, 9), conv((1,), [(2, 2)], mode="wrap")),
    "conv2d": (lambda: nn.Conv2d(4, 6, (3, 2), (2, 1), (1, 0), (1, 2), 2), (2, 4, 7, 8), conv((2, 1), [(1, 1), (0, 0)], (1, 2), 2)),
    "conv2d_reflect": (lambda: nn.Conv2d(4, 6, 3, padding=(1, 2), padding_mode="reflect"), (2, 4, 7, 8), conv((1, 1), [(1, 1), (2, 2)], mode="reflect")),
    "conv3d": (lambda: nn.Conv3d(2, 3, 2), (2, 2, 4, 5, 6), conv((1, 1, 1))),
    "conv3d_settings": (
        lambda: nn.Conv3d(2, 4, (2, 1, 3), (1, 2, 2), (1, 0, 1), (2, 1, 1), 2), (2, 2, 4, 5, 6),
        conv((1, 2, 2), [(1, 1), (0, 0), (1, 1)], (2, 1, 1), 2),
    ),
    "conv3d_replicate": (
        lambda: nn.Conv3d(2, 3, 2, padding=1, padding_mode="replicate"), (2, 2, 4, 5, 6), conv((1, 1, 1), [(1, 1)] * 3, mode="edge"),
    ),
    "conv_transpose1d": (lambda: nn.ConvTranspose1d(4, 6, 3, 2, 1, 1, 2), (2, 4, 5), transposed((2,), (1,), (1,), (1,), 2)),
    "conv_transpose2d": (lambda: nn.ConvTranspose2d(4, 3, 3), (2, 4, 5, 4), transposed((1, 1), (0, 0), (0, 0), (1, 1))),
    "conv_transpose2d_settings": (
        lambda: nn.ConvTranspose2d(4, 6, (3, 2), (2, 3), (1, 0), (1, 2), 2, False, (2, 1)), (2, 4, 5, 4),
        transposed((2, 3), (1, 0), (1, 2), (2, 1), 2),
    ),
    "conv_transpose3d": (
        lambda: nn.ConvTranspose3d(2, 3, (2, 3, 2), (1, 2, 2), (0, 1, 1)), (2, 2, 3, 4, 3), transposed((1, 2, 2), (0, 1, 1), (0, 0, 0), (1, 1, 1)),
    ),
    "max_pool1d": (lambda: nn.MaxPool1d(3, 2, 1), (2, 3, 10), lambda s, x: formulas.max_pool(x, (3,), (2,), (1,), (1,))),
    "max_pool1d_dilated": (lambda: nn.MaxPool1d(3, 2, 1, 2), (2, 3, 10), lambda s, x: formulas.max_pool(x, (3,), (2,), (1,), (2,))),
    "max_pool2d_ceil": (
        lambda: nn.MaxPool2d(2, 2, 1, ceil_mode=True), (2, 3, 7, 6), lambda s, x: formulas.max_pool(x, (2, 2), (2, 2), (1, 1), (1, 1), True),
    ),
    "max_pool3d": (lambda: nn.MaxPool3d(2, (1, 2, 2)), (2, 3, 4, 5, 6), lambda s, x: formulas.max_pool(x, (2, 2, 2), (1, 2, 2), (0, 0, 0), (1, 1, 1))),
    "avg_pool1d": (lambda: nn.AvgPool1d(3, 2, 1), (2, 3, 10), lambda s, x: formulas.avg_pool(x, (3,), (2,), (1,))),
    "avg_pool1d_ceil": (lambda: nn.AvgPool1d(3, 2, 1, True), (2, 3, 10), lambda s, x: formulas.avg_pool(x, (3,), (2,), (1,), True)),
    "avg_pool2d": (
        lambda: nn.AvgPool2d((3, 2), padding=(1, 0), count_include_pad=False), (2, 3, 7, 6),
        lambda s, x: formulas.avg_pool(x, (3, 2), (3, 2), (1, 0), False, False),
    ),
    "avg_pool3d": (
        lambda: nn.AvgPool3d(2, padding=1, ceil_mode=True, count_include_pad=False), (2, 3, 4, 5, 6),
        lambda s, x: formulas.avg_pool(x, (2, 2, 2), (2, 2, 2), (1, 1, 1), True, False),
    ),
    "instance_norm1d": (lambda: nn.InstanceNorm1d(3), (2, 3, 9), lambda s, x: formulas.instance_norm(x, 1e-5)),
    "instance_norm2d": (lambda: nn.InstanceNorm2d(3, 1e-3, affine=True), (2, 3, 5, 4), lambda s, x: formulas.instance_norm(x, 1e-3, s["weight"], s["bias"])),
    "instance_norm3d": (lambda: nn.InstanceNorm3d(3), (2, 3, 2, 3, 4), lambda s, x: formulas.instance_norm(x, 1e-5)),
    "group_norm": (lambda: nn.GroupNorm(2, 6), (2, 6, 5, 4), lambda s, x: formulas.group_norm(x, 2, 1e-5, s["weight"], s["bias"])),
    "group_norm_plain": (lambda: nn.GroupNorm(3, 6, 0.01, False), (2, 6, 7), lambda s, x: formulas.group_norm(x, 3, 0.01)),
    "relu": (lambda: nn.ReLU(), (4, 7), lambda s, x: np.maximum(x, 0)),
    "relu6": (lambda: nn.ReLU6(), (4, 7), lambda s, x: np.clip(x, 0, 6)),
    "leaky_relu": (lambda: nn.LeakyReLU(), (4, 7), lambda s, x: np.where(x < 0, 0.01 * np.float64(x), x)),
    "elu": (lambda: nn.ELU(0.5), (4, 7), lambda s, x: np.where(x < 0, 0.5 * np.expm1(np.float64(x)), x)),
    "silu": (lambda: nn.SiLU(), (4, 7), lambda s, x: x / (1 + np.exp(-np.float64(x)))),
    "mish": (lambda: nn.Mish(), (4, 7), lambda s, x: x * np.tanh(np.log1p(np.exp(np.float64(x))))),
    "hardswish": (lambda: nn.Hardswish(), (4, 7), lambda s, x: x * np.clip(np.float64(x) + 3, 0, 6) / 6),
    "hardsigmoid": (lambda: nn.Hardsigmoid(), (4, 7), lambda s, x: np.clip(np.float64(x) + 3, 0, 6) / 6),
    "softplus": (lambda: nn.Softplus(), (4, 7), lambda s, x: np.log1p(np.exp(np.float64(x)))),
    "softmax": (lambda: nn.Softmax(1), (4, 7, 2), lambda s, x: np.exp(np.float64(x)) / np.exp(np.float64(x)).sum(1, keepdims=True)),
    "prelu": (lambda: nn.PReLU(), (2, 3, 5), lambda s, x: formulas.prelu(x, s["weight"])),
    "prelu_channels": (lambda: nn.PReLU(3, 0.5), (2, 3, 5, 4), lambda s, x: formulas.prelu(x, s["weight"])),
    "prelu_rows": (lambda: nn.PReLU(3), (4, 3), lambda s, x: formulas.prelu(x, s["weight"])),
    "nearest": (lambda: nn.Upsample(scale_factor=2), (2, 3, 5, 4), lambda s, x: formulas.upsample(x, "nearest", scale=(2, 2))),
    "nearest_size": (lambda: nn.Upsample((3, 9)), (2, 3, 5, 4), lambda s, x: formulas.upsample(x, "nearest", (3, 9))),
    "nearest_1d": (lambda: nn.Upsample(scale_factor=1.7), (2, 3, 7), lambda s, x: formulas.upsample(x, "nearest", scale=(1.7,))),
    "linear": (lambda: nn.Upsample(scale_factor=2.5, mode="linear"), (2, 3, 7), lambda s, x: formulas.upsample(x, "linear", scale=(2.5,))),
    "bilinear": (
        lambda: nn.Upsample(scale_factor=(2, 0.6), mode="bilinear"), (2, 3, 5, 9), lambda s, x: formulas.upsample(x, "bilinear", scale=(2, 0.6)),
    ),
    "bilinear_corners": (
        lambda: nn.Upsample(size=(9, 3), mode="bilinear", align_corners=True), (2, 3, 5, 4),
        lambda s, x: formulas.upsample(x, "bilinear", (9, 3), align_corners=True),
    ),
    "bicubic": (lambda: nn.Upsample(8, mode="bicubic"), (2, 3, 5, 4), lambda s, x: formulas.upsample(x, "bicubic", (8, 8))),
    "bicubic_corners": (
        lambda: nn.Upsample(scale_factor=2, mode="bicubic", align_corners=True), (2, 3, 5, 4),
        lambda s, x: formulas.upsample(x, "bicubic", scale=(2, 2), align_corners=True),
    ),
    "trilinear": (lambda: nn.Upsample(scale_factor=2, mode="trilinear"), (2, 2, 3, 4, 5), lambda s, x: formulas.upsample(x, "trilinear", scale=(2, 2, 2))),
    "rnn": (lambda: First(nn.RNN(4, 5)), (6, 3, 4), inner(recurrent("rnn", 5))),
    "rnn_settings": (
        lambda: First(nn.RNN(4, 5, 2, "relu", False, True, 0.5, True)), (3, 6, 4),
        inner(recurrent("rnn", 5, num_layers=2, nonlinearity="relu", batch_first=True, bidirectional=True)),
    ),
    "gru": (lambda: First(nn.GRU(4, 5)), (6, 3, 4), inner(recurrent("gru", 5))),
    "gru_settings": (
        lambda: First(nn.GRU(4, 5, 3, batch_first=True, bidirectional=True)), (3, 6, 4),
        inner(recurrent("gru", 5, num_layers=3, batch_first=True, bidirectional=True)),
    ),
    "lstm": (lambda: First(nn.LSTM(4, 5)), (6, 3, 4), inner(recurrent("lstm", 5))),
    "lstm_settings": (
        lambda: First(nn.LSTM(4, 5, 2, batch_first=True, bidirectional=True)), (3, 6, 4),
        inner(recurrent("lstm", 5, num_layers=2, batch_first=True, bidirectional=True)),
    ),
    "attention": (lambda: Self(nn.MultiheadAttention(8, 2)), (5, 3, 8), inner(lambda s, x: formulas.attention(s, x, x, x, 2)[0])),
    "attention_batch_first": (
        lambda: Self(nn.MultiheadAttention(8, 4, bias=False, batch_first=True)), (3, 5, 8), inner(lambda s, x: formulas.attention(s, x, x, x, 4, True)[0]),
    ),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16), (5, 3, 8), lambda s, x: formulas.encoder_layer(s, x, 2)),
    "encoder_settings": (
        lambda: nn.TransformerEncoderLayer(8, 4, 16, 0.0, "gelu", 1e-3, True, True, False), (3, 5, 8),
        lambda s, x: formulas.encoder_layer(s, x, 4, "gelu", True, True, 1e-3),
    ),
    "linear_rows": (lambda: nn.Linear(4, 6), (2, 3, 5, 4), lambda s, x: np.float64(x) @ s["weight"].T + s["bias"]),
    "embedding": (lambda: nn.Embedding(7, 5), None, lambda s, x: s["weight"][x]),
}  # fmt: skip


def made(name):
    hs.seed(7)
    layer = LAYERS[name][0]()
    for each in layer.parameters():  # Initial ones and zeros would hide a mistake.
        each.assign(each + 0.1 * hs.normal(each.shape))
    shape = LAYERS[name][1]
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32) if shape else np.array([[0, 6, 2], [3, 3, 1]])
    return layer, x, LAYERS[name][2](layer.state_dict(), x)


def expect_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


@pytest.fixture(params=LAYERS)
def case(request):
    with hs.no_grad():
        return made(request.param)


# With HALFSTEP_CAPTURE=1 every operator of a test is a captured function, which another one cannot read.
not_inside_captures = pytest.mark.skipif("HALFSTEP_CAPTURE" in os.environ, reason="captures functions that read captured ones")


def test_follows_its_formula(case):
    layer, x, expected = case
    found = layer(hs.array(x))
    assert found.shape == expected.shape
    expect_close(found.numpy(), expected)


@not_inside_captures
def test_is_captured(case):
    layer, x, _ = case
    captured = hs.jit(lambda x: layer(x), full_graph=True)
    for shift in range(3):
        moved = hs.array(x if x.dtype == np.int64 else x + np.float32(shift))
        np.testing.assert_array_equal(captured(moved).numpy(), layer(moved).numpy())
        with hs.no_grad():
            for each in layer.parameters():
                each.assign(each * 1.25)
    assert sum(each.calls for each in captured.programs) == 2


def test_is_a_network_with_a_dynamic_batch(case, tmp_path):
    layer, x, expected = case
    batch_first = getattr(getattr(layer, "module", layer), "batch_first", getattr(getattr(layer, "self_attn", layer), "batch_first", True))
    extents = [None, *x.shape[1:]] if batch_first else [x.shape[0], None, *x.shape[2:]]
    net = hs.network(lambda x: layer(x), x=("i64" if x.dtype == np.int64 else "f32", extents))
    expect_close(net(x), expected)
    hs.export(net, tmp_path / "layer.onnx")
    expect_close(hs.load(tmp_path / "layer.onnx")(x), expected)
    ort = pytest.importorskip("onnxruntime")
    session = ort.InferenceSession(tmp_path / "layer.onnx", providers=["CPUExecutionProvider"])
    found = session.run(None, {session.get_inputs()[0].name: x})[0]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@not_inside_captures
def test_other_extents_need_no_capture():
    lstm, out, encoder = nn.LSTM(4, 6), nn.Linear(6, 8), nn.TransformerEncoderLayer(8, 2, 16)
    captured = hs.jit(lambda x: encoder(out(lstm(x)[0])), full_graph=True)
    for shape in ((6, 3, 4), (9, 2, 4)):
        x = hs.normal(shape)
        np.testing.assert_array_equal(captured(x).numpy(), encoder(out(lstm(x)[0])).numpy())
    assert captured.why_recaptured == []


@pytest.mark.parametrize("name", ["encoder_settings", "attention_batch_first", "conv_transpose2d", "lstm_settings"])
def test_layers_are_quantized(name):
    head = {"conv_transpose2d": nn.Conv2d(3, 2, 1), "lstm_settings": nn.Linear(10, 2)}.get(name, nn.ReLU())
    net = hs.network(nn.Sequential(LAYERS[name][0](), head), x=(None, *LAYERS[name][1][1:]))
    samples = np.random.default_rng(0).standard_normal((16, *LAYERS[name][1][1:])).astype(np.float32)
    prepared = hs.quantize(net, "generic_int8", data=samples)
    assert hs.verify(prepared, hs.convert(prepared, float_fallback=True), samples).equal


def test_weights_of_an_exported_layer_have_codes():
    hs.seed(1)
    layers = nn.Sequential(nn.Conv1d(4, 6, 3, padding=1), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(6, 3, 3))
    net = hs.network(layers, x=(None, 4, 12))
    assert 'param @"0.weight": f32[6, 4, 1, 3]' in str(net)
    samples = np.random.default_rng(0).standard_normal((32, 4, 12)).astype(np.float32)
    prepared = hs.quantize(net, "generic_int8", data=samples)
    assert hs.verify(prepared, hs.convert(prepared), samples).equal


def test_parameters_that_would_be_stored_twice_stay():
    class Twice(nn.Module):
        def __init__(self):
            self.weight = nn.parameter(hs.ones((4, 3)))

        def forward(self, x):
            return x @ self.weight.T + x @ self.weight.reshape(3, 4)

    text = str(hs.network(Twice(), x=(None, 3)))
    assert text.count("param @") == 1 and "reshape(x=@weight)" in text


def test_a_layer_that_runs_twice_has_its_weights_once():
    layer = nn.Conv1d(3, 3, 3, padding=1)
    text = str(hs.network(lambda x: layer(layer(x)), x=(None, 3, 8)))
    assert text.count("param @") == 2 and "f32[3, 3, 1, 3]" in text


STATES = [(nn.RNN, "rnn", {}), (nn.GRU, "gru", {"bidirectional": True}), (nn.LSTM, "lstm", {"num_layers": 2, "bidirectional": True, "batch_first": True})]


@pytest.mark.parametrize("kind, name, settings", STATES)
def test_states_of_recurrent_layers(kind, name, settings):
    hs.seed(2)
    layer = kind(4, 5, **settings)
    random = np.random.default_rng(0)
    count = layer.num_layers * (1 + layer.bidirectional)
    first = [random.standard_normal((count, 3, 5)).astype(np.float32) for _ in range(1 + (name == "lstm"))]
    x = random.standard_normal((3, 6, 4) if layer.batch_first else (6, 3, 4)).astype(np.float32)
    given = [hs.array(each) for each in first]
    output, last = layer(hs.array(x), tuple(given) if name == "lstm" else given[0])
    expected = formulas.recurrent(name, layer.state_dict(), x, 5, first=first, **settings)
    for found, each in zip((output, *(last if name == "lstm" else (last,))), expected, strict=True):
        expect_close(found.numpy(), each)


def test_a_recurrent_layer_moves_and_is_copied():
    import copy
    import pickle

    layer, x = nn.GRU(4, 5, 2), hs.ones((6, 3, 4))
    expected = layer(x)[0].numpy()
    for made in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), layer.to("sim")):
        assert len(made.parameters()) == 8
        found = made(x.to(made.weight_hh_l1.device))[0].cpu().numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)  # a device may have a kernel of its own
        with hs.no_grad():
            made.weight_hh_l1.assign(made.weight_hh_l1 * 2)
        assert (made(x.to(made.weight_hh_l1.device))[0].cpu().numpy() != expected).any()


def test_names_of_recurrent_parameters():
    names = [f"{each}_l{layer}{way}" for layer in range(2) for way in ("", "_reverse") for each in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    assert list(nn.GRU(4, 5, 2, bidirectional=True).named_arrays()) == names


MASKS = {
    "keys": (np.array([[False, True, False, True]] * 3), None),
    "pairs": (None, ~np.tri(5, 4, dtype=bool)),
    "added": (np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32), np.random.default_rng(2).standard_normal((5, 4)).astype(np.float32)),
    "by_head": (np.array([[False, False, False, True]] * 3), np.random.default_rng(2).standard_normal((6, 5, 4)) > 1),
}


@pytest.mark.parametrize("masks", MASKS)
def test_masks_and_weights_of_attention(masks):
    hs.seed(4)
    layer = nn.MultiheadAttention(8, 2, kdim=6, vdim=7)
    random = np.random.default_rng(0)
    query, key, value = (random.standard_normal(shape).astype(np.float32) for shape in ((5, 3, 8), (4, 3, 6), (4, 3, 7)))
    keys, pairs = MASKS[masks]
    expected, weights = formulas.attention(layer.state_dict(), query, key, value, 2, keys=keys, pairs=pairs)
    given = [None if each is None else hs.array(np.ascontiguousarray(each)) for each in (keys, pairs)]
    inputs = [hs.array(each) for each in (query, key, value)]
    found, mean = layer(*inputs, given[0], attn_mask=given[1])
    expect_close(found.numpy(), expected)
    expect_close(mean.numpy(), weights.mean(1))
    expect_close(layer(*inputs, given[0], True, given[1], False)[1].numpy(), weights)
    assert layer(*inputs, need_weights=False)[1] is None


def test_masks_of_an_encoder():
    hs.seed(4)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    x = np.random.default_rng(0).standard_normal((3, 5, 8)).astype(np.float32)
    causal, keys = np.triu(np.ones((5, 5), bool), 1), np.array([[False] * 4 + [True]] * 3)
    found = layer(hs.array(x), hs.array(causal), hs.array(keys), is_causal=True)
    expect_close(found.numpy(), formulas.encoder_layer(layer.state_dict(), x, 2, batch_first=True, pairs=causal, keys=keys))


def test_dropout_between_layers_and_of_attention():
    x = hs.ones((6, 3, 4))
    for layer in (First(nn.LSTM(4, 5, 2, dropout=0.5)), Self(nn.MultiheadAttention(4, 2, dropout=0.5)), nn.TransformerEncoderLayer(4, 2, 8)):
        same = layer.eval()(x).numpy()
        np.testing.assert_array_equal(layer(x).numpy(), same)
        hs.seed(1)
        dropped = layer.train()(x).numpy()
        assert (dropped != same).any()
        hs.seed(1)
        np.testing.assert_array_equal(hs.jit(lambda x: layer(x))(x).numpy(), dropped)


def test_a_bool_mask_of_all_keys_gives_nan_as_in_torch():
    layer = nn.MultiheadAttention(4, 2)
    found = layer(*[hs.ones((2, 1, 4))] * 3, hs.array(np.array([[True, True]])))[0]
    assert np.isnan(found.numpy()).all()


REFUSED = {
    "ConvTranspose2d: padding_mode": ("layer_setting_unsupported", lambda: nn.ConvTranspose2d(2, 2, 2, padding_mode="reflect")),
    "MaxPool1d: return_indices": ("layer_setting_unsupported", lambda: nn.MaxPool1d(2, return_indices=True)),
    "AvgPool3d: divisor_override": ("layer_setting_unsupported", lambda: nn.AvgPool3d(2, divisor_override=3)),
    "InstanceNorm2d: track_running_stats": ("layer_setting_unsupported", lambda: nn.InstanceNorm2d(2, track_running_stats=True)),
    "LayerNorm: elementwise_affine": ("layer_setting_unsupported", lambda: nn.LayerNorm(2, elementwise_affine=False)),
    "Embedding: padding_idx": ("layer_setting_unsupported", lambda: nn.Embedding(2, 3, padding_idx=0)),
    "LSTM: proj_size": ("layer_setting_unsupported", lambda: nn.LSTM(2, 3, proj_size=1)),
    "MultiheadAttention: add_zero_attn": ("layer_setting_unsupported", lambda: nn.MultiheadAttention(4, 2, add_zero_attn=True)),
    "Upsample: recompute_scale_factor": ("layer_setting_unsupported", lambda: nn.Upsample(scale_factor=2, recompute_scale_factor=True)),
    "Upsample: align_corners": ("layer_setting_unsupported", lambda: nn.Upsample(scale_factor=1.5, mode="linear", align_corners=True)),
    "Conv1d: padding_mode": ("layer_setting_invalid", lambda: nn.Conv1d(2, 2, 2, padding_mode="mirror")),
    "Conv3d: stride": ("layer_setting_invalid", lambda: nn.Conv3d(2, 2, 2, (1, 2))),
    "Conv2d: groups": ("layer_setting_invalid", lambda: nn.Conv2d(4, 6, 2, groups=4)),
    "Conv1d: padding": ("layer_setting_invalid", lambda: nn.Conv1d(2, 2, 2, 2, "same")),
    "GroupNorm: num_groups": ("layer_setting_invalid", lambda: nn.GroupNorm(4, 6)),
    "GRU: num_layers": ("layer_setting_invalid", lambda: nn.GRU(2, 3, 0)),
    "RNN: nonlinearity": ("layer_setting_invalid", lambda: nn.RNN(2, 3, nonlinearity="gelu")),
    "MultiheadAttention: num_heads": ("layer_setting_invalid", lambda: nn.MultiheadAttention(6, 4)),
    "MultiheadAttention: is_causal": ("layer_setting_invalid", lambda: nn.MultiheadAttention(4, 2)(*[hs.ones((2, 1, 4))] * 3, is_causal=True)),
    "TransformerEncoderLayer: activation": ("layer_setting_invalid", lambda: nn.TransformerEncoderLayer(4, 2, activation="silu")),
    "Upsample: size": ("layer_setting_invalid", lambda: nn.Upsample()),
    "Upsample: mode": ("layer_setting_invalid", lambda: nn.Upsample(2, mode="bilinear")(hs.ones((1, 1, 3)))),
}


@pytest.mark.parametrize("where", REFUSED)
def test_refuses_settings_by_name(where):
    name, make = REFUSED[where]
    with raises(name, hs.UnsupportedError if name.endswith("unsupported") else hs.Error, where=where):
        make()


def test_a_sequential_has_the_names_of_torch():
    layers = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm2d(3))
    assert list(layers.named_arrays()) == ["0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var"]
    layers.load_state_dict({**layers.state_dict(), "1.num_batches_tracked": np.array(5)})


@pytest.mark.parametrize("layer, shape", [(nn.Conv1d(3, 3, 3), (2, 3, 4, 4)), (nn.Conv2d(3, 3, 3), (3, 3, 9)), (nn.MaxPool1d(2), (2, 3, 4, 4)), (nn.MaxPool2d(2), (3, 3, 9))])
def test_refuses_an_input_with_other_axes(layer, shape):
    with pytest.raises(hs.Error, match="node '(conv|max_pool)"):
        layer(hs.ones(shape))


def test_loads_a_state_of_torch():
    torch = pytest.importorskip("torch")
    pairs = [
        (nn.Conv1d(4, 6, 3), torch.nn.Conv1d(4, 6, 3), (2, 4, 9)),
        (nn.LSTM(4, 5, 2, bidirectional=True), torch.nn.LSTM(4, 5, 2, bidirectional=True), (6, 3, 4)),
        (nn.TransformerEncoderLayer(8, 2, 16), torch.nn.TransformerEncoderLayer(8, 2, 16).eval(), (5, 3, 8)),
    ]
    for ours, theirs, shape in pairs:
        ours.load_state_dict(theirs.state_dict())
        x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        found, expected = ours(hs.array(x)), theirs(torch.tensor(x))
        if isinstance(found, tuple):
            found, expected = found[0], expected[0]
        expect_close(found.numpy(), expected.detach().numpy())
