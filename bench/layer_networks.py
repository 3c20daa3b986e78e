#!/usr/bin/env python3
"""Export networks of PyTorch with many kinds of layers, and verify that they run on codes: a table of networks.

usage: bench/layer_networks.py [--only NAME,...] [--platforms a,b] [--exporters dynamo,script] [--dynamic batch,all]
       [--samples 4] [--c COMPILER] [--runner RUNNER] [--program build/release/halfstep] [--json FILE] [--keep FOLDER]

Weights are random. `batch` exports each network with a dynamic batch. `all` exports it with dynamic lengths or image
sizes too, and also verifies samples of a size that neither the export nor the calibration has seen. Each file is
imported, inspected, quantized, converted without --float-fallback, and verified. Prints for each file the layers on
codes, the operators in float, the compared and differing codes, the codes that fail the semantic check, with --c the
codes that differ in C, and the largest difference of the import from PyTorch's output as a share of the largest output.
A file that PyTorch's exporter refuses, or that onnxruntime cannot run at both sizes, does not count. Needs torch,
torchvision, onnx, onnxscript and onnxruntime. Exits with 1 if an operator stays in float, anything differs, or a step
fails.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import onnx
import onnxruntime
import torch

from layers import images, sequences

CLOSE = 2e-3  # tolerance for float32 sums in another order


def real(*dims):
    """Return an input of real numbers, as a function of the batch and of the value of S in `dims`."""
    return lambda batch, size: torch.randn([batch, *(size if dim == "S" else dim for dim in dims)])


def ids(words, *dims):
    return lambda batch, size: torch.randint(0, words, [batch, *(size if dim == "S" else dim for dim in dims)])


def mask(batch, size):
    """Return a mask whose last steps are 0, more of them for each sample."""
    return (torch.arange(size)[None] < size - torch.arange(batch)[:, None] % 3).to(torch.int64)


class Case:
    """`inputs`: functions of a batch and a size. `axes`: the axes of each that have the size. `sizes`: of the export
    and of the samples that it has not seen, empty for a network of one size."""

    def __init__(self, make, inputs, axes=(), sizes=()):
        self.make, self.inputs, self.axes, self.sizes = make, inputs, axes, sizes


SIDES, LENGTH = ((2, 3),), ((1,),)
CASES = {
    "unet_transposed": Case(images.UNet, {"x": real(3, "S", "S")}, SIDES, (36, 45)),
    "unet_bilinear": Case(images.BilinearUNet, {"x": real(3, "S", "S")}, SIDES, (36, 45)),
    "deeplabv3": Case(images.deeplabv3, {"x": real(3, "S", "S")}, SIDES, (64, 72)),
    "lraspp": Case(images.lraspp, {"x": real(3, "S", "S")}, SIDES, (64, 72)),
    "fsrcnn": Case(images.fsrcnn, {"x": real(1, "S", "S")}, SIDES, (12, 15)),
    "espcn": Case(images.espcn, {"x": real(1, "S", "S")}, SIDES, (12, 15)),
    "style_transfer": Case(images.StyleTransfer, {"x": real(3, "S", "S")}, SIDES, (24, 32)),
    "autoencoder": Case(images.autoencoder, {"x": real(1, "S", "S")}, SIDES, (24, 32)),
    "r3d_18": Case(images.r3d_18, {"x": real(3, 4, "S", "S")}, ((3, 4),), (24, 32)),
    "unet_3d": Case(images.UNet3d, {"x": real(1, "S", "S", "S")}, ((2, 3, 4),), (8, 12)),
    "temporal_convolutions": Case(sequences.temporal_convolutions, {"x": real(4, "S")}, ((2,),), (20, 27)),
    "plate_reader": Case(sequences.PlateReader, {"x": real(1, 32, "S")}, ((3,),), (48, 64)),
    "keyword_spotter": Case(sequences.KeywordSpotter, {"x": real(20, "S")}, ((2,),), (30, 41)),
    "translator": Case(sequences.Translator, {"source": ids(50, "S"), "written": ids(50, 7)}, ((1,), ()), (9, 12)),
    "face_network": Case(images.FaceNetwork, {"x": real(3, 64, 64)}),
    "vit_b_16": Case(images.vit_b_16, {"x": real(3, 64, 64)}),
    "swin_t": Case(images.swin_t, {"x": real(3, "S", "S")}, SIDES, (64, 96)),
    "bert": Case(sequences.Bert, {"ids": ids(100, "S"), "mask": mask, "kinds": ids(2, "S")}, LENGTH * 3, (16, 23)),
    "decoder_waves": Case(lambda: sequences.Decoder("waves"), {"ids": ids(100, "S")}, LENGTH, (16, 23)),
    "decoder_relative": Case(lambda: sequences.Decoder("relative"), {"ids": ids(100, "S")}, LENGTH, (16, 23)),
    "decoder_alibi": Case(lambda: sequences.Decoder("alibi"), {"ids": ids(100, "S")}, LENGTH, (16, 23)),
    "decoder_rotary": Case(lambda: sequences.Decoder("rotary"), {"ids": ids(100, "S")}, LENGTH, (16, 23)),
}


def module_of(case):
    """Return the network with batch norms that have the statistics of a few samples."""
    torch.manual_seed(0)
    module = case.make()
    for part in module.modules():
        if isinstance(part, torch.nn.modules.batchnorm._BatchNorm):
            part.momentum = None
    with torch.no_grad():
        module.train()(*(make(8, case.sizes[0] if case.sizes else 0) for make in case.inputs.values()))
    return module.eval()


def export(module, case, exporter, dynamic, path):
    axes = case.axes if dynamic == "all" else ((),) * len(case.inputs)
    arguments = tuple(make(2, case.sizes[0] if case.sizes else 0) for make in case.inputs.values())
    named = {"input_names": list(case.inputs), "dynamo": exporter == "dynamo"}
    if exporter == "dynamo":
        auto = torch.export.Dim.AUTO
        named |= {"dynamic_shapes": tuple({0: auto, **{axis: auto for axis in each}} for each in axes), "verbose": False}
    else:
        named |= {"dynamic_axes": {name: {0: "batch", **{axis: f"size{axis}" for axis in each}} for name, each in zip(case.inputs, axes)}, "opset_version": 17}
    torch.onnx.export(module, arguments, str(path), **named)


class Failed(Exception):
    pass


def call(given, *words, accepted=(0, 1)):
    done = subprocess.run([given.program, *map(str, words), "--json"], capture_output=True, text=True)
    if done.returncode not in accepted:
        raise Failed(f"{words[0]}: exit {done.returncode} {done.stderr.strip()}")
    return json.loads(done.stdout)


def samples_of(case, size, count, path):
    """Write samples and return them."""
    tensors = {name: make(count, size) for name, make in case.inputs.items()}
    np.savez(path, **{name: tensor.numpy() for name, tensor in tensors.items()})
    return tensors


def import_difference(given, module, network, inputs, path, folder):
    """Return how far the outputs of the imported network are from PyTorch's."""
    call(given, "run", network, "--inputs", path, "--outputs", folder / "y.npz", "--overwrite")
    with torch.no_grad():
        wanted = module(*inputs.values())
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    found = [np.load(folder / "y.npz")[value.name] for value in onnx.load(network, load_external_data=False).graph.output]
    return max(float(np.abs(a - b.numpy()).max() / b.abs().max()) for a, b in zip(found, wanted, strict=True))


