"""Networks in half precision, networks that are already quantized, and numbers that are too small: the report names the
next step."""

import numpy as np
import pytest

from conftest import sqnr


@pytest.mark.parametrize("network", ["c22_f16", "c22_f16_cast"])
def test_half_precision(bench, shared, network):
    case = shared / "reports" / "half"
    ended = bench.run("quantize", case / f"{network}.onnx", "--data", case / f"{network}.npz", "--out", "p", code=2)
    assert "f16" in ended.err and "f32" in ended.err


def test_quantized_by_onnxruntime(bench, shared):
    """The pairs of the file become codes. Only the weight and the result of the last layer have codes of our own."""
    network, samples = (shared / "reports" / "quantized_onnx" / f"c19_qdq1.{suffix}" for suffix in ("onnx", "npz"))
    deployed = bench.deploy(network, samples)
    assert deployed.differing == 0 and deployed.converted["float"] == []
    kept = {one["tensor"] for one in deployed.quantized["quantizers"] if one["reason"].startswith("codes ")}
    assert kept == {"x", "wd", "r"}
    found, expected = (bench.outputs(one, samples)["y"] for one in (deployed.integer, network))
    assert sqnr(found, expected) >= 38


def test_quantized_by_brevitas(bench, shared):
    case = shared / "reports" / "quantized_onnx"
    ended = bench.run("quantize", case / "c64_brevitas.onnx", "--data", case / "c64_brevitas.npz", "--out", "p")
    assert "the network is already quantized: " in ended.err and "use the float source model" in ended.err
    (note,) = bench.run("inspect", case / "c64_brevitas.onnx", "--platform", "generic_int8", "--json").report["target"]["notes"]
    assert note in ended.err
    assert f"note: {note}" in bench.run("inspect", case / "c64_brevitas.onnx", "--platform", "generic_int8").out
    plain = bench.run("inspect", shared / "hunt" / "scale_floor" / "n.onnx", "--platform", "generic_int8", "--json")
    assert plain.report["target"]["notes"] == []


def test_numbers_below_the_smallest_scale(bench, shared):
    network = shared / "hunt" / "scale_floor" / "n.onnx"
    x = np.random.default_rng(0).standard_normal((10, 3, 6, 6)).astype(np.float32)
    for factor, is_too_small in ((1, False), (1e-3, False), (1e-6, True), (1e-8, True), (1e-20, True)):
        np.savez(bench.folder / "x.npz", x=x * np.float32(factor))
        ended = bench.run("quantize", network, "--data", "x.npz", "--out", "p", "--overwrite")
        assert ("use few codes, because no scale is below 2^-23" in ended.err) == is_too_small, factor
    bench.run("convert", "p", "--out", "i")
    ended = bench.run("verify", "p", "i", "--data", "x.npz", code=None)
    assert "cosine 1.0" not in ended.out
