"""Integer programs of these networks have vector kernels for the operators that references made slower than float."""

import pathlib

import numpy as np
import pytest

OPERATORS = {"integer_add", "integer_avg_pool2d", "integer_mul", "integer_resize"}
NETWORKS = {"efficientnet_b0_w050_ts13": (3, 64, 64), "lraspp_w050_ts11": (3, 64, 96), "mobilenet_v3_small_w050_ts11": (3, 64, 64)}


@pytest.mark.skipif("avx2" not in pathlib.Path("/proc/cpuinfo").read_text(), reason="a processor without AVX2 has references alone")
@pytest.mark.parametrize("network", NETWORKS)
def test_no_reference_kernels(bench, shared, network):
    np.savez(bench.folder / "x.npz", input=np.random.default_rng(0).standard_normal((4, *NETWORKS[network])).astype(np.float32))
    bench.run("quantize", shared / "models" / network / "model.onnx", "--data", "x.npz", "--out", "p")
    bench.run("convert", "p", "--out", "i")
    instructions = bench.run("inspect", "i", "--json").report["instructions"]
    known = [one for one in instructions if one["op"] in OPERATORS]
    assert {"integer_avg_pool2d", "integer_mul"} <= {one["op"] for one in known}
    assert not [one["name"] for one in known if one["kernel"] == "reference"]
