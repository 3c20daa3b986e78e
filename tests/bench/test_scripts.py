"""Runs every script of bench/ in its smallest form. Its exit code and its table must be as expected. Times are not
checked."""
import ast
import dataclasses
import importlib.util
import json
import os
import pathlib
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest

BENCH = pathlib.Path(__file__).parents[2] / "bench"
PROGRAM = os.environ.get("HALFSTEP_PROGRAM", "build/release/halfstep")
sys.path.insert(0, str(BENCH))


@dataclasses.dataclass
class Form:
    """Arguments of a script. {program} and the names from `files` are replaced by paths.

    `shows`: texts that the output must contain. `hides`: texts that it must not contain.
    """

    words: str
    shows: tuple
    needs: tuple = ("onnx", "safetensors")
    codes: tuple = (0,)
    hides: tuple = ()


FORMS = {
    "peers.py": Form("--operators fake_quantize --mib 0.01 --samples 5", ("of copy", "fake_quantize "), (), hides=("no share of a copy",)),
    "onnx_speed.py": Form("--program {program} --only resnet20 --rounds 1 --runs 3", ("halfstep", "resnet20           1")),
    "integer_speed.py": Form("--program {program} --only resnet20 --rounds 1 --runs 3", ("halfstep", "resnet20           1")),
    "layer_speed.py": Form("--program {program} --only transposed_2x2 --rounds 1 --runs 3", ("halfstep", "transposed_2x2     1")),
    "attention_speed.py": Form("{network} --program {program} --batches 1 --rounds 1 --runs 3", ("batch   1  halfstep int8",)),
    "attention_train.py": Form("{network} --program {program} --batch 8 --steps 3 --rounds 1", ("halfstep float", "halfstep W8A8")),
    "language_model.py": Form(
        "{text} {letters} --program {program} --context 8 --cells 8/8:1", ("float: ", "bits per character", "| W8A8 | ", " | yes |")
    ),
    "train_speed.py": Form("--program {program} --batch 8 --rounds 1 --no-compile", ("halfstep float", "halfstep W8A8", "halfstep W4A4")),
    "bits_schedule.py": Form(
        "{network} {folder}/test.npz --program {program} --platform generic_int8 --epochs 3 --kill 1:1", ("killed in stage 1 after epoch 1", "the same")
    ),
    "repair.py": Form(
        "{network} {photos} --preprocess unit --program {program} --images 24 --seeds 0 --steps 3 --cells 4/8:none,bias,qdrop", ("| 4/8 | qdrop |", "0 networks whose integers differ")
    ),
    "repair_peers.py": Form(
        "{network} {photos} --preprocess unit --program {program} --images 24 --steps 3 --bit-widths 4/8", ("| 4/8 | halfstep | adaround | ",), ("onnx", "safetensors", "PIL"), hides=("| halfstep | calibrated | - |", "| halfstep | adaround | - |")
    ),
    "flow_speed.py": Form("--steps 3 --width 4 --batch 2 --samples 64 --rounds 1", ("float run ", "integers ", "W8A8 training "), ("onnx",)),
    "captured_speed.py": Form("--rounds 1", ("call of one operator", "what capturing it adds"), ()),
    "calibration_speed.py": Form("{network} --batch 4 --batches 2 --rounds 1", ("small ", "ms observed")),
    "c_targets.py": Form(
        "{network}={folder}/test.npz --program {program} --platforms generic_int8 --bit-widths 4/8 --samples 2", ("| small | generic_int8 | 4/8 | 0 |",)
    ),
    "on_codes.py": Form("{network} --program {program} --samples 2", ("| network | on codes |", "/small | "), ("onnx",)),
    "c_speed.py": Form("{prepared} --program {program} --runs 3", ("of our kernels' speed", "weights")),
    "litert_speed.py": Form(
        "{prepared} --program {program} --runs 3 --size 8", ("LiteRT, reference", "times as long as the C"), ("ai_edge_litert", "onnx", "safetensors")
    ),
    # Exit code 1: training on random labels may make the network worse.
    "label_free.py": Form("{folder} --program {program} --only small --bit-widths 8 --settings 1e-3:1 --epochs 1", ("| small | 8/8 |", "1 trainings", " 0 failed"), codes=(0, 1)),
    "label_free_networks.py": Form("{made} --epochs 1 --only squeezenet", ("squeezenet: ",), ("torch", "torchvision", "onnx")),
    "compare_faults.py": Form("{made} --program {program} --networks digits_8_8 --places 1", ("NHWC for NCHW", "no bias", "0 wrong claims of equality"), ()),
    "models.py": Form("{folder} --program {program} --only small", ("ok   small", "1 models, 0 failed")),
    # Exit code 1: onnxruntime may open a file faster.
    "onnx_open.py": Form("--program {program} --rounds 1", ("one_tensor", "ok   zeros"), ("onnx", "onnxruntime"), (0, 1)),
    "onnx_exports.py": Form("--program {program} --float {network} --integer {integer} --samples 8", ("qoperator  opset 25", "checker ok"), ("onnx", "onnxruntime")),
    "onnx_node_tests.py": Form("{cases} --program {program}", ("1 cases: 1 pass, 0 unsupported, 0 wrong",), ("onnx",)),
    "onnx_codes.py": Form("{folder} --program {program} --only codes", ("ok   codes 0",), ("onnx", "onnxruntime", "safetensors")),
    "torch_codes.py": Form("{torch_integer} --inputs {x} --program {program}", ("alone", "whole"), ("torch", "onnx", "safetensors")),
    "layer_networks.py": Form(
        "--program {program} --only autoencoder,bert --platforms pow2_int8 --exporters script --samples 2", ("| bert | script | all | pow2_int8 |", "4 of 4 on codes"),
        ("torch", "torchvision", "onnxscript", "onnxruntime")
    ),
    "torch_networks.py": Form("--only squeezenet1_1", ("squeezenet1_1", "1 of 1 networks"), ("torch", "torchvision", "onnxscript")),
    "paddle_codes.py": Form("{folder} --program {program}", ("quantizers",), ("paddle", "onnx", "safetensors")),
    "paddle_operators.py": Form("--program {program} --only conv_groups", ("1 the same, 0 not",), ("paddle", "safetensors")),
}


