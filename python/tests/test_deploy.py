"""Files for the tools of chips. They are compared, number by number, with the files that the real MQBench wrote for its
eight networks. onnxruntime runs the models among them. Each deviation has a name and a reason.
"""

import json
from collections import Counter

import numpy as np
import pytest
from mqbench_networks import DATA, NETWORKS, inputs_of, onnx, ort, tensors_of

import halfstep as hs
from raising import raises


def philox(index):
    """Philox4x32-10 with key and stream 0."""
    c, k, mask = [index & 0xFFFFFFFF, index >> 32, 0, 0], [0, 0], 0xFFFFFFFF
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & mask, (a >> 32) ^ c[3] ^ k[1], a & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


def calibration_order(count):
    """Return the order in which calibration with seed 0 reads samples."""
    words = (word for index in range(count) for word in reversed(philox(index)))
    order = list(range(count))
    for i in range(count, 1, -1):
        j = (next(words) << 32 | next(words)) % i
        order[i - 1], order[j] = order[j], order[i - 1]
    return order


def prepared_of(network, backend):
    tensors = tensors_of(network)
    model = hs.load(DATA / network / f"{network}.onnx")
    first = {name[8:]: tensor for name, tensor in tensors.items() if name.startswith("calib.0.")}
    batch = len(next(iter(first.values())))
    order = calibration_order(4 * batch)
    data = {}
    for name in first:
        batches = np.concatenate([tensors[f"calib.{i}.{name}"] for i in range(4)])
        data[name] = np.empty_like(batches)
        data[name][order] = batches
    return hs.quantize(model, backend, data=data, calibration_batch=batch)


def numbers_of(text):
    """Return numbers by field for each name, from a file of any of the formats."""
    if not text.lstrip().startswith("{"):
        rows = [line.replace(":", " ").split() for line in text.splitlines()]
        return {row[0]: [float(word) for word in row[1:]] for row in rows}
    values = json.loads(text)
    for level in ("tensorrt", "blob_range", "activation_encodings", "ppl", "vitis", "nnie", "gfpq_param_dict"):
        values = values.get(level, values)
    found = {}
    for name, value in values.items():
        value = value[0] if isinstance(value, list) and value and isinstance(value[0], dict) else value
        value = {"": value} if not isinstance(value, dict) else value
        found[name] = [number for field in value if field not in ("type", "emin") for number in np.ravel(value[field])]
    return found


# The field emin of STPU's file is not compared, because its rule is not documented.
FORMATS = {"Tensorrt": "_clip_ranges.json", "SNPE": "_clip_ranges.json", "PPLW8A16": "_clip_ranges.json", "PPLCUDA": "_clip_ranges.json",
           "Vitis": "_clip_ranges.json", "Tengine_u8": "_for_tengine.scale", "STPU": "_stpu_minmax.json",
           "NNIE": "_gfpq_param_dict.json"}


@pytest.fixture(scope="module")
def counts():
    found = Counter()
    yield found
    print(dict(found))


def layers_of(path):
    """Return the name of each node's result in a model of MQBench."""
    return {node.name: node.output[0] for node in onnx.load(path).graph.node}


def everywhere(_):
    return True


def on(*backends):
    return lambda network, backend: backend in backends


