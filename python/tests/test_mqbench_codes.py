"""Codes of a prepared network, compared with fake quantization of the same network in float arithmetic. The float
network is its ONNX file with quantizers made of plain operators, run by onnxruntime. MQBench computes in the same
way: with its scales, the emulation reproduces its recorded outputs. If codes differ from ours, the real number is on
a tie of two codes.
"""

import json
from collections import Counter

import numpy as np
import pytest
from mqbench_networks import DATA, NETWORKS, inputs_of, onnx, ort, tensors_of

import halfstep as hs

BACKENDS = ("Academic", "Tensorrt", "SNPE", "PPLW8A16", "Vitis", "ONNX_QNN", "PPLCUDA", "OPENVINO", "Tengine_u8", "Tensorrt_NLP",
            "Academic_NLP", "STPU", "QDQ")  # NNIE's quantizers are logarithmic


class Emulator:
    """A float network whose tensors pass through quantizers. Each has a scale, a zero point, and lowest and highest
    code by tensor.
    """

    def __init__(self, network):
        self.model = onnx.load(DATA / network / f"{network}.onnx")
        self.graph = self.model.graph
        self.tensors = {i.name: onnx.numpy_helper.to_array(i) for i in self.graph.initializer}
        self.known = {*self.tensors, *(i.name for i in self.graph.input), *(name for node in self.graph.node for name in node.output)}
        self.readers = {}
        self.quantized = set()
        for node in self.graph.node:
            for name in node.input:
                self.readers.setdefault(name, []).append(node)

    def layer_of(self, weight):
        """Find the layer, through a transpose if needed, as for a linear layer of three axes."""
        reader = self.readers[weight][0]
        return self.layer_of(reader.output[0]) if reader.op_type == "Transpose" else reader

    def fold(self, weight):
        """Fold the normalization after the layer of `weight` into it, in float32 as PyTorch does."""
        layer = self.layer_of(weight)
        behind = self.readers.get(layer.output[0], [])
        if len(behind) != 1 or behind[0].op_type != "BatchNormalization":
            return
        norm = behind[0]
        gamma, beta, mean, variance = (self.tensors[name] for name in norm.input[1:5])
        epsilon = next(a.f for a in norm.attribute if a.name == "epsilon")
        factor = (gamma / np.sqrt(variance + np.float32(epsilon))).astype("f4")
        old = self.tensors[layer.input[2]] if len(layer.input) > 2 else np.float32(0)
        axis = 1 if layer.op_type == "ConvTranspose" else 0
        shape = [1] * self.tensors[weight].ndim
        shape[axis] = -1
        self.tensors[weight] = (self.tensors[weight] * factor.reshape(shape)).astype("f4")
        self.tensors[norm.output[0] + ".bias"] = ((old - mean) * factor + beta).astype("f4")
        del layer.input[2:]
        layer.input.append(norm.output[0] + ".bias")
        layer.output[0] = norm.output[0]
        self.graph.node.remove(norm)

    def codes_of(self, weight, scale, zero_point, low, high, axis):
        """Return real numbers in units of the scale, and their codes."""
        w = self.tensors[weight]
        shape = [1] * w.ndim
        if axis is not None and axis >= 0:
            shape[axis] = -1
        quotients = w * (np.float32(1) / np.asarray(scale, "f4").reshape(shape))
        zero_point = np.asarray(zero_point, "f4").reshape(shape)
        return quotients, np.clip(np.round(quotients) + zero_point, low, high)

    def quantize_weight(self, weight, scale, zero_point, codes, axis):
        shape = [1] * codes.ndim
        if axis is not None and axis >= 0:
            shape[axis] = -1
        scale, zero_point = (np.asarray(v, "f4").reshape(shape) for v in (scale, zero_point))
        self.tensors[weight] = ((codes - zero_point).astype("f4") * scale).astype("f4")
        self.quantized.add(weight)

    def run(self, inputs, activations, forced=None):
        """Return the outputs, and for every tensor of `activations` the quotient by its scale. Readers of a tensor in
        `forced` get that value.
        """
        renamed, nodes, taken = {}, [], {}

        def constant(name, value):
            self.tensors[name] = np.asarray(value, "f4")
            return name

        def quantize(tensor):
            scale, zero_point, low, high = (np.float32(v) for v in activations[tensor])
            names = [f"{tensor}::{i}" for i in range(6)]
            steps = [("Mul", np.float32(1) / scale), ("Round", None), ("Add", zero_point), ("Clip", None), ("Sub", zero_point), ("Mul", scale)]
            source = tensor
            for (kind, operand), name in zip(steps, names):
                operands = [source]
                if kind == "Clip":
                    operands += [constant(name + ".low", low), constant(name + ".high", high)]
                elif operand is not None:
                    operands.append(constant(name + ".b", operand))
                nodes.append(onnx.helper.make_node(kind, operands, [name]))
                source = name
            taken[tensor] = names[0]
            renamed[tensor] = f"{tensor}::forced" if forced else source

        for name in [*(argument.name for argument in self.graph.input), *list(self.tensors)]:
            if name in activations:
                quantize(name)
        for node in self.graph.node:
            for i, name in enumerate(node.input):
                node.input[i] = renamed.get(name, name)
            nodes.append(node)
            for name in node.output:
                if name in activations:
                    quantize(name)
        outputs = [output.name if forced else renamed.get(output.name, output.name) for output in self.graph.output]
        used = {name for node in nodes for name in node.input}
        info = onnx.helper.make_tensor_value_info
        graph = onnx.helper.make_graph(
            nodes, "emulated", [*self.graph.input, *(info(f"{t}::forced", 1, forced[t].shape) for t in activations if forced and f"{t}::forced" in used)],
            [info(name, 1, None) for name in dict.fromkeys([*outputs, *taken.values()])],
            [onnx.numpy_helper.from_array(np.ascontiguousarray(v), k) for k, v in self.tensors.items() if k in used])  # fmt: skip
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 3
        made = onnx.helper.make_model(graph, opset_imports=self.model.opset_import, ir_version=self.model.ir_version)
        session = ort.InferenceSession(made.SerializeToString(), options)
        feeds = {i.name: forced[i.name[:-8]] if i.name.endswith("::forced") else inputs[i.name] for i in session.get_inputs()}
        found = dict(zip((o.name for o in session.get_outputs()), session.run(None, feeds)))
        return [found[name] for name in outputs], {tensor: found[name] for tensor, name in taken.items()}


