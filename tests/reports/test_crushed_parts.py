"""One scale for boxes and scores: values within a few steps lead to a warning with their names and with an option that
was found to help. The analysis advises nothing that does not help."""

import re

import numpy as np
import onnx
import pytest
from conftest import sqnr

WARNING = re.compile(r"'(?P<part>[^']+)'(?: at indices .* of axis \d+)?: values from \S+ to \S+(?: behind '[^']+')? span \S+ steps of (?P<step>\S+?),? ")
PROMISE = re.compile(r"--skip-layers '(?P<name>[^']+)'(?: --skip-layers '[^']+')* improves it to (?P<decibels>[\d.]+) dB")
ORDINARY = ["mobilenet_v2_w050_ts17", "mobilenet_v3_small_w050_ts11", "resnet20_cifar10", "shufflenet_v2_x0_5_ts13", "vit_cifar10"]


@pytest.fixture
def detector(shared):
    folder = shared / "reports" / "concat_outputs"
    return folder / "c25_detect.onnx", folder / "c25_detect.npz"


def scores_of(bench, network, samples):
    """The five channels of scores behind the four of boxes."""
    (y,) = bench.outputs(network, samples).values()
    return y[:, 4:]


def warnings(report):
    return [note for note in report["notes"] if WARNING.match(note)]


def test_quantize_and_verify_warn_with_an_option_that_helps(bench, detector):
    deployed = bench.deploy(*detector, "--platform", "generic_int8")
    for report in (deployed.quantized, deployed.verified):
        (warning,) = warnings(report)
        assert WARNING.match(warning)["part"] == "sg"
        assert float(WARNING.match(warning)["step"]) > 10
        assert PROMISE.search(warning)["name"] == "y"
        assert float(PROMISE.search(warning)["decibels"]) > 30
    (output,) = deployed.verified["outputs"]
    assert deployed.verified["cosine"] > 0.9999
    assert output["worst"]["axis"] == 1
    assert output["worst"]["index"] >= 4
    assert output["worst"]["sqnr_db"] < 1


def test_what_verify_prints_names_the_lost_part(bench, detector):
    network, samples = detector
    deployed = bench.deploy(network, samples, "--platform", "generic_int8")
    shown = bench.run("verify", deployed.prepared, deployed.integer, "--data", samples)
    assert re.search(r"worst part: output 'y' at index \d of axis 1: SQNR 0\.\d dB.*5 of 9 parts are below 20 dB", shown.out)
    assert "'sg': values from" in shown.err


def test_the_option_that_is_named_keeps_its_promise(bench, detector):
    network, samples = detector
    expected = scores_of(bench, network, samples)
    crushed = bench.deploy(network, samples, "--platform", "generic_int8")
    assert sqnr(scores_of(bench, crushed.integer, samples), expected) < 1
    corrected = bench.deploy(network, samples, "--platform", "generic_int8", "--skip-layers", "y", fallbacks=True)
    assert sqnr(scores_of(bench, corrected.integer, samples), expected) > 36
    assert not warnings(corrected.quantized) + warnings(corrected.verified)


def test_analysis_advises_what_helps_alone(bench, detector):
    network, samples = detector
    report = bench.run("analyze", network, "--platform", "generic_int8", "--data", samples, "--directions", "0", "--json").report
    suggestions = [text for one in report["quantizers"] for text in one["suggestions"]]
    assert any(PROMISE.search(text) for text in suggestions)
    for text in suggestions:
        assert "--" not in text or PROMISE.search(text) or re.search(r"--\S+ \S+ \(loss \S+ to \S+[),]", text), text


def test_a_list_of_share_scales_does_not_part_a_concat(bench, detector):
    network, samples = detector
    quantized = bench.deploy(network, samples, "--platform", "generic_int8", "--overrides", "share_scales=[]").quantized
    assert PROMISE.search(warnings(quantized)[0])["name"] == "y"


def test_parts_of_a_slice_are_found(bench):
    """Boxes and scores are channels of one layer, sliced apart behind it."""
    random = np.random.default_rng(1)
    weights = random.standard_normal((8, 9)).astype(np.float32)
    weights[:, :4] *= 1000
    nodes = [
        onnx.helper.make_node("MatMul", ["x", "w0"], ["first"]),
        onnx.helper.make_node("Relu", ["first"], ["bent"]),
        onnx.helper.make_node("MatMul", ["bent", "w"], ["all"]),
        onnx.helper.make_node("Slice", ["all", "zero", "four", "one"], ["boxes"]),
        onnx.helper.make_node("Slice", ["all", "four", "nine", "one"], ["scores"]),
    ]
    numbers = {"w0": random.standard_normal((8, 8)).astype(np.float32), "w": weights, "zero": [0], "four": [4], "nine": [9], "one": [1]}
    graph = onnx.helper.make_graph(
        nodes,
        "slices",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 8])],
        [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in ("boxes", "scores")],
        [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in numbers.items()],
    )
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9), bench.folder / "slices.onnx")
    np.savez(bench.folder / "x.npz", x=random.standard_normal((64, 8)).astype(np.float32))
    quantized = bench.deploy(bench.folder / "slices.onnx", bench.folder / "x.npz", "--platform", "generic_int8").quantized
    (warning,) = warnings(quantized)
    assert warning.startswith("'all' at indices 4 to 8 of axis 1: "), warning
    assert PROMISE.search(warning), warning


@pytest.mark.parametrize("network", ORDINARY)
@pytest.mark.parametrize("platform", ["generic_int8", "pow2_int8"])
def test_ordinary_networks_have_no_warning(bench, shared, network, platform):
    path = shared / "models" / network / "model.onnx"
    given = onnx.load(path, load_external_data=False).graph.input[0]
    extents = [dim.dim_value or 64 for dim in given.type.tensor_type.shape.dim][1:]
    values = np.random.default_rng(0).standard_normal((32, *extents)).astype(np.float32)
    np.savez(bench.folder / "x.npz", **{given.name: values})
    words = ["--platform", platform, "--data", bench.folder / "x.npz", "--out", bench.folder / "prepared.safetensors"]
    assert not warnings(bench.run("quantize", path, *words, "--json").report)
