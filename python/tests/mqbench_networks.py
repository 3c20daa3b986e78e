"""The networks for which the real MQBench was recorded. Tests that import this are skipped if a dependency is missing.
"""

import os
from pathlib import Path

import pytest

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")
load_file = pytest.importorskip("safetensors.numpy").load_file

DATA = Path(os.environ.get("HALFSTEP_TEST_DATA", "")) / "platforms/mqbench"
if "HALFSTEP_TEST_DATA" not in os.environ or not DATA.is_dir():
    pytest.skip("there are no records of MQBench (HALFSTEP_TEST_DATA)", allow_module_level=True)

NETWORKS = ("resnet", "mobilenetv2", "silu_neck", "se_block", "deconv_ae", "two_input", "functional", "encoder")


def tensors_of(network):
    return load_file(DATA / network / f"{network}.safetensors")


def inputs_of(tensors):
    return {name[6:]: tensor for name, tensor in tensors.items() if name.startswith("input.")}
