"""Results of `analyze`, recomputed with NumPy from the values that `dump` writes."""

import json
import os
import subprocess

import numpy as np
import pytest

import halfstep as hs
from raising import raises

PROGRAM = os.environ.get("HALFSTEP_PROGRAM", "build/release/halfstep")


@pytest.fixture(scope="module")
def network(samples, tmp_path_factory):
    folder = tmp_path_factory.mktemp("analyze")
    np.savez(folder / "samples.npz", x=samples[0], labels=samples[1])
    subprocess.run([PROGRAM, "train", "--data", folder / "samples.npz", "--epochs", "3", "--out", folder / "run"], check=True, capture_output=True, timeout=3000)
    return hs.load(folder / "run/model.safetensors")


@pytest.fixture(scope="module")
def prepared(network, samples):
    return hs.quantize(network, data=samples, weight_bits=4, activation_bits=4)


@pytest.fixture(scope="module")
def analysis(prepared, samples):
    return hs.analyze(prepared, samples, samples=0, directions=2)


def by_hand(x, one, codes):
    """Return SQNR, cosine, share of clipped values and share of unused codes, for the scale and zero point of a report.
    """
    scale, zero = np.float32(one["scale"][0]), one["zero_point"][0]
    unclamped = np.rint(x / scale) + zero
    code = np.clip(unclamped, 0, codes - 1)
    value = (code - zero) * np.float64(scale)
    wanted = x.astype(np.float64)
    sqnr = 10 * np.log10((wanted**2).sum() / ((wanted - value) ** 2).sum())
    cosine = (wanted * value).sum() / np.sqrt((wanted**2).sum() * (value**2).sum())
    return sqnr, cosine, (code != unclamped).mean(), 1 - len(np.unique(code)) / codes


def test_numbers_of_activations_are_those_of_numpy(network, samples, analysis, tmp_path):
    values = hs.dump(network, tmp_path / "float", samples, layout="nchw", format="npy", parameters=False).entries
    files = {value["name"]: tmp_path / "float" / value["file"] for value in values}
    seen = 0
    for one in analysis.quantizers:
        if one["is_weight"] or one["tensor"] not in files:
            continue
        x = np.load(files[one["tensor"]])
        assert x.size == one["elements"]
        sqnr, cosine, clipped, unused = by_hand(x, one, 2 ** one["bits"])
        assert one["sqnr_db"] == pytest.approx(sqnr, abs=0.02), one["place"]
        assert one["cosine"] == pytest.approx(cosine, abs=1e-4)
        assert one["clipped"] == pytest.approx(clipped, abs=1e-4)
        assert one["unused_codes"] == pytest.approx(unused, abs=1.01 / 2 ** one["bits"])
        counts = one["histogram"]["counts"]
        again, _ = np.histogram(x, bins=len(counts), range=(one["histogram"]["low"], one["histogram"]["high"]))
        assert np.abs(again - counts).sum() < 0.001 * x.size
        seen += 1
    assert seen > 5


def test_losses_are_those_of_the_network(network, prepared, samples, analysis):
    assert analysis.values["in_float"]["accuracy"] == hs.evaluate(network, samples)
    assert analysis.values["on_codes"]["accuracy"] == hs.evaluate(prepared, samples)


def test_it_is_what_the_command_line_says(prepared, samples, analysis, tmp_path):
    prepared.save(tmp_path / "prepared.safetensors")
    np.savez(tmp_path / "samples.npz", x=samples[0], labels=samples[1])
    told = subprocess.run([PROGRAM, "analyze", tmp_path / "prepared.safetensors", "--data", tmp_path / "samples.npz", "--samples", "0",
                           "--directions", "2", "--json"], check=True, capture_output=True, text=True, timeout=3000).stdout  # fmt: skip
    assert json.loads(told) == analysis.values
    assert str(analysis).startswith("network digits on platform generic_int8")
    assert analysis.verdict.startswith("accuracy on 80 samples: float ")


def test_refusals(network, prepared, samples):
    with raises("no_platform"):
        hs.analyze(network, samples)
    with raises("not_a_choice", where="part", found="'both'", expected="test, train"):
        hs.analyze(prepared, samples, part="both")
    report = hs.analyze(network, samples, platform="pow2_int8", samples=20, directions=0, observers=False)
    assert report.values["platform"] == "pow2_int8" and "hessian_trace" not in report.quantizers[0]
