"""Repair of networks whose values are read far behind their definition: blocks have several inputs and outputs."""

import pytest

METHODS = ["equalize", "smooth", "ranges", "batchnorm", "bias", "blocks", "adaround", "brecq", "qdrop", "wide", "auto"]


@pytest.mark.parametrize("method", METHODS)
def test_a_long_skip_is_repaired(bench, shared, method):
    network = shared / "detector/skip.safetensors"
    bit_widths = ["--weight-bits", 4, "--activation-bits", 4]
    repaired = bench.run("quantize", network, *bit_widths, "--repair", method, "--repair-steps", 10, "--out", "q", "--json").report["repair"]
    assert len(repaired["steps"]) == (len(METHODS) - 1 if method == "auto" else 1)
    assert 0 < repaired["after"]["distance"] <= repaired["before"]["distance"]
    bench.run("convert", "q", "--out", "p")
    verified = bench.run("verify", "q", "p", "--json").report
    assert sum(layer["differing"] for layer in verified["layers"]) == 0
