"""Paddle writes the bias of a convolution as a reshape and a sum behind it. Both become part of the layer."""

import pytest

from conftest import sqnr

# SQNR in dB against the source. With a sum and a float batch norm behind each convolution it was 31.7 and 30.9. With
# other codes than the source's for the weights of a trained network it is 32.5 or less (docs/design/given_codes.md).
NETWORKS = {"pd_p26_float.pdmodel": 34.4, "pd_p26_qat.pdmodel": 33.5, "pd_v3_float.json": 34.4, "pd_v3_qat.json": 33.5}


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
