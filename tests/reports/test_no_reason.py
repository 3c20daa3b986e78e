"""A network that has no layer to quantize, or a layer that stays in float: the report says why in words."""

import pytest

REASONS = {
    "c11_mm4": "'y': a product of two activations has no weights",
    "c11_mm_const4": "only reals come to it",
    "c30_gru": "gru has no form on codes",
}


@pytest.mark.parametrize("network", REASONS)
def test_networks_without_a_layer(bench, shared, network):
    case = shared / "reports" / "no_reason"
    ended = bench.run("quantize", case / f"{network}.onnx", "--data", case / f"{network}.npz", "--out", "p", code=2)
    assert "found no operator with weights that can have codes" in ended.err
    assert REASONS[network] in ended.err


def test_norm_over_several_axes(bench, shared):
    case = shared / "reports" / "layer_norm_message"
    ended = bench.run("quantize", case / "c39_ln_axis1.onnx", "--data", case / "c39_ln_axis1.npz", "--out", "p")
    assert "layer_norm over other axes than the last has no form on codes" in ended.out
