"""A decoder of transposed convolutions on chips whose rules name kinds of layers, and on chips that need multiples of
channels."""

import numpy as np
import pytest

import halfstep as hs
from halfstep import nn

RANDOM = np.random.default_rng(3)
X = RANDOM.standard_normal((40, 3, 12, 12)).astype(np.float32)
DATA = X, (X.mean(1, keepdims=True) ** 2).astype(np.float32)


@pytest.fixture
def network():
    hs.seed(0)
    layers = [nn.Conv2d(3, 16, 3, padding=1), nn.LeakyReLU(0.125), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.LeakyReLU(0.125)]
    layers += [nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.LeakyReLU(0.125), nn.Conv2d(16, 1, 3, padding=1)]
    return hs.network(nn.Sequential(*layers), x=(None, 3, 12, 12))


@pytest.mark.parametrize("weights, activations", [(8, 8), (4, 8), (4, 4)])
@pytest.mark.parametrize("platform", ["tensorrt", "stpu", "magik_t40"])
def test_a_decoder_is_trained_converted_and_verified(network, platform, weights, activations):
    options = {"pad_channels": True} if platform == "magik_t40" else {}
    prepared = hs.quantize(network, platform, data=DATA, weight_bits=weights, activation_bits=activations, first_last_bits=8, **options)
    hs.train(prepared, DATA, loss="mse", epochs=1)
    program = hs.convert(prepared, float_fallback=platform == "tensorrt")  # its last layer has a float result
    assert len(program.report.float_fallback) == (platform == "tensorrt")
    assert hs.verify(prepared, program, DATA).equal


def test_files_for_the_chip_have_the_transposed_convolution(network, tmp_path):
    onnx = pytest.importorskip("onnx")
    hs.export(network, tmp_path / "float.onnx")
    prepared = hs.quantize(network, "tensorrt", data=DATA)
    hs.export(prepared, tmp_path / "chip", format="deploy")
    given, deployed = (onnx.load(next(iter(sorted(path.parent.glob(path.name))))) for path in (tmp_path / "float.onnx", tmp_path / "chip" / "*.onnx"))
    kinds = [[node.op_type for node in model.graph.node] for model in (given, deployed)]
    assert kinds[0] == kinds[1] and "ConvTranspose" in kinds[0]
    layer = next(node for node in deployed.graph.node if node.op_type == "ConvTranspose")
    ours, theirs = ({tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer} for model in (deployed, given))
    assert np.abs(ours[layer.input[1]] - theirs[layer.input[1]]).max() <= np.abs(theirs[layer.input[1]]).max() / 254
