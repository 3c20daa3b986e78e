"""Paddle writes the bias of a convolution as a reshape and a sum behind it. Both become part of the layer."""

import pytest

from conftest import sqnr

# SQNR in dB against float. With a sum and a float batch norm behind each convolution it was 31.7 and 30.9.
NETWORKS = {"pd_p26_float.pdmodel": 34.4, "pd_p26_qat.pdmodel": 32.4, "pd_v3_float.json": 34.4, "pd_v3_qat.json": 32.4}


@pytest.mark.parametrize("name", NETWORKS)
def test_convolutions_with_bias_and_batch_norm_are_integers(bench, shared, name):
    network = shared / "reports/paddle_bias" / name
    samples = network.with_suffix(".npz")
    deployed = bench.deploy(network, samples)
    assert deployed.converted["float"] == []
    activations = [quantizer for quantizer in deployed.quantized["quantizers"] if quantizer["kind"] == "activation"]
    assert len(activations) == 4, "the input and what each of the three layers gives"
    assert deployed.differing == 0
    for output, expected in bench.outputs(network, samples).items():
        assert sqnr(bench.outputs(deployed.integer, samples)[output], expected) >= NETWORKS[name]
