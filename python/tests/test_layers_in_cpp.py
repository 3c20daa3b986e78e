"""Layers have the same parameters, initial values and bits in C++ and in Python."""

import pathlib
import subprocess

import numpy as np
import pytest

import halfstep as hs

nn = hs.nn

# The layers of tests/capture/layers_test.cpp, with the shapes of their inputs.
CPP = {
    "conv1d": (lambda: nn.Conv1d(4, 6, 3), (2, 4, 9)),
    "conv1d_settings": (lambda: nn.Conv1d(4, 6, 3, 2, 1, 2, 2, False), (2, 4, 9)),
    "conv2d_circular": (lambda: nn.Conv2d(4, 6, (3, 2), padding=(1, 2), padding_mode="circular"), (2, 4, 7, 8)),
    "conv3d": (lambda: nn.Conv3d(2, 3, 2), (1, 2, 4, 5, 6)),
    "conv_transpose1d": (lambda: nn.ConvTranspose1d(4, 6, 3, 2, 1, 1, 2), (2, 4, 5)),
    "conv_transpose2d": (lambda: nn.ConvTranspose2d(4, 6, (3, 2), 2, 1, 1, 2), (2, 4, 5, 4)),
    "conv_transpose3d": (lambda: nn.ConvTranspose3d(2, 3, 2), (1, 2, 3, 4, 3)),
    "max_pool1d": (lambda: nn.MaxPool1d(3, 2, 1), (2, 3, 10)),
    "max_pool3d": (lambda: nn.MaxPool3d(2, ceil_mode=True), (1, 2, 4, 5, 6)),
    "avg_pool1d": (lambda: nn.AvgPool1d(3, padding=1, ceil_mode=True), (2, 3, 10)),
    "avg_pool3d": (lambda: nn.AvgPool3d(2, padding=1, count_include_pad=False), (1, 2, 4, 5, 6)),
    "instance_norm": (lambda: nn.InstanceNorm1d(3), (2, 3, 9)),
    "instance_norm_affine": (lambda: nn.InstanceNorm2d(3, 1e-3, affine=True), (2, 3, 5, 4)),
    "group_norm": (lambda: nn.GroupNorm(2, 6), (2, 6, 5, 4)),
    "prelu": (lambda: nn.PReLU(3, 0.5), (2, 3, 5, 4)),
    "nearest": (lambda: nn.Upsample(scale_factor=2), (2, 3, 5, 4)),
    "bilinear": (lambda: nn.Upsample((9, 3), mode="bilinear", align_corners=True), (2, 3, 5, 4)),
    "embedding": (lambda: nn.Embedding(7, 5), None),
    "rnn": (lambda: nn.RNN(4, 5, nonlinearity="relu", bias=False), (6, 3, 4)),
    "gru": (lambda: nn.GRU(4, 5, 2, batch_first=True, dropout=0.5, bidirectional=True), (3, 6, 4)),
    "lstm": (lambda: nn.LSTM(4, 5, 2, batch_first=True, dropout=0.5, bidirectional=True), (3, 6, 4)),
    "attention": (lambda: nn.MultiheadAttention(8, 2, dropout=0.25), (5, 3, 8)),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16), (5, 3, 8)),
    "encoder_settings": (lambda: nn.TransformerEncoderLayer(8, 4, 16, 0.0, "gelu", 1e-3, True, True, False), (3, 5, 8)),
}


@pytest.fixture(scope="module")
def cpp():
    """Names of arrays, and values, of each layer of tests/capture/layers_test.cpp."""
    program = pathlib.Path(hs._core.__file__).parents[3] / "test_capture"
    if not program.exists():
        pytest.skip(f"{program} is not built")
    said = subprocess.run([program, "--gtest_filter=Layers.AreTheSameInPython"], capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in said.splitlines()]
    heads = [words[1:] for words in lines if words[:1] == ["layer"]]
    values = [[float.fromhex(word) for word in words[1:]] for words in lines if words[:1] == ["values"]]
    return {head[0]: (head[1:], each) for head, each in zip(heads, values, strict=True)}


def test_all_layers_are_compared(cpp):
    assert list(cpp) == list(CPP)


@pytest.mark.parametrize("name", CPP)
def test_a_layer_has_the_bits_of_cpp(cpp, name):
    make, shape = CPP[name]
    hs.seed(7)
    layer = make()
    x = hs.array([0, 6, 3]) if shape is None else hs.normal(shape)
    with hs.train_mode():
        y = layer(x, x, x) if name == "attention" else layer(x)
    names, values = cpp[name]
    assert list(layer.named_arrays()) == names
    np.testing.assert_array_equal((y[0] if isinstance(y, tuple) else y).numpy().ravel(), np.array(values, np.float32))