def counts_of(given, prepared, integer, path):
    """Return what `verify` counts: operators, codes, differing codes, failures of the semantic check."""
    words = ["--backend", "c", "--compiler", given.c] if given.c else []
    words += ["--runner", given.runner] if given.runner else []
    proof = call(given, "verify", prepared, integer, "--data", path, "--all", "--semantics", "all", *words)
    layers = proof["layers"]
    return {
        "operators": sum(layer["op"] != "fake_quantize" for layer in layers),
        "codes": sum(layer["compared"] for layer in layers),
        "differing": sum(layer["differing"] for layer in layers),
        "beyond": sum(layer.get("semantics", {}).get("beyond", 0) for layer in layers),
        **({"c": sum(layer["engine_differing"] for layer in layers)} if given.c else {}),
    }


def verified(given, network, platform, data, folder):
    """Return the row of one network on one platform. `data`: samples of each size, the first for calibration."""
    prepared, integer = folder / "prepared.safetensors", folder / "integer.safetensors"
    blocked = call(given, "inspect", network, "--platform", platform, accepted=(0, 3))
    row = {"refused": not blocked.get("target", {}).get("holds", True)}
    call(given, "quantize", network, "--platform", platform, "--data", data[0], "--all", "--overwrite", "--out", prepared)
    try:
        floats = call(given, "convert", prepared, "--overwrite", "--out", integer)["float"]
    except Failed as failure:
        row["convert"] = str(failure)
        floats = call(given, "convert", prepared, "--float-fallback", "--overwrite", "--out", integer)["float"]
    row["float"] = [f"{one['operator']} {one['tensor']}: {one['reason']}" for one in floats]
    sums = [counts_of(given, prepared, integer, path) for path in data]
    return row | {key: sums[0][key] if key == "operators" else sum(each[key] for each in sums) for key in sums[0]}