@pytest.fixture(scope="module")
def emulated():
    counts = Counter()
    yield counts
    print(dict(counts))


@pytest.fixture(scope="module")
def found():
    counts = Counter()
    yield counts
    print(dict(counts))


def number(value):
    return np.asarray(value).reshape(-1)[0]


def is_on_tie(quotients, reach):
    return np.abs(quotients - np.floor(quotients) - 0.5) <= reach


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("network", NETWORKS)
def test_the_emulator_gives_what_mqbench_recorded(network, backend, emulated):
    tensors = tensors_of(network)
    record = json.loads((DATA / network / "head" / f"{backend}.json").read_text())
    emulator = Emulator(network)
    ties = 0
    for weight in record["weight_quantizers"]:
        if weight["bn_folded_before"]:
            emulator.fold(weight["tensor"])
        args = weight["scale"], weight["zero_point"]
        quotients, codes = emulator.codes_of(weight["tensor"], *args, weight["quant_min"], weight["quant_max"], weight["ch_axis"])
        ties += is_on_tie(quotients, 1e-5).sum()
        emulator.quantize_weight(weight["tensor"], *args, codes, weight["ch_axis"])
    activations = {one["tensor"]: (number(one["scale"]), number(one["zero_point"]), one["quant_min"], one["quant_max"])
                for one in record["activation_quantizers"]}  # fmt: skip
    outputs, quotients = emulator.run(inputs_of(tensors), activations)
    for tensor, (_, _, _, high) in activations.items():
        ties += is_on_tie(quotients[tensor], 1e-5 if high < 256 else 0.01).sum()
    far = 0
    for i, output in enumerate(outputs):
        expected = tensors[f"out.head.{backend}.{i}"]
        far += int((np.abs(output - expected) > 1e-5 * np.abs(expected).max()).sum())
    emulated["as recorded" if far == 0 else "behind a tie"] += 1
    assert far == 0 or ties > 0