def call(*words):
    subprocess.run([PROGRAM, *map(str, words)], check=True, capture_output=True, timeout=3000)


def write_network(path):
    from networks import Network

    net = Network(8)
    net.save(net.block(net.op("Relu", net.conv("x", 3, 8, 3)), 8, 8, 1), 8, 10, path)


def write_collection(folder):
    """Writes the input of models.py: the network, its QDQ form and our own outputs."""
    from safetensors.numpy import save_file

    x = np.load(folder / "x.npz")["x"]
    models = []
    for name in ("small", "codes"):
        call("run", folder / f"{name}.onnx", "--inputs", folder / "x.npz", "--outputs", folder / "y.npz", "--overwrite")
        (y,) = np.load(folder / "y.npz").values()
        save_file({"0.in.x": x, "0.out.y": y}, folder / f"{name}.io.safetensors")
        models.append({"name": name, "path": f"{name}.onnx", "io": f"{name}.io.safetensors", "format": "onnx", "tolerance": "1e-4"})
    (folder / "index.json").write_text(json.dumps({"models": models}))


def write_node_test(folder):
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    data = folder / "test_relu/test_data_set_0"
    data.mkdir(parents=True)
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "relu", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8), folder / "test_relu/model.onnx")
    x = np.array([-1, 0, 1, 2], np.float32)
    for kind, value in (("input", x), ("output", np.maximum(x, 0))):
        (data / f"{kind}_0.pb").write_bytes(numpy_helper.from_array(value, "x" if kind == "input" else "y").SerializeToString())


