"""Ranges that depend on a dynamic dimension are named, and hold for the largest stated extent."""

import pytest

from conftest import sqnr

NETWORKS = ["sin", "table", "alibi", "count"]


@pytest.fixture
def cases(shared):
    return shared / "hunt" / "open_length_positions"


@pytest.mark.parametrize("name", NETWORKS)
def test_ranges_hold_for_the_largest_extent(bench, cases, name):
    network = cases / f"{name}.onnx"
    deployed = bench.deploy(network, cases / "d8.npz", "--max-length", "40", fallbacks=True)
    assert deployed.differing == 0
    assert not any("--max-length" in note for note in deployed.quantized["notes"])
    for samples in ("d8.npz", "d40.npz"):
        found, expected = (bench.outputs(of, cases / samples)["y"] for of in (deployed.integer, network))
        assert sqnr(found, expected) > 28, samples


@pytest.mark.parametrize("name", NETWORKS)
def test_values_are_named_whose_ranges_may_not_hold(bench, cases, name):
    notes = bench.deploy(cases / f"{name}.onnx", cases / "d8.npz", fallbacks=True).quantized["notes"]
    assert len([note for note in notes if "depend on dynamic dimensions" in note and "'x' [?, 8, 4]" in note]) == 1


def test_samples_beyond_the_ranges_are_noted(bench, cases):
    deployed = bench.deploy(cases / "sin.onnx", cases / "d8.npz", fallbacks=True)
    for samples, count in (("d8.npz", 0), ("d40.npz", 1)):
        verified = bench.run("verify", deployed.prepared, deployed.integer, "--data", cases / samples, "--json").report
        assert len([note for note in verified["notes"] if "its ranges are valid up to 8" in note]) == count


def test_inputs_of_run_beyond_the_ranges_are_noted(bench, cases):
    deployed = bench.deploy(cases / "sin.onnx", cases / "d8.npz", fallbacks=True)
    for network in (deployed.prepared, deployed.integer):
        assert "notes" not in bench.run("run", network, "--inputs", cases / "d8.npz", "--json").report
        notes = bench.run("run", network, "--inputs", cases / "d40.npz", "--json").report["notes"]
        assert len(notes) == 1
        assert "its ranges are valid up to 8" in notes[0]
        assert notes[0] in bench.run("run", network, "--inputs", cases / "d40.npz").err


def test_observers_that_are_tried_hold_for_the_largest_extent(bench, cases):
    """Ranges of the observer used in calibration equal the ranges that calibration found."""
    for options in ([], ["--max-length", "40"]):
        prepared = bench.folder / "p.st"
        set_observer = ["--overrides", "activations.observer=minmax"]
        bench.run("quantize", cases / "sin.onnx", "--data", cases / "d8.npz", *set_observer, *options, "--out", prepared, "--overwrite")
        report = bench.run("analyze", prepared, "--data", cases / "d8.npz", "--json").report
        for quantizer in report["quantizers"]:
            tried = next(one for one in quantizer["observers"] if one["observer"] == "minmax")
            assert quantizer["is_weight"] or (tried["low"], tried["high"]) == (quantizer["code_low"], quantizer["code_high"])


def test_what_has_no_dynamic_dim_takes_no_length(bench, shared):
    one = shared / "reports" / "batch_of_one"
    ended = bench.run("quantize", one / "c46_one_0.5.onnx", "--data", one / "c46_one_0.5.npz", "--out", "q.st", "--max-length", "9", code=2)
    assert "halfstep: error HS" in ended.err and "9" in ended.err


@pytest.mark.parametrize("length", ["0", "-1", "", "7"])
def test_lengths_out_of_range(bench, cases, length):
    bench.run("quantize", cases / "sin.onnx", "--data", cases / "d8.npz", "--out", "q.st", "--max-length", length, code=2)
