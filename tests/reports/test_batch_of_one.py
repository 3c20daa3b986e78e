"""Calibration proceeds in steps of samples, whatever the batch of the file is."""

import json
import pathlib

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
    """SQNR of the integer program against the float network, and the report of quantize."""
    network, samples = cases / f"{name}.onnx", cases / f"{name}.npz"
    deployed = bench.deploy(network, samples, *options, fallbacks=True)
    assert deployed.differing == 0
    found, expected = answers(bench, deployed.integer, samples), answers(bench, network, samples)
    return min(sqnr(found[key], expected[key]) for key in expected), deployed.quantized


@pytest.mark.parametrize("options", [[], ["--overrides", "activations.observer=ema_mse"], ["--overrides", "activations.observer=percentile"]])
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


def test_codes_do_not_depend_on_how_many_samples_verify_runs_at_once(bench, cases):
    samples = cases / "c46_open_0.5.npz"
    deployed = bench.deploy(cases / "c46_open_0.5.onnx", samples, fallbacks=True)
    for batch in (1, 5, 64):
        verify = ("verify", deployed.prepared, deployed.integer, "--data", samples, "--batch", batch)
        report = bench.run(*verify, "--json").report
        assert report["layers"] == deployed.verified["layers"]
        assert report["outputs"] == deployed.verified["outputs"]


def test_a_branch_that_no_sample_takes_is_named(bench, cases):
    with np.load(cases / "c37_if.npz") as arrays:
        narrow = {name: 0.2 * values for name, values in arrays.items()}
    np.savez(bench.folder / "narrow.npz", **narrow)
    report = bench.deploy(cases / "c37_if.onnx", bench.folder / "narrow.npz", fallbacks=True).quantized
    named = [note for note in report["notes"] if "region 'then'" in note]
    assert len(named) == 1
    assert "none of 32 samples takes it" in named[0]


def tensors(path):
    """The bytes of a Model's tensors by name, without the kept samples, which are whole batches."""
    data = pathlib.Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    entries = json.loads(data[8 : 8 + size])
    begin = 8 + size
    return {
        name: data[begin + entry["data_offsets"][0] : begin + entry["data_offsets"][1]]
        for name, entry in entries.items()
        if not name.startswith(("__metadata__", "halfstep."))
    }


def of_both(cases, name="c46_{}_0.5"):
    """The two files, and their samples."""
    one, opened = (name.format(batch) for batch in ("one", "open"))
    return cases / f"{one}.onnx", cases / f"{opened}.onnx", cases / f"{one}.npz"


@pytest.mark.parametrize("method", ["batchnorm", "bias", "ranges", "adaround", "brecq", "qdrop"])
def test_repairs_do_not_depend_on_the_batch(bench, cases, method):
    *files, samples = of_both(cases)
    options = ["--weight-bits", "4", "--repair", method, "--repair-steps", "30"]
    made = []
    for network in files:
        report = bench.run("quantize", network, "--data", samples, *options, "--out", "q.st", "--overwrite", "--json").report
        made.append((tensors(bench.folder / "q.st"), [{k: v for k, v in step.items() if k != "seconds"} for step in report["repair"]["steps"]]))
    assert made[0] == made[1]


def test_training_does_not_depend_on_the_batch(bench, cases):
    *files, samples = of_both(cases)
    made = []
    for number, network in enumerate(files):
        bench.run("quantize", network, "--data", samples, "--weight-bits", "4", "--out", "q.st", "--overwrite")
        ended = bench.run("train", "q.st", "--data", samples, "--epochs", "2", "--learning-rate", "0.01", "--out", f"t{number}", "--json")
        made.append((tensors(bench.folder / f"t{number}" / "model.safetensors"), ended.report["validation"]))
    assert made[0] == made[1]


def test_analysis_does_not_depend_on_the_batch(bench, cases):
    *files, samples = of_both(cases)
    found = [
        bench.run("analyze", network, "--platform", "generic_int8", "--data", samples, "--json").report for network in files
    ]
    assert [q["sensitivity"] for q in found[0]["quantizers"]] == [q["sensitivity"] for q in found[1]["quantizers"]]
    assert found[0]["on_codes"] == found[1]["on_codes"]


def test_a_batch_that_stays_fixed_is_named(bench, cases):
    """A network with a condition on its samples."""
    report = bench.run(
        "quantize", cases / "c37_if.onnx", "--data", cases / "c37_if.npz", "--repair", "bias", "--out", "q.st", "--json"
    ).report
    assert len([note for note in report["notes"] if "takes 1 samples at once" in note]) == 1
