"""Samples as NumPy writes them, names that are not in the network, and types that do not match."""

import numpy as np
import pytest


@pytest.fixture
def network(shared):
    case = shared / "reports" / "inspect_open_extents"
    with np.load(case / "c48_fcn.npz") as arrays:
        return case / "c48_fcn.onnx", arrays["x"]


def prepared(bench, network, data):
    bench.run("quantize", network, "--data", data, "--out", "p", "--overwrite")
    return (bench.folder / "p").read_bytes()


def test_float64_and_npy(bench, network):
    model, x = network
    np.savez(bench.folder / "x.npz", x=x)
    expected = prepared(bench, model, "x.npz")
    for name, save in (("wide.npz", lambda to: np.savez(to, x=x.astype(np.float64))), ("x.npy", lambda to: np.save(to, x)),
                       ("wide.npy", lambda to: np.save(to, x.astype(np.float64)))):  # fmt: skip
        save(bench.folder / name)
        prepared(bench, model, name)
        found = bench.outputs("p", bench.folder / "x.npz")
        bench.run("quantize", model, "--data", "x.npz", "--out", "p", "--overwrite")
        assert all(np.array_equal(found[key], value) for key, value in bench.outputs("p", bench.folder / "x.npz").items())
    assert prepared(bench, model, "x.npz") == expected


def test_numbers_that_float32_has_not(bench, network):
    model, x = network
    np.savez(bench.folder / "x.npz", x=np.full(x.shape, 1e300))
    assert "inf in sample 0" in bench.run("quantize", model, "--data", "x.npz", "--out", "p", code=2).err


def test_other_names_and_types(bench, network):
    model, x = network
    np.savez(bench.folder / "named.npz", image=x, mask=x)
    ended = bench.run("quantize", model, "--data", "named.npz", "--out", "p", code=2)
    assert "error HS8015" in ended.err and "input 'x'" in ended.err and "image, mask" in ended.err
    np.savez(bench.folder / "half.npz", x=x.astype(np.float16))
    ended = bench.run("quantize", model, "--data", "half.npz", "--out", "p", code=2)
    assert "error HS8011" in ended.err and "'x'" in ended.err and "f16" in ended.err and "f32" in ended.err
