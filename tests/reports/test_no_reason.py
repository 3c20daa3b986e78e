"""A network without a layer to quantize, or a layer that stays in float: the report has the reason and a remedy."""

import pytest

NODES = {"c11_mm4": "y", "c11_mm_const4": "m"}


@pytest.mark.parametrize("network", NODES)
def test_networks_without_a_layer(bench, shared, network):
    case = shared / "reports" / "no_reason"
    node = NODES[network]
    refused = bench.run("quantize", case / f"{network}.onnx", "--data", case / f"{network}.npz", "--out", "p", code=2)
    assert f"node '{node}'" in refused.err
    ended = bench.run("inspect", case / f"{network}.onnx", "--platform", "generic_int8", "--json", code=3)
    objections = ended.report["target"]["objections"]
    assert all(one["remedy"] for one in objections) and objections[1]["layer"] == node
    assert objections[1]["remedy"] in refused.err
    ended = bench.run("inspect", case / f"{network}.onnx", "--nodes", "--json")
    assert {one["layer"] for one in objections[1:]} <= {name for line in ended.report["graph"] for name in (line["name"], *line["outputs"])}


def test_a_recurrent_network_becomes_integers(bench, shared):
    case = shared / "reports" / "no_reason"
    bench.run("quantize", case / "c30_gru.onnx", "--data", case / "c30_gru.npz", "--out", "p")
    bench.run("convert", "p", "--out", "i")
    assert "0 differ" in bench.run("verify", "p", "i", "--data", case / "c30_gru.npz").out


def test_norm_over_several_axes(bench, shared):
    case = shared / "reports" / "layer_norm_message"
    ended = bench.run("quantize", case / "c39_ln_axis1.onnx", "--data", case / "c39_ln_axis1.npz", "--out", "p")
    assert "layer_norm over axes other than the last has no integer implementation" in ended.out