def run_elsewhere(network, inputs):
    """Run a file in onnxruntime, which raises an error if the export has fixed a size."""
    session = onnxruntime.InferenceSession(str(network), providers=["CPUExecutionProvider"])
    used = {value.name for value in session.get_inputs()}
    for tensors in inputs:
        session.run(None, {key: tensor.numpy() for key, tensor in tensors.items() if key in used})


def rows_of(given, name, exporter, dynamic, folder):
    """Yield a row for each platform."""
    case, network = CASES[name], folder / f"{name}_{exporter}_{dynamic}.onnx"
    module = module_of(case)
    sizes = (case.sizes if dynamic == "all" else case.sizes[:1]) or (0,)
    data = [folder / f"{name}_{size}.npz" for size in sizes]
    inputs = [samples_of(case, size, given.samples, path) for size, path in zip(sizes, data)]
    try:
        export(module, case, exporter, dynamic, network)
        run_elsewhere(network, inputs)
    except Exception as error:  # of many types
        yield {"not_exported": str(error).strip()}
        return
    far = max(import_difference(given, module, network, each, path, folder) for each, path in zip(inputs, data))
    for platform in given.platforms.split(","):
        start = time.perf_counter()
        row = {"platform": platform, "import": far}
        try:
            row |= verified(given, network, platform, data, folder)
        except Failed as failure:
            row["error"] = str(failure)
        yield row | {"seconds": round(time.perf_counter() - start, 1)}


def is_good(row):
    return "error" not in row and "convert" not in row and not row["refused"] and not row["float"] and row["import"] < CLOSE and not any(
        row.get(key) for key in ("differing", "beyond", "c"))


def show(row):
    cells = [row.get(key, "-") for key in ("network", "exporter", "dynamic", "platform", "operators")]
    cells += [len(row["float"]) if "float" in row else "-"]
    cells += [row.get(key, "-") for key in ("codes", "differing", "beyond", "c")]
    if "not_exported" in row:
        print(f"| {row['network']} | {row['exporter']} | {row['dynamic']} | PyTorch does not export it |", flush=True)
        return
    print("| " + " | ".join(map(str, [*cells, f"{row.get('import', float('nan')):.0e}", row.get("seconds", "-")])) + " |", flush=True)
    for reason in [row[key] for key in ("error", "convert") if key in row] + row.get("float", [])[:4]:
        print(f"  {reason}", flush=True)


def measured(given, folder):
    """Yield all rows. A step that fails gives a row with its error."""
    for name in given.only.split(",") if given.only else CASES:
        for exporter in given.exporters.split(","):
            for dynamic in given.dynamic.split(","):
                if dynamic == "all" and not CASES[name].sizes:
                    continue
                keys = {"network": name, "exporter": exporter, "dynamic": dynamic}
                try:
                    yield from (keys | row for row in rows_of(given, name, exporter, dynamic, folder))
                except Failed as failure:
                    yield keys | {"error": str(failure)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--platforms", default="generic_int8,pow2_int8")
    parser.add_argument("--exporters", default="dynamo,script")
    parser.add_argument("--dynamic", default="batch,all")
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--c", default="", help="command of a compiler")
    parser.add_argument("--runner", default="", help="command that runs a program in C")
    parser.add_argument("--program", default="build/release/halfstep")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the networks and samples")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    print("| network | exporter | dynamic | platform | operators | in float | codes | differ | beyond | in C | import | seconds |\n|" + " --- |" * 12)
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or pathlib.Path(temporary)
        for row in measured(given, folder):
            rows.append(row)
            show(row)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))
    exported = [row for row in rows if "not_exported" not in row]
    good = sum(map(is_good, exported))
    print(f"{good} of {len(exported)} on codes")
    return 0 if good == len(exported) else 1


if __name__ == "__main__":
    sys.exit(main())
