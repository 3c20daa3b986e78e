"""Inspection of any stage, and of what other verbs refuse."""

import pytest


def test_open_height_and_width_of_a_model(bench, shared):
    case = shared / "reports" / "inspect_open_extents"
    deployed = bench.deploy(case / "c48_fcn.onnx", case / "c48_fcn.npz")
    for model in (deployed.prepared, deployed.integer):
        ended = bench.run("inspect", model, "--batch", 2)
        assert "f32[2, 3, 64, 64]" in ended.out


REFUSED = {
    "c26_qgemm": ("a float result is not supported", "give it y_scale and y_zero_point, and a DequantizeLinear behind it"),
    "c35_custom": ("the operator is not supported", "write it with operators that are supported, or cut the network in front of it"),
    "c51_sk": ("the operator is not supported", "write it with operators that are supported, or cut the network in front of it"),
    "c56_op6": ("opset 6 is not supported, only 7 to", "convert the file (onnx.version_converter)"),
    "c61_nms": ("it depends on the values of 'x'", "cut the network in front of it, or run the file as it is (halfstep run)"),
}  # fmt: skip


@pytest.mark.parametrize("network", REFUSED)
def test_what_cannot_be_imported_is_refused_for_a_platform(bench, shared, network):
    """As `quantize` refuses it: the same exit code, place, reason and remedy."""
    case = shared / "reports" / "inspect_exit_code"
    reason, remedy = REFUSED[network]
    ended = bench.run("inspect", case / f"{network}.onnx", "--platform", "generic_int8", "--json", code=3)
    (objection,) = ended.report["target"]["objections"]
    assert objection["verb"] == "quantize" and reason in objection["what"] and objection["remedy"] == remedy
    ended = bench.run("quantize", case / f"{network}.onnx", "--data", case / f"{network}.npz", "--out", "p", code=3)
    assert f"{objection['where']}: " in ended.err and reason in ended.err and remedy in ended.err
    ended = bench.run("inspect", case / f"{network}.onnx", "--platform", "generic_int8", code=3)
    assert "quantize refuses" in ended.out and f"to do: {remedy}" in ended.out
    bench.run("inspect", case / f"{network}.onnx")