# Intended differences from MQBench: back ends, networks, tensors and the reason.
DEVIATIONS = [
    (on("NNIE"), everywhere, "NNIE's own quantizer keeps the largest range that its observer ever had; ours is the observer's last"),
    (on("Vitis"), lambda name: name.endswith((".bias", ".b")), "biases have the scale of the sums they are added to, not one of their own"),
    (on("STPU"), lambda name: "Sigmoid" in name, "theirs says -1 to 1 of every sigmoid, whatever was observed"),
    (on("STPU"), lambda name: name.endswith(("Mul_output_0", "Resize_output_0", "PRelu_output_0", "c2.1/BatchNormalization_output_0_bias")),
     "theirs gives what a concat reads the range of its result; each has its own here"),
    (on("STPU"), lambda name: name.endswith((".weight", "matmul_weights", "Add_output_0_weights")), "weights of products stand under the product, as others do"),
    (on("SNPE", "Tengine_u8"), lambda name: name.endswith(".weight"), "theirs takes weights of deconvolutions and products for activations"),
    (on("Tengine_u8"), lambda name: name in ("/b1/BatchNormalization_output_0", "/d3/ConvTranspose_output_0"), "a deconvolution takes its ReLU in"),
    (on("Tengine_u8"), lambda name: name == "out1", "outputs in a tuple are outputs"),
    (lambda network, _: network == "functional", everywhere,
     "F.max_pool2d and means are the operators that modules are; a convolution that is called twice has one weight"),
]  # fmt: skip


def name_of_theirs(name, names, results):
    """Return MQBench's name in the network's file. Weights, biases and parameters of a layer have the name of its node.
    """
    for ending in ("_weights", "_bias"):
        if name.endswith(ending) and name[: -len(ending)] in results:
            result = results[name[: -len(ending)]]
            return names.get(result, result) + ending
    result = results.get(name, name)
    return names.get(result, result)


def names_in_file(network, prepared, ours):
    """Map our names to those in the network's file, for layers with a normalization after them."""
    graph = onnx.load(DATA / network / f"{network}.onnx").graph
    norms = {node.input[0]: node.output[0] for node in graph.node if node.op_type == "BatchNormalization"}
    found = {}
    for row in prepared.report.values["quantizers"]:
        if row["kind"] == "activation":
            found[row["tensor"] if row["tensor"] in ours else row["layer"]] = row["tensor"]

    def file_of(name):
        for ending in ("_weights", "_bias"):
            if name.endswith(ending) and name not in found:
                return file_of(name[: -len(ending)]) + ending
        name = name.removesuffix(".transposed")
        if name.endswith("/Transpose_output_0") and "/Transpose_output_0" != name:
            return name[1:].replace("/Transpose_output_0", ".weight")
        return found[name] if name in found and name not in norms else norms.get(name, name)

    return file_of


@pytest.mark.parametrize("backend", FORMATS)
@pytest.mark.parametrize("network", NETWORKS)
def test_ranges_are_theirs(network, backend, counts, tmp_path):
    folder = DATA / network / "t110" / "deploy" / backend
    golden = next(folder.glob("*" + FORMATS[backend]), None) if folder.is_dir() else None
    if golden is None:
        pytest.skip(f"MQBench wrote no such file for {network} on {backend}")
    names = json.loads((DATA / network / "t110" / f"{backend}.json").read_text())["deploy"].get("names", {})
    results = layers_of(next(path for path in folder.glob("*.onnx") if "deploy" in path.name or "for_" in path.name))
    prepared = prepared_of(network, backend)
    written = hs.export(prepared, tmp_path / "out", format="deploy")
    mine = next(name for name in written.files if not name.endswith(".onnx"))
    ours = numbers_of((tmp_path / "out" / mine).read_text())
    theirs = numbers_of(golden.read_text())
    file_of = names_in_file(network, prepared, ours)
    ours = {file_of(name): numbers for name, numbers in ours.items()}
    theirs = {name_of_theirs(name, names, results): numbers for name, numbers in numbers_of(golden.read_text()).items()}
    for name in {*ours, *theirs}:
        mine, numbers = ours.get(name), theirs.get(name)
        equal = None not in (mine, numbers) and len(mine) == len(numbers) and np.allclose(mine, numbers, rtol=4e-6, atol=4e-6 * max(np.abs(numbers)))
        reason = next((reason for where, holds, reason in DEVIATIONS if where(network, backend) and holds(name)), None)
        assert equal or reason, (name, mine, numbers)
        # The last range of a moving observer is at most the largest. MQBench writes a deconvolution's weight after it.
        if backend == "NNIE" and None not in (mine, numbers):
            assert all(0.6 * b <= a <= b * (1 + 4e-6) for a, b in zip(mine, numbers)), (name, mine, numbers)
        counts["equal" if equal else reason] += len(mine or numbers)


