"""A layer and the per-channel sums and products behind it are one layer, as if its file had them folded."""

import pytest

from conftest import sqnr

# SQNR in dB against float, which a network with the tail folded by hand in its file reaches.
TAILS = {"c63_bias_add": 37.0, "c63_bias_add_bn": 36.2, "c63_mul_add": 34.1, "c63_bn_parts": 33.6}
LAYER_OPERATORS = {"conv2d", "fake_quantize"}


@pytest.mark.parametrize("name", TAILS)
def test_a_tail_is_part_of_its_layer(bench, shared, name):
    network, samples = (shared / f"reports/layer_tail/{name}{suffix}" for suffix in (".onnx", ".npz"))
    deployed = bench.deploy(network, samples)
    assert deployed.converted["float"] == []
    assert {layer["op"] for layer in deployed.verified["layers"]} <= LAYER_OPERATORS
    assert deployed.differing == 0
    assert sqnr(bench.outputs(deployed.integer, samples)["y"], bench.outputs(network, samples)["y"]) >= TAILS[name] - 0.1


@pytest.mark.parametrize("name", ["c63_bias_add", "c63_bias_add_bn", "c63_mul_add"])
def test_it_is_as_good_as_folded_by_hand(bench, shared, name):
    folder = shared / "reports/layer_tail"
    found = []
    for network in (folder / f"{name}.onnx", folder / f"{name}_folded.onnx"):
        samples = network.with_suffix(".npz")
        deployed = bench.deploy(network, samples)
        found.append(sqnr(bench.outputs(deployed.integer, samples)["y"], bench.outputs(network, samples)["y"]))
    assert found[0] == pytest.approx(found[1], abs=0.1)


@pytest.mark.parametrize("form", ["frozen", "live"])
def test_a_batch_norm_behind_the_sum_can_be_trained(bench, shared, form):
    network, samples = (shared / f"reports/layer_tail/c63_bias_add_bn{suffix}" for suffix in (".onnx", ".npz"))
    quantized = bench.run("quantize", network, "--data", samples, "--batch-norm", form, "--out", "p.safetensors", "--json")
    assert quantized.report["batch_norms"]["folded"] == 1
    bench.run("train", "p.safetensors", "--data", samples, "--epochs", "1", "--out", "run")
    bench.run("convert", "run/model.safetensors", "--out", "i.safetensors")
    bench.run("verify", "run/model.safetensors", "i.safetensors", "--data", samples)
