"""Operators that read extents alone are no float fallbacks, and float fallbacks keep parameters that layers share."""

import pytest


def test_extents_are_no_float_work(bench, shared):
    case = shared / "hunt" / "positions_islands"
    deployed = bench.deploy(case / "cls_expand.onnx", case / "d.npz")
    assert deployed.converted["float"] == []
    assert deployed.differing == 0


@pytest.mark.parametrize("network", ["min", "bias_shared", "ln_ln", "ln_mul", "w_shared"])
def test_shared_parameters(bench, shared, network):
    case = shared / "hunt" / "shared_param_island"
    samples = case / ("min.npz" if network == "min" else "d.npz")
    deployed = bench.deploy(case / f"{network}.onnx", samples, islands=True)
    assert deployed.differing == 0
    assert deployed.verified["whole_network"]["holds"]
