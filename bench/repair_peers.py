#!/usr/bin/env python3
"""Compare post-training quantization with other tools on the same network, images and bit widths.

usage: bench/repair_peers.py NETWORK.onnx DATA [--bit-widths 8/8 4/8 4/4] [--peers halfstep onnxruntime nncf aimet
       neural_compressor torchao] [--images 256] [--seed 0] [--steps 1000] [--preprocess cifar10] [--program
       build/release/halfstep] [--threads 1] [--module FILE.py CLASS WEIGHTS.safetensors] [--epochs 1] [--learning-rate
       3e-4]

Prints a table of test accuracy, minutes and memory. DATA is a folder with train/ and test/, each with images in folders
by class. --images images of train/ are drawn as in bench/repair.py. No tool gets a label. Accuracy is measured on all
of test/. Minutes and peak memory are those of the quantization alone, with a process for each row. Weights are
quantized by channel, activations by tensor, and the first and last layers with 8 bits. Tools that are not installed, or
refuse a bit width, are listed with their messages. Some tools need other versions of the same packages than others. A
table may therefore need one run in each of several environments. If OpenVINO or PyTorch end with an illegal
instruction, set ONEDNN_MAX_CPU_ISA=AVX512_CORE_VNNI.

With --epochs there is also a row for torchao's training with quantizers (PT2E QAT). It uses the labels of all of
train/, with images mirrored and moved by up to 4 pixels, in batches of 64, by SGD with a cosine schedule.
"""
import argparse
import dataclasses
import importlib
import importlib.util
import json
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

PRESETS = {"unit": (0, 1), "cifar10": ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))}  # mean and deviation of pixels / 255


@dataclasses.dataclass
class Job:
    network: str
    images: np.ndarray  # [n, 3, height, width], in the network's form
    weights: int
    activations: int
    given: argparse.Namespace
    folder: pathlib.Path
    files: list  # files of the same images

    def batches(self, size=32):
        return [{self.input: self.images[i : i + size]} for i in range(0, len(self.images), size)]

    @property
    def input(self):
        return self.graph.input[0].name

    @property
    def graph(self):
        import onnx

        return onnx.load(self.network).graph

    def layers(self):
        """Return the names of the weights and nodes of layers, in the order of the graph."""
        tensors = {tensor.name for tensor in self.graph.initializer}
        return [(node.input[1], node.name, node.input[0]) for node in self.graph.node if node.op_type in ("Conv", "Gemm", "MatMul") and node.input[1] in tensors]

    def edges(self):
        return [self.layers()[0], self.layers()[-1]]


def images_of(given):
    """Draw images as bench/repair.py does."""
    files = sorted(path for path in (given.data / "train").glob("*/*") if path.is_file())
    return random.Random(given.seed).sample(files, min(given.images, len(files)))


def pixels(files, preprocess):
    from PIL import Image

    mean, deviation = (np.float32(one) for one in PRESETS[preprocess])
    return np.stack([((np.asarray(Image.open(file).convert("RGB"), np.float32) / 255 - mean) / deviation).transpose(2, 0, 1) for file in files])


