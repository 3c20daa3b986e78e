"""Operators left in float and additional quantizers, compared with the real MQBench on one network and 14 back ends."""

import json
import os
import pathlib
from collections import Counter

import pytest

import halfstep as hs
from raising import raises

FOLDER = pathlib.Path(os.environ.get("HALFSTEP_TEST_DATA", "")) / "platforms" / "mqbench"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="there are no records of MQBench (HALFSTEP_TEST_DATA)")
np = pytest.importorskip("numpy")
safetensors = pytest.importorskip("safetensors.numpy")

CONV = "block1.conv1"
# Our options for their settings.
OURS = {
    "none": {},
    "exclude_module_name": {"in_float": CONV},
    "exclude_module_name_top": {"in_float": "fc"},
    "exclude_module_name_leaf_part": {"in_float": "*conv1"},
    "exclude_node_name": {"in_float": CONV},
    "exclude_function_add": {"in_float": "op:add"},
    "additional_node_name": {"also": "/block1/relu_1/*"},
    "additional_module_relu": {"also": "op:relu"},
    "additional_function_flatten": {"also": "op:flatten"},
}
WEIGHT = {CONV + ".weight"}
ADDED = {"/block1/Add_output_0"}
# (setting, back end or None for all): names in only one of the two sets, and the reason for ours.
DEVIATIONS = [
    ("exclude_module_name", None, WEIGHT, "theirs compares the last part of a nested name: the weight stays quantized"),
    ("exclude_node_name", None, WEIGHT, "theirs drops the request and keeps the weight; ours is in float as a whole"),
    ("exclude_module_name", "OPENVINO", {"/block1/relu/Relu_output_0"}, "theirs forbids what an excluded layer gives"),
    ("exclude_node_name", "OPENVINO", {"/block1/relu/Relu_output_0"}, "theirs forbids what an excluded layer gives"),
    (
        "exclude_module_name_leaf_part",
        "OPENVINO",
        {"/maxpool/MaxPool_output_0", "/relu/Relu_output_0"},
        "theirs forbids what an excluded layer gives, and puts it behind the pool",
    ),
    (
        "exclude_function_add",
        "OPENVINO",
        {"/block1/bn2/BatchNormalization_output_0", "/block2/bn2/BatchNormalization_output_0"}
        | {"/block2/down/down.1/BatchNormalization_output_0"},
        "theirs forbids what an excluded layer gives, and lets it ask",
    ),
    ("additional_node_name", "ONNX_QNN", ADDED, "theirs passes over what stands in front of an activation"),
    ("additional_node_name", "OPENVINO", ADDED, "theirs goes by what gives a value"),
    ("additional_module_relu", "ONNX_QNN", ADDED | {"/block2/Add_output_0"}, "theirs ignores additions by type"),
    ("additional_function_flatten", "Academic", {"/avgpool/GlobalAveragePool_output_0"}, "theirs wants tensors alone"),
    ("additional_function_flatten", "Tensorrt_NLP", {"/avgpool/GlobalAveragePool_output_0"}, "theirs wants tensors alone"),
    ("additional_node_name", "Vitis", ADDED, "theirs ignores additions"),
    ("additional_module_relu", "Vitis", ADDED | {"/block2/Add_output_0"}, "theirs ignores additions"),
]


@pytest.fixture(scope="module")
def network():
    return hs.load(FOLDER / "resnet" / "resnet.onnx")


@pytest.fixture(scope="module")
def samples():
    tensors = safetensors.load_file(FOLDER / "resnet" / "resnet.safetensors")
    return {name.removeprefix("calib.0."): array for name, array in tensors.items() if name.startswith("calib.0.")}


@pytest.fixture(scope="module")
def cases():
    return json.loads((FOLDER / "cases_head.json").read_text())["settings_on_resnet"]


@pytest.fixture(scope="module")
def tensors():
    """Map nodes to their names in the file."""
    found = {f"{block}bn1": f"/{block.replace('_', '/')}bn1/BatchNormalization_output_0" for block in ("", "block1_", "block2_")}
    for record in sorted((FOLDER / "resnet" / "head").glob("*.json")):
        for one in json.loads(record.read_text())["activation_quantizers"]:
            found[one["follows"]["node"]] = one["tensor"]
    return found


def names_of(prepared):
    return {one["tensor"] for one in prepared.report.values["quantizers"]}


def deviating(setting, backend):
    return set().union(*(names for of, at, names, _ in DEVIATIONS if of == setting and at in (None, backend)))


def test_every_setting_on_every_back_end(network, samples, cases, tensors):
    counts = Counter()
    for setting, options in OURS.items():
        for row in cases[setting]:
            for backend in row["backends"]:
                ours = names_of(hs.quantize(network, backend, data=samples, keep_samples=0, **options))
                theirs = {tensors[node] for node in row["result"]["act"]}
                theirs |= {weight.split(":")[0] + ".weight" for weight in row["result"]["weight"]}
                assert ours ^ theirs <= deviating(setting, backend), (setting, backend)
                counts["equal" if ours == theirs else "deviating"] += 1
    assert counts == {"equal": 91, "deviating": 35}


def test_a_conflict_names_both_sides(network, samples):
    for backend in ("Tensorrt", "Vitis"):
        with raises("layer_in_float_and_quantized", match="'/block1/relu_1/.*'op:relu'"):
            hs.quantize(network, backend, data=samples, also="/block1/relu_1/*", skip_layers="op:relu")


def test_what_matches_nothing_is_refused(network, samples):
    for option in ("also", "in_float"):
        with raises("selector_matches_nothing", match="'conv9'"):
            hs.quantize(network, "Tensorrt", data=samples, **{option: "conv9"})
    with raises("selector_matches_nothing", match="'op:ad'.*'op:add'"):
        hs.quantize(network, "Tensorrt", data=samples, skip_layers="op:ad")
    with raises("also_without_insertion_rules", match="generic_int8"):
        hs.quantize(network, "generic_int8", data=samples, also="fc")
