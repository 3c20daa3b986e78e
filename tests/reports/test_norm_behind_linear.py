"""Linear on [n, t, f], then a transpose and a batch norm over the channels: the norm becomes part of the layer."""

import pytest

from conftest import sqnr


@pytest.mark.parametrize("name, decibels", [("c14_mm3_bn", 35.8), ("c14_torch3", 39.4)])
def test_a_norm_behind_a_transpose_is_part_of_the_layer(bench, shared, name, decibels):
    network, samples = (shared / f"reports/norm_behind_linear/{name}{suffix}" for suffix in (".onnx", ".npz"))
    deployed = bench.deploy(network, samples)
    assert deployed.converted["float"] == []
    assert deployed.differing == 0
    for output, expected in bench.outputs(network, samples).items():
        assert sqnr(bench.outputs(deployed.integer, samples)[output], expected) >= decibels


@pytest.mark.parametrize("platform", ["pow2_int8", "onnxruntime_int8", "signed_pow2_int8"])
def test_on_other_platforms(bench, shared, platform):
    network, samples = (shared / f"reports/norm_behind_linear/c14_mm3_bn{suffix}" for suffix in (".onnx", ".npz"))
    deployed = bench.deploy(network, samples, "--platform", platform)
    assert deployed.converted["float"] == []
    assert deployed.differing == 0
