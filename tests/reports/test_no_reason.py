"""A network without a layer to quantize, or a layer that stays in float: the report has the reason and a remedy."""

import pytest


def test_a_network_without_a_layer(bench, shared):
    case = shared / "reports" / "no_reason"
    refused = bench.run("quantize", case / "c11_mm4.onnx", "--data", case / "c11_mm4.npz", "--out", "p", code=2)
    assert "node 'y'" in refused.err
    ended = bench.run("inspect", case / "c11_mm4.onnx", "--platform", "generic_int8", "--json", code=3)
    objections = ended.report["target"]["objections"]
    assert all(one["remedy"] for one in objections) and objections[1]["layer"] == "y"
    assert objections[1]["remedy"] in refused.err
    ended = bench.run("inspect", case / "c11_mm4.onnx", "--nodes", "--json")
    assert {one["layer"] for one in objections[1:]} <= {name for line in ended.report["graph"] for name in (line["name"], *line["outputs"])}


@pytest.mark.parametrize("network", ["c30_gru", "c11_mm_const4"])
def test_recurrent_networks_and_products_with_constants_become_integers(bench, shared, network):
    case = shared / "reports" / "no_reason"
    deployed = bench.deploy(case / f"{network}.onnx", case / f"{network}.npz")
    assert deployed.differing == 0 and deployed.converted["float"] == []


def test_norm_over_several_axes(bench, shared):
    case = shared / "reports" / "layer_norm_message"
    ended = bench.run("quantize", case / "c39_ln_axis1.onnx", "--data", case / "c39_ln_axis1.npz", "--out", "p")
    assert "layer_norm over axes other than the last has no integer implementation" in ended.out