def write_letters(text, path):
    """Writes some lines of text, and a network from a letter to the next one, on batches of eight."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    text.write_text("".join(f"{number} is the square of {number // 2} or not.\n" for number in range(100)))
    count, random = len(set(text.read_text())), np.random.default_rng(2)
    tensors = [numpy_helper.from_array(random.standard_normal(dims).astype(np.float32), name) for name, dims in (("table", (count, 16)), ("w", (16, count)))]
    nodes = [helper.make_node("Gather", ["table", "ids"], ["letters"]), helper.make_node("MatMul", ["letters", "w"], ["next"])]
    ends = [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n", 8]), helper.make_tensor_value_info("next", TensorProto.FLOAT, ["n", 8, count])]
    graph = helper.make_graph(nodes, "letters", ends[:1], ends[1:], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def write_photos(folder):
    """Writes noise as PNG images of 8 x 8 pixels: train/ and test/ with two classes each."""
    random = np.random.default_rng(1)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    for number in range(60):
        rows = np.concatenate([np.zeros((8, 1), np.uint8), random.integers(0, 256, (8, 24), np.uint8)], axis=1)
        path = folder / ("train" if number < 40 else "test") / f"class{number % 2}" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        header = chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0))
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(rows.tobytes())) + chunk(b"IEND", b""))


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Paths by the names that FORMS uses. Creates none when onnx is not installed."""
    folder = tmp_path_factory.mktemp("networks")
    paths = {"program": PROGRAM, "folder": folder, "made": tmp_path_factory.mktemp("made"), "cases": tmp_path_factory.mktemp("cases"), "photos": tmp_path_factory.mktemp("photos"),
             "network": folder / "small.onnx", "prepared": folder / "prepared.safetensors", "integer": folder / "integer.safetensors", "torch_integer": folder / "torch.safetensors", "x": folder / "x.npz",
             "text": folder / "text.txt", "letters": folder / "letters.onnx"}
    if not all(importlib.util.find_spec(module) for module in ("onnx", "safetensors")):
        return paths
    x = np.random.default_rng(0).standard_normal((400, 3, 8, 8)).astype(np.float32)
    np.savez(folder / "train.npz", x=x)
    np.savez(folder / "test.npz", x=x[:100], labels=np.arange(100, dtype=np.int32) % 10)
    np.savez(paths["x"], x=x[:8])
    write_network(paths["network"])
    write_photos(paths["photos"])
    write_letters(paths["text"], paths["letters"])
    for platform, model in (("onnxruntime_int8", paths["integer"]), ("pytorch_x86", paths["torch_integer"])):
        call("quantize", paths["network"], "--platform", platform, "--calibrate", folder / "train.npz", "--out", folder / "prepared.safetensors", "--overwrite")
        call("convert", folder / "prepared.safetensors", "--out", model)
    call("export", paths["integer"], "--format", "qdq", "--out", folder / "codes.onnx")
    write_collection(folder)
    write_node_test(paths["cases"])
    return paths


@pytest.mark.parametrize("script", FORMS)
def test_smallest_form(script, files):
    form = FORMS[script]
    for module in form.needs:
        if not importlib.util.find_spec(module):
            pytest.skip(f"{script} needs {module}")
    words = [word.format(**files) for word in form.words.split()]
    done = subprocess.run([sys.executable, BENCH / script, *words], capture_output=True, text=True, timeout=6000)
    assert done.returncode in form.codes, done.stdout + done.stderr
    assert [text for text in form.shows if text not in done.stdout] == [], done.stdout + done.stderr
    assert [text for text in form.hides if text in done.stdout] == [], done.stdout + done.stderr


def scripts():
    return [path for path in BENCH.glob("*.py") if path.read_text().startswith("#!")]


def test_every_script_has_a_form():
    assert sorted(path.name for path in scripts()) == sorted(FORMS)


def names_in(path):
    """Names that a module defines or imports, at any depth."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    names |= {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    return names | {alias.asname or alias.name for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names}


@pytest.mark.parametrize("path", sorted(BENCH.rglob("*.py")), ids=lambda path: path.name)
def test_imports_from_neighbours_exist(path):
    """Also runs where a library that the script needs is not installed."""
    for node in ast.walk(ast.parse(path.read_text())):
        neighbour = BENCH / f"{node.module}.py" if isinstance(node, ast.ImportFrom) and node.module else None
        if neighbour and neighbour.is_file():
            assert {alias.name for alias in node.names} - names_in(neighbour) == set(), f"from {node.module}"
