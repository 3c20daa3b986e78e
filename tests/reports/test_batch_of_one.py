"""Calibration takes steps of samples, however many of them a file has in its batch."""

import numpy as np
import pytest

from conftest import sqnr


@pytest.fixture
def cases(shared):
    return shared / "reports" / "batch_of_one"


def ranges(report):
    return [(q["tensor"], q["scale"], q["zero_point"], q["range"]) for q in report["quantizers"]]


def answers(bench, network, samples, count=32):
    """Outputs for the first samples, which run one by one."""
    with np.load(samples) as arrays:
        rows = [{name: values[i : i + 1] for name, values in arrays.items()} for i in range(count)]
    found = []
    for row in rows:
        np.savez(bench.folder / "row.npz", **row)
        found.append(bench.outputs(network, bench.folder / "row.npz"))
    return {name: np.concatenate([np.atleast_1d(one[name]) for one in found]) for name in found[0]}


def quality(bench, cases, name, *options):
    """SQNR of the integer program against the float network, and what quantize said."""
    network, samples = cases / f"{name}.onnx", cases / f"{name}.npz"
    deployed = bench.deploy(network, samples, *options, islands=True)
    assert deployed.differing == 0
    found, expected = answers(bench, deployed.integer, samples), answers(bench, network, samples)
    return min(sqnr(found[key], expected[key]) for key in expected), deployed.quantized


@pytest.mark.parametrize("options", [[], ["--set", "features.observer=ema_mse"], ["--set", "features.observer=percentile"]])
def test_a_batch_of_one_has_the_ranges_of_an_open_one(bench, cases, options):
    one, from_one = quality(bench, cases, "c46_one_0.5", *options)
    opened, from_open = quality(bench, cases, "c46_open_0.5", *options)
    assert [q[1:] for q in ranges(from_one)] == [q[1:] for q in ranges(from_open)]
    assert one == opened > 37


def test_a_wider_spread(bench, cases):
    assert quality(bench, cases, "c46_open_1")[0] > 31.5


def test_a_network_with_branches_sees_steps_too(bench, cases):
    assert quality(bench, cases, "c37_if")[0] > 34


def test_a_step_that_is_no_multiple_of_what_a_run_takes(bench, cases):
    _, seen = quality(bench, cases, "c46_one_0.5", "--calibration-batch", "24", "--calibration-batches", "2")
    assert seen["samples"] == 48


def test_a_branch_that_no_sample_takes_is_named(bench, cases):
    with np.load(cases / "c37_if.npz") as arrays:
        narrow = {name: 0.2 * values for name, values in arrays.items()}
    np.savez(bench.folder / "narrow.npz", **narrow)
    report = bench.deploy(cases / "c37_if.onnx", bench.folder / "narrow.npz", islands=True).quantized
    named = [note for note in report["notes"] if "region 'then'" in note]
    assert len(named) == 1
    assert "none of 32 samples takes it" in named[0]