def in_session(model, threads):
    """Return logits by onnxruntime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {session.get_inputs()[0].name: x})[0]


class Reader:
    """Provides samples for the tools for ONNX."""

    def __init__(self, job):
        self.job = job
        self.rewind()

    def rewind(self):
        self.left = iter(self.job.batches())

    def get_next(self):
        return next(self.left, None)


def halfstep(job, way):
    given, out = job.given, job.folder / "prepared"
    samples = job.folder / "samples"
    samples.mkdir()
    for number, file in enumerate(job.files):
        shutil.copy(file, samples / f"{number:04}{file.suffix}")
    common = ["--threads", str(given.threads), "--json"]
    repair = [] if way == "calibrated" else ["--repair", way, "--repair-steps", str(given.steps)]

    def call(*words):
        done = subprocess.run([given.program, *map(str, words), *common], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip() or f"{words[0]}: exit {done.returncode}")
        return json.loads(done.stdout)

    call("quantize", job.network, "--data", samples, "--all", "--preprocess", given.preprocess, "--weight-bits", job.weights, "--activation-bits", job.activations, "--seed", given.seed, *repair, "--out", out)  # fmt: skip
    return lambda: call("eval", out, "--data", given.data)["accuracy"]


def onnxruntime(job, way):
    from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static

    weights, activations = {8: QuantType.QInt8, 4: QuantType.QInt4}, {8: QuantType.QUInt8, 4: QuantType.QUInt4}
    edges = {weight: [{"quant_type": QuantType.QInt8, "axis": 0}] for weight, _, _ in job.edges()} if job.weights != 8 else {}
    edges |= {x: [{"quant_type": QuantType.QUInt8}] for _, _, x in job.edges()} if job.activations != 8 else {}
    out = job.folder / "quantized.onnx"
    quantize_static(job.network, out, Reader(job), quant_format=QuantFormat.QDQ, per_channel=True, weight_type=weights[job.weights], activation_type=activations[job.activations],
                    calibrate_method=getattr(CalibrationMethod, way), extra_options={"TensorQuantOverrides": edges})  # fmt: skip
    return in_session(out, job.given.threads)


def nncf(job, way):
    import nncf
    import openvino
    from nncf.quantization.advanced_parameters import AdvancedQuantizationParameters, QuantizationParameters

    bits = {} if (job.weights, job.activations) == (8, 8) else {
        "weights_quantization_params": QuantizationParameters(num_bits=job.weights), "activations_quantization_params": QuantizationParameters(num_bits=job.activations)}  # fmt: skip
    openvino_model = openvino.convert_model(job.network)
    ignored = nncf.IgnoredScope(names=[name for _, name, _ in job.edges()], validate=False) if bits else None  # NNCF's bits apply to all layers
    quantized = nncf.quantize(openvino_model, nncf.Dataset(list(job.images), lambda image: image[None]), preset=nncf.QuantizationPreset.MIXED, subset_size=len(job.images),
                              fast_bias_correction=way == "fast bias correction", ignored_scope=ignored, advanced_parameters=AdvancedQuantizationParameters(**bits))  # fmt: skip
    compiled = openvino.compile_model(quantized, "CPU", {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": job.given.threads})
    return lambda x: compiled(x)[0]


def aimet(job, way):
    import aimet_onnx
    import onnx
    from aimet_onnx.cross_layer_equalization import equalize_model

    types = {4: aimet_onnx.int4, 8: aimet_onnx.int8}
    model = onnx.load(job.network)
    if way.startswith("equalized"):
        equalize_model(model)
    sim = aimet_onnx.QuantizationSimModel(model, param_type=types[job.weights], activation_type=types[job.activations], quant_scheme="min_max" if job.activations == 8 else "tf_enhanced",
                                          providers=["CPUExecutionProvider"])  # fmt: skip
    for weight, _, x in job.edges():
        for name in (weight, x):
            if name in sim.qc_quantize_op_dict:
                sim.qc_quantize_op_dict[name].set_bitwidth(8)
    if "AdaRound" in way:
        aimet_onnx.apply_adaround(sim, job.batches(), num_iterations=job.given.steps)
    sim.compute_encodings(job.batches())
    return lambda x: sim.session.run(None, {job.input: x})[0]


def neural_compressor(job, way):
    from onnx_neural_compressor.quantization import QuantFormat, QuantType, config, quantize

    if (job.weights, job.activations) != (8, 8):
        raise ValueError("no QuantType of 4 bits for convolutions")
    out = job.folder / "quantized.onnx"
    quantize(job.network, str(out), config.StaticQuantConfig(Reader(job), quant_format=QuantFormat.QDQ, per_channel=True, weight_type=QuantType.QInt8, activation_type=QuantType.QUInt8,
                                                             calibration_sampling_size=len(job.images)))  # fmt: skip
    return in_session(out, job.given.threads)


def with_constants(network, example):
    """Replace values computed from constants alone (bounds of slices, padding) by constants, because torch.export
    cannot trace them.
    """
    import torch

    class Slices(torch.nn.Module):
        def __init__(self, bounds):
            super().__init__()
            self.bounds = [one.tolist() for one in bounds]

        def forward(self, x, *_):
            for start, end, axis, step in zip(*self.bounds):
                x = torch.ops.aten.slice(x, axis, start, min(end, 2**31), step)
            return x

    class Pads(torch.nn.Module):
        def __init__(self, pads):
            super().__init__()
            half = len(pads) // 2
            self.pads = [int(one) for pair in zip(reversed(pads[:half].tolist()), reversed(pads[half:].tolist())) for one in pair]

        def forward(self, x, *_):
            return torch.nn.functional.pad(x, self.pads)

    fixed = {"OnnxSlice": lambda inputs: Slices(inputs[1:]), "OnnxPadDynamic": lambda inputs: Pads(inputs[1])}
    found = {}
    for name, module in network.named_modules():
        if type(module).__name__ in fixed:
            module.register_forward_pre_hook(lambda module, inputs, name=name: found.__setitem__(name, fixed[type(module).__name__](inputs)))
    network(example)
    for name, module in found.items():
        network.set_submodule(name, module)
        for node in network.graph.nodes:
            if node.target == name:
                node.args = node.args[:1]
    network.graph.eliminate_dead_code()
    network.recompile()
    return network


def narrow_quantizer(job, trains):
    """Return torchao's annotations for x86, with the ranges of fewer bits in all layers except the first and the last.
    """
    import torch
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86

    class Narrow(x86.X86InductorQuantizer):
        def annotate(self, model):
            model = super().annotate(model)
            layers = [node for node in model.graph.nodes if node.target in (torch.ops.aten.conv2d.default, torch.ops.aten.linear.default)]
            for node in layers[1:-1]:
                annotation = node.meta["quantization_annotation"]
                for source, spec in annotation.input_qspec_map.items():
                    if spec is not None:
                        bits = job.weights if spec.dtype == torch.int8 else job.activations
                        low, high = (-(1 << bits >> 1), (1 << bits >> 1) - 1) if spec.dtype == torch.int8 else (0, (1 << bits) - 1)
                        annotation.input_qspec_map[source] = dataclasses.replace(spec, quant_min=low, quant_max=high)
            return model

    return Narrow().set_global(x86.get_default_x86_inductor_quantization_config(is_qat=trains))


def torch_network(job, example):
    """Return the original module, or onnx2torch's module of the file."""
    if not job.given.module:
        import onnx
        import onnx2torch

        return with_constants(onnx2torch.convert(onnx.load(job.network)).eval(), example)
    from safetensors.torch import load_file

    source, name, weights = job.given.module
    sys.path.insert(0, str(pathlib.Path(source).parent))
    network = getattr(importlib.import_module(pathlib.Path(source).stem), name)()
    network.load_state_dict(load_file(weights))
    return network.eval()


