"""Dumps and comparisons from Python, with faults that NumPy makes."""

import json
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

import halfstep as hs
from raising import raises

PROGRAM = os.environ.get("HALFSTEP_PROGRAM", "build/release/halfstep")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("network")
    subprocess.run([PROGRAM, "train", "--epochs", "1", "--out", folder / "run"], check=True, capture_output=True, timeout=3000)
    return hs.convert(hs.quantize(hs.load(folder / "run/model.safetensors"), "generic_int8", data="digits"))


@pytest.fixture(scope="module")
def samples():
    arrays = hs.datasets.digits().arrays()
    return arrays["x"][:40].reshape(-1, 1, 8, 8) / np.float32(16), arrays["labels"][:40]


@pytest.fixture(scope="module")
def ours(program, samples, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dumps") / "ours"
    hs.dump(program, folder, samples, layout="nchw", format="npy")
    return folder


def entry(folder, name):
    values = json.loads((folder / "manifest.json").read_text())["values"]
    return next(value for value in values if value["name"] == name)


def broken(folder, to, name, change):
    """Return a copy with other contents for one value."""
    shutil.copytree(folder, to)
    file = to / entry(folder, name)["file"]
    np.save(file, change(np.load(file)))
    return to


def test_a_dump_has_the_codes_of_the_layers(program, samples, ours):
    codes = np.load(ours / entry(ours, "conv4")["file"])
    assert codes.dtype == np.uint8 and codes.shape[1:] == (64, 4, 4)
    ours_too = np.asarray(program.layers["conv4"](samples[0]))
    assert all((ours_too == one).all(axis=(1, 2, 3)).any() for one in codes)


def test_dump_says_what_it_wrote(program, samples, tmp_path):
    dump = hs.dump(program, tmp_path / "some", samples, layers="conv*", parameters=False, layout="ndhwc32")
    assert [value["name"] for value in dump.entries] == ["conv1", "conv2", "conv3", "conv4", "conv5"]
    assert dump.values["network"] == "digits" and "NDHWC32" in str(dump)
    assert sorted(path.name for path in pathlib.Path(dump.path).iterdir()) == sorted(["manifest.json", *(value["file"] for value in dump.entries)])
    with raises("dump_target_exists", match="some"):
        hs.dump(program, tmp_path / "some", samples)


def test_compare_names_the_fault_and_proves_it(ours, tmp_path):
    same = hs.compare(ours, ours)
    assert same and same.equal and same.differs is None and same.guesses == []
    board = broken(ours, tmp_path / "board", "conv4", lambda codes: np.ascontiguousarray(codes.swapaxes(2, 3)))
    report = hs.compare(ours, board)
    assert not report and report.differs == "conv4"
    assert report.guesses[0]["name"] == "height_width" and report.guesses[0]["differing"] == 0
    assert "with this correction, 0 of" in str(report) and "<svg" in report.html


def test_a_network_is_a_side(program, samples, ours):
    assert hs.compare(program, ours, samples).equal


def test_arrays_of_another_framework(ours, tmp_path):
    codes = np.load(ours / entry(ours, "conv4")["file"])
    np.savez(tmp_path / "other.npz", **{"stage/conv": np.moveaxis(codes, 1, -1).astype(np.int32)})
    report = hs.compare(ours, tmp_path / "other.npz")
    row = next(value for value in report.values["values"] if value["name"] == "conv4")
    assert row["second_name"] == "stage/conv" and report.guesses[0]["name"] == "order"
