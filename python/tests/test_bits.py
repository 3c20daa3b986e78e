"""Bit allocation from Python. It writes the same bytes as the command line, and finds the assignment that an exhaustive
search finds.
"""

import itertools
import json
import os
import subprocess

import numpy as np
import pytest

import halfstep as hs
from raising import raises

PROGRAM = os.environ.get("HALFSTEP_PROGRAM", "build/release/halfstep")


@pytest.fixture(scope="module")
def prepared(samples, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bits")
    np.savez(folder / "samples.npz", x=samples[0], labels=samples[1])
    subprocess.run([PROGRAM, "train", "--data", folder / "samples.npz", "--epochs", "2", "--out", folder / "run"], check=True, capture_output=True, timeout=3000)
    return hs.quantize(hs.load(folder / "run/model.safetensors"), "magik_t40", data=samples)


def test_the_bytes_of_the_command_line(prepared, samples, tmp_path):
    np.savez(tmp_path / "samples.npz", x=samples[0], labels=samples[1])
    prepared.save(tmp_path / "prepared.safetensors")
    told = subprocess.run([PROGRAM, "bits", tmp_path / "prepared.safetensors", "--data", tmp_path / "samples.npz", "--budget", "size<=60kB", "--samples", "64",
                           "--front", "0", "--json", "--out", tmp_path / "told.safetensors"], check=True, capture_output=True, text=True, timeout=3000).stdout  # fmt: skip
    mixed = hs.bits(prepared, "size<=60kB", samples, samples=64, front=0)
    mixed.save(tmp_path / "own.safetensors")
    assert (tmp_path / "own.safetensors").read_bytes() == (tmp_path / "told.safetensors").read_bytes()
    assert mixed.report.values == json.loads(told)
    assert mixed.report.verdict.startswith("size ")


def test_nothing_within_the_budget_is_better(prepared, samples):
    """Try every combination of weight bit widths that may change, with NumPy's arithmetic and without a solver."""
    size = hs.bits(prepared, "size<=1MB", samples, samples=64, front=0).report.values["chosen"]["costs"]["size"]
    most = size - 20_000
    report = hs.bits(prepared, f"size<={most}B", samples, samples=64, front=0).report
    groups = report.values["groups"]
    elements = {"conv1.w": 288, "conv2.w": 288, "conv3.w": 2048, "conv4.w": 36864, "conv5.w": 36864}
    free = [group for group in groups if group["is_weight"] and len(group["legal"]) > 1]
    bytes_of = {group["tensor"]: elements[group["tensor"]] for group in free}
    others = report.values["chosen"]["costs"]["size"] - sum(bytes_of[g["tensor"]] * (0.5 if g["bits"] <= 4 else 1) for g in free)
    best = min(
        sum(group["loss_alone"][str(width)] for group, width in zip(free, bit_widths, strict=True))
        for bit_widths in itertools.product(*(group["legal"] for group in free))
        if others + sum(bytes_of[g["tensor"]] * (0.5 if width <= 4 else 1) for g, width in zip(free, bit_widths, strict=True)) <= most
    )
    chosen = sum(group["loss_alone"][str(group["bits"])] for group in free)
    assert chosen == pytest.approx(best, abs=1e-9)
    assert report.values["chosen"]["costs"]["size"] <= most


def test_what_follows_is_what_the_verbs_give(prepared, samples):
    done = hs.bits(prepared, "size<=60kB", samples, samples=64, front=0, repair="bias", epochs=1, prove=True)
    assert done.report.repair["steps"][0]["method"] == "bias"
    assert done.report.training["epochs"] == 1
    assert done.report.proof["equal"]
    assert done.report.verdict.endswith(done.report.proof["verdict"])
    step = hs.quantize(hs.bits(prepared, "size<=60kB", samples, samples=64, front=0), "magik_t40", data=samples, repair="bias")
    hs.train(step, samples, epochs=1)
    assert step == done


def test_refusals(prepared, samples):
    with raises("budget_out_of_reach", hs.UnsupportedError, match="magik_t40"):
        hs.bits(prepared, "size<=10B", samples, samples=32)
    with raises("budget_malformed", match="'cheap'"):
        hs.bits(prepared, "cheap", samples)