def augmented(files, given, rng):
    """Return images mirrored and moved. Pixels outside are 0."""
    x = pixels(files, given.preprocess)
    side = x.shape[-1]
    moved = np.pad(x, ((0, 0), (0, 0), (4, 4), (4, 4)))
    for i, (top, left, mirrored) in enumerate(rng.integers((0, 0, 0), (9, 9, 2), (len(x), 3))):
        part = moved[i, :, top : top + side, left : left + side]
        x[i] = part[:, :, ::-1] if mirrored else part
    return x


def fine_tune(network, given):
    import torch

    rng, size = np.random.default_rng(given.seed), 64
    files = sorted((given.data / "train").glob("*/*"))
    classes = sorted({file.parent.name for file in files})
    steps = given.epochs * (len(files) // size)
    optimizer = torch.optim.SGD([p for p in network.parameters() if p.requires_grad], given.learning_rate, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(given.epochs):
        order = rng.permutation(len(files))
        for first in range(0, len(files) - size + 1, size):
            chosen = [files[k] for k in order[first : first + size]]
            labels = torch.tensor([classes.index(file.parent.name) for file in chosen])
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(torch.from_numpy(augmented(chosen, given, rng))), labels).backward()
            optimizer.step()
            schedule.step()


def torchao(job, way):
    import torch
    from torchao.quantization.pt2e import move_exported_model_to_eval, move_exported_model_to_train
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e

    torch.set_num_threads(job.given.threads)
    example = torch.from_numpy(job.images[:32])
    batch = torch.export.Dim("batch", min=1, max=1024)
    trains = way == "PT2E QAT"
    exported = torch.export.export(torch_network(job, example), (example,), dynamic_shapes=({0: batch},)).module()
    prepared = (prepare_qat_pt2e if trains else prepare_pt2e)(exported, narrow_quantizer(job, trains))
    with torch.no_grad():
        for found in job.batches():
            prepared(torch.from_numpy(found[job.input]))
    if trains:
        move_exported_model_to_train(prepared)
        fine_tune(prepared, job.given)
        move_exported_model_to_eval(prepared)
    quantized = convert_pt2e(prepared)

    def logits(x):
        with torch.no_grad():
            return quantized(torch.from_numpy(x)).numpy()

    return logits


# Functions of each tool, by the bit widths that a method supports, and the required module.
PEERS = {
    "halfstep": (halfstep, {"8/8": ["calibrated", "auto"], "4/8": ["calibrated", "adaround"], "4/4": ["calibrated", "adaround", "brecq", "qdrop"]}, "json"),
    "onnxruntime": (onnxruntime, ["MinMax", "Percentile"], "onnxruntime"),
    "nncf": (nncf, ["fast bias correction", "bias correction"], "nncf"),
    "aimet": (aimet, ["calibrated", "equalized", "AdaRound"], "aimet_onnx"),
    "neural_compressor": (neural_compressor, ["calibrated"], "onnx_neural_compressor"),
    "torchao": (torchao, ["PT2E", "PT2E QAT"], "torchao"),
}


def accuracy(predict, given):
    files = sorted((given.data / "test").glob("*/*"))
    classes = sorted({file.parent.name for file in files})
    right = 0
    for i in range(0, len(files), 100):
        chosen = files[i : i + 100]
        logits = predict(pixels(chosen, given.preprocess))
        right += int((logits.argmax(1) == [classes.index(file.parent.name) for file in chosen]).sum())
    return right / len(files)


def measure(given):
    """Measure one row in this process. The last line of output is for the parent process."""
    peer, way, bit_widths = given.row
    weights, activations = map(int, bit_widths.split("/"))
    with tempfile.TemporaryDirectory() as folder:
        files = images_of(given)
        job = Job(given.network, pixels(files, given.preprocess), weights, activations, given, pathlib.Path(folder), files)
        start = time.time()
        predict = PEERS[peer][0](job, way)
        minutes = (time.time() - start) / 60
        peak = resource.getrusage(resource.RUSAGE_CHILDREN if peer == "halfstep" else resource.RUSAGE_SELF).ru_maxrss / 1024
        right = predict() if peer == "halfstep" else accuracy(predict, given)
    print(json.dumps({"accuracy": 100 * right, "minutes": minutes, "mb": peak}))


def row_of(words, peer, way, bit_widths):
    done = subprocess.run([sys.executable, __file__, *words, "--row", peer, way, bit_widths], capture_output=True, text=True)
    if done.returncode == 0:
        found = json.loads(done.stdout.splitlines()[-1])
        return f"| {bit_widths} | {peer} | {way} | {found['accuracy']:.2f} | {found['minutes']:.1f} | {found['mb']:.0f} |"
    said = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
    return f"| {bit_widths} | {peer} | {way} | - | | | {said}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--bit-widths", nargs="+", default=["8/8", "4/8", "4/4"])
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=PEERS)
    parser.add_argument("--images", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=1000, help="of each block or layer that learns its rounding")
    parser.add_argument("--preprocess", default="cifar10", choices=PRESETS)
    parser.add_argument("--program", default="build/release/halfstep")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--module", nargs=3, metavar=("FILE.py", "CLASS", "WEIGHTS.safetensors"), help="the network for torchao as it was written; else onnx2torch reads the file")
    parser.add_argument("--epochs", type=int, default=0, help="of training with quantizers, where a tool has that")
    parser.add_argument("--learning-rate", type=float, default=3e-4, help="of it")
    parser.add_argument("--row", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.row:
        return measure(given)
    print("| bits | tool | way | accuracy % | minutes | MB |\n| --- | --- | --- | --- | --- | --- |", flush=True)
    for bit_widths in given.bit_widths:
        for peer in given.peers:
            ways = PEERS[peer][1]
            if importlib.util.find_spec(PEERS[peer][2]):
                for way in ways[bit_widths] if isinstance(ways, dict) else ways:
                    if given.epochs == 0 and way == "PT2E QAT":
                        continue
                    print(row_of(sys.argv[1:], peer, way, bit_widths), flush=True)
    for peer in given.peers:
        if not importlib.util.find_spec(PEERS[peer][2]):
            print(f"not installed: {peer} ({PEERS[peer][2]})")


if __name__ == "__main__":
    main()