@pytest.mark.parametrize("backend", ("ONNX_QNN", "QDQ"))
@pytest.mark.parametrize("network", NETWORKS)
def test_models_on_codes_run_in_onnxruntime(network, backend, tmp_path):
    """QuantizeLinear and DequantizeLinear pairs are at the positions of the quantizers. Outputs equal those of the
    prepared network, except for ties.
    """
    prepared = prepared_of(network, backend)
    (file,) = hs.export(prepared, tmp_path / "out", format="deploy").files
    model = onnx.load(tmp_path / "out" / file)
    onnx.checker.check_model(model)
    quantizers = prepared.report.values["quantizers"]
    assert sum(node.op_type == "QuantizeLinear" for node in model.graph.node) == len(quantizers)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(tmp_path / "out" / file, options)
    inputs = inputs_of(tensors_of(network))
    found = session.run(None, {i.name: inputs[i.name] for i in session.get_inputs()})
    step = max(row["scale"][0] for row in quantizers if row["kind"] == "activation")
    for mine, (name, expected) in zip(found, prepared.run(**inputs).items()):
        assert np.abs(mine - expected).max() <= 3 * step, name
        assert np.median(np.abs(mine - expected)) <= 0.2 * step, name


def test_fake_quantize_nodes_have_the_ranges_of_theirs(tmp_path):
    equal = 0
    for network in ("resnet", "mobilenetv2", "se_block", "two_input"):
        prepared = prepared_of(network, "OPENVINO")
        written = hs.export(prepared, tmp_path / network, format="deploy")
        folder = DATA / network / "t110" / "deploy" / "OPENVINO"
        found, expected = (ranges_of_nodes(path) for path in (tmp_path / network / written.files[0], next(folder.glob("*deploy*.onnx"))))
        for levels, bounds in expected:
            near = [b for n, b in found if n == levels and b.shape == bounds.shape and np.allclose(b, bounds, rtol=1e-5, atol=1e-6)]
            equal += bool(near)
            # Our codes from 0 on use the whole representable range. MQBench spends half of them on negative values.
            halved = [b for n, b in found if n == levels and b.size == bounds.size and np.allclose(2 * b, bounds, rtol=1e-5, atol=1e-6)]
            assert near or halved or network == "mobilenetv2", (network, levels, bounds)
    assert equal > 30


def ranges_of_nodes(path):
    graph = onnx.load(path).graph
    tensors = {i.name: onnx.numpy_helper.to_array(i) for i in graph.initializer}
    tensors |= {n.output[0]: onnx.numpy_helper.to_array(n.attribute[0].t) for n in graph.node if n.op_type == "Constant"}
    nodes = [node for node in graph.node if node.op_type == "FakeQuantize"]
    return [(next(a.i for a in node.attribute if a.name == "levels"), np.stack([np.ravel(tensors[name]) for name in node.input[1:5]]))
            for node in nodes]  # fmt: skip


def test_refusals_leave_nothing_behind(tmp_path):
    prepared = prepared_of("resnet", "generic_int8")
    with raises("platform_without_files", where="platform generic_int8"):
        hs.export(prepared, tmp_path / "out", format="deploy")
    assert not (tmp_path / "out").exists()
    prepared = prepared_of("resnet", "tensorrt")
    hs.export(prepared, tmp_path / "out", format="deploy")
    with raises("file_not_replaced"):
        hs.export(prepared, tmp_path / "out", format="deploy")
    hs.export(prepared, tmp_path / "out", format="deploy", overwrite=True)
    with pytest.raises(hs.Error):
        hs.export(hs.load(DATA / "resnet/resnet.onnx"), tmp_path / "float", format="deploy")
