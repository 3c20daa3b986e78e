"""docs/messages.md has what the program says: every command of its table is run, and every cell found in the message."""

import re
import shlex
import struct
import subprocess
import zlib

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from pages import ROOT
from test_blocks import PROGRAM

COLUMNS = ("where", "what", "found", "expected", "next")


def rows():
    lines = (ROOT / "docs/messages.md").read_text().splitlines()
    cells = [[cell.strip() for cell in line[1:-1].split(" | ")] for line in lines if line.startswith("| `")]
    return [(row[0].strip("`"), dict(zip(COLUMNS, row[1:], strict=True))) for row in cells]


def png(path, height, width, whole=True):
    """A grey picture."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    noise = np.random.default_rng(height).integers(0, 255, (height, 1 + width), np.uint8)
    noise[:, 0] = 0
    contents = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    contents += chunk(b"IDAT", zlib.compress(noise.tobytes())) + chunk(b"IEND", b"")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(contents if whole else contents[: len(contents) // 2])


def network(path, channels, side):
    """Two convolutions whose channels are no multiples of 32, and a log_softmax between them."""
    rng = np.random.default_rng(0)
    weights = {"conv1.weight": (16, channels, 3, 3), "conv2.weight": (24, 16, 3, 3)}
    tensors = [onnx.numpy_helper.from_array(rng.standard_normal(dims, np.float32), name) for name, dims in weights.items()]
    nodes = [helper.make_node("Conv", ["x", "conv1.weight"], ["a"], "conv1", pads=[1, 1, 1, 1]), helper.make_node("LogSoftmax", ["a"], ["s"], "log_softmax", axis=1),
             helper.make_node("Conv", ["s", "conv2.weight"], ["y"], "conv2", pads=[1, 1, 1, 1])]  # fmt: skip
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", count, side, side]) for name, count in (("x", channels), ("y", 24))]
    graph = helper.make_graph(nodes, "four", ends[:1], ends[1:], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("messages")
    for name in "ab":
        for i in range(4):
            png(path / f"photos/{name}/{i}.png", 10 + i, 12)
            png(path / f"bad/{name}/{i}.png", 8, 8, whole=(name, i) != ("b", 1))
    for name in ("train/a/0.png", "train/b/0.png", "val/0.png"):
        png(path / "parts" / name, 8, 8)
    png(path / "photo.png", 8, 8)
    (path / "void").mkdir()
    texts = {"words.csv": "a,b,c\n1,2,x\n", "ragged.csv": "1,2,3,0\n1,2,0\n", "empty.csv": "", "notes.txt": "hello\n", "empty.onnx": "",
             "bad.ir": "graph bad(x: f32[?, 4]) {\n  y = relux(x)\n  return y\n}\n", "chip.yaml": "doc: a chip\nfeatures:\n  rat: 2\n", "tab.yaml": "weights:\n\tbits: 8\n", "empty.yaml": "", "loop.yaml": "base: loop.yaml\n"}  # fmt: skip
    for name, text in texts.items():
        (path / name).write_text(text)
    (path / "module.pt").write_bytes(b"PK\x03\x04" + bytes(26) + b"m/data.pkl\x80\x02}q")
    (path / "cut.onnx").write_bytes(b"\x08\x07\x12\x05torch:")
    (path / "old.pt").write_bytes(b"\x80\x02\x8a\nl\xfcF\xf9 j\xa8P\x19.")
    images, labels = np.zeros((40, 1, 8, 8), np.float32), np.arange(40) % 10
    arrays = {"x": {"x": images}, "wide": {"x": np.zeros((2, 3, 8, 8), np.float32)}, "other": {"picture": images}, "ints": {"x": images.astype(np.int64)},
              "nan": {"x": images * np.nan, "labels": labels}, "zero": {"x": images[:0]}, "few": {"x": images, "labels": labels[:39]}}  # fmt: skip
    for name, tensors in arrays.items():
        np.savez(path / f"{name}.npz", **tensors)
    network(path / "four.onnx", 1, 8)
    network(path / "rgb.onnx", 3, 32)
    for words in ("quickstart --epochs 1 --tune-epochs 0 --out quick", "train --epochs 1 --out run", "quantize four.onnx --out soft.safetensors"):
        subprocess.run([PROGRAM, *words.split()], cwd=path, check=True, capture_output=True, timeout=3000)
    return path


@pytest.mark.parametrize(("command", "cells"), rows(), ids=[command for command, _ in rows()])
def test_message(folder, command, cells):
    before = sorted(folder.rglob("*"))
    done = subprocess.run([PROGRAM, *shlex.split(command)], cwd=folder, capture_output=True, text=True, timeout=3000)
    message = next(line for line in done.stderr.splitlines()[::-1] if line.startswith("halfstep: "))
    assert done.returncode in (2, 3), message
    assert sorted(folder.rglob("*")) == before
    for column, cell in cells.items():
        assert not cell or re.sub(r"\\(.)", r"\1", cell) in message, f"{column}: {message}"