def as_codes(values, scale, zero_point, axis=None):
    """Return the visible form of a quantized value: its codes, or the real values if a float layer reads them."""
    if values.dtype.kind != "f":
        return values.astype("f4")
    shape = [1] * values.ndim
    if axis is not None:
        shape[axis] = -1
    scale, zero_point = (np.asarray(v, "f4").reshape(shape) for v in (scale, zero_point))
    return np.round(values / scale) + zero_point


def reach_of(quantizer):
    """Return the tolerance of a quotient near a tie. Biases are integer multiples of a product of scales, and the
    emulator rounds sums to float32, which 16 bits show.
    """
    bias = max((by["most"] for by in quantizer["requantization"]), default=0) / 2
    return bias + (1e-4 if quantizer["code_max"] < 256 else 0.1)


def compare(found, network, backend, quantizer, quotients, expected, ours):
    tensor = quantizer["tensor"]
    differ = ours != expected
    on_tie = is_on_tie(quotients, reach_of(quantizer))
    found["elements"] += ours.size
    found["other codes"] += int(differ.sum())
    assert np.abs(ours - expected).max() <= 1, (network, backend, tensor)
    assert not (differ & ~on_tie).any(), (network, backend, tensor, int((differ & ~on_tie).sum()), quotients[differ & ~on_tie][:5])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("network", NETWORKS)
def test_codes_differ_on_ties_alone(network, backend, found):
    tensors = tensors_of(network)
    model = hs.load(DATA / network / f"{network}.onnx")
    prepared = hs.quantize(model, backend, data={name[8:]: tensor for name, tensor in tensors.items() if name.startswith("calib.0.")})
    layers = set(prepared.layers)
    inputs = inputs_of(tensors)
    emulator = Emulator(network)
    activations, quantizer_of, layer_of = {}, {}, {}
    for one in prepared.report.values["quantizers"]:
        tensor = one["tensor"]
        if one["kind"] == "activation" and tensor in emulator.known:
            activations[tensor] = (one["scale"][0], one["zero_point"][0], one["code_min"], one["code_max"])
            quantizer_of[tensor] = one
            layer_of[tensor] = next(name for name in (tensor + ".q", f"{one['layer']}.q", one["layer"]) if name in layers)
        if one["kind"] == "activation":
            continue
        turned = tensor.endswith("/Transpose_output_0")
        weight = tensor[1:].replace("/Transpose_output_0", ".weight") if turned else tensor
        if weight not in emulator.quantized:
            emulator.fold(weight)
        flipped = tensor + ".flipped.q"
        name = flipped if flipped in layers else tensor + (".transposed.q" if turned else ".q")
        ours, axis = as_codes(prepared.run(**inputs, fetch=[name])[name], one["scale"], one["zero_point"], one["axis"]), one["axis"]
        if name == flipped:  # a transposed convolution as a convolution: outputs first, and windows in reverse
            ours, axis = ours.swapaxes(0, 1)[..., ::-1, ::-1], 1
        quotients, expected = emulator.codes_of(weight, one["scale"], one["zero_point"], one["code_min"], one["code_max"], axis)
        if weight not in emulator.quantized:
            compare(found, network, backend, one, quotients, expected, ours)
            emulator.quantize_weight(weight, one["scale"], one["zero_point"], ours, axis)
    fetched = prepared.run(**inputs, fetch=sorted(set(layer_of.values()))) if layer_of else {}
    codes, forced = {}, {}
    for tensor, (scale, zero_point, _, _) in activations.items():
        codes[tensor] = as_codes(fetched[layer_of[tensor]], scale, zero_point)
        forced[tensor] = ((codes[tensor] - zero_point) * np.float32(scale)).astype("f4")
    _, quotients = emulator.run(inputs, activations, forced)
    for tensor, (_, zero_point, low, high) in activations.items():
        expected = np.clip(np.round(quotients[tensor]) + zero_point, low, high)
        compare(found, network, backend, quantizer_of[tensor], quotients[tensor], expected, codes[tensor])
