"""Runs every command of the table in docs/reference/messages.md: its first error has the id and the place of the row.

usage: tests/pages/test_messages.py    (writes the current ids and places of the program into the table)
"""

import json
import pathlib
import shlex
import struct
import subprocess
import tempfile
import zlib

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from pages import ROOT
from test_blocks import PROGRAM

PAGE = ROOT / "docs/reference/messages.md"


def rows():
    lines = PAGE.read_text().splitlines()
    cells = [[cell.strip() for cell in line[1:-1].split(" | ")] for line in lines if line.startswith("| `")]
    return [(command.strip("`"), id, where) for command, id, where in cells]


def png(path, height, width, whole=True):
    """A grey image."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    noise = np.random.default_rng(height).integers(0, 255, (height, 1 + width), np.uint8)
    noise[:, 0] = 0
    contents = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    contents += chunk(b"IDAT", zlib.compress(noise.tobytes())) + chunk(b"IEND", b"")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(contents if whole else contents[: len(contents) // 2])


def network(path, channels, side):
    """Two convolutions whose channels are not multiples of 32, and a hardmax between them."""
    rng = np.random.default_rng(0)
    weights = {"conv1.weight": (16, channels, 3, 3), "conv2.weight": (24, 16, 3, 3)}
    tensors = [onnx.numpy_helper.from_array(rng.standard_normal(dims, np.float32), name) for name, dims in weights.items()]
    nodes = [helper.make_node("Conv", ["x", "conv1.weight"], ["a"], "conv1", pads=[1, 1, 1, 1]), helper.make_node("Hardmax", ["a"], ["s"], "hardmax", axis=1),
             helper.make_node("Conv", ["s", "conv2.weight"], ["y"], "conv2", pads=[1, 1, 1, 1])]  # fmt: skip
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", count, side, side]) for name, count in (("x", channels), ("y", 24))]
    graph = helper.make_graph(nodes, "four", ends[:1], ends[1:], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def fill(path):
    """Creates the files that the commands name."""
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


def first_error(path, command):
    done = subprocess.run([PROGRAM, *shlex.split(command), "--json"], cwd=path, capture_output=True, text=True, timeout=3000)
    assert done.returncode in (2, 3), (command, done.stdout, done.stderr)
    return json.loads(done.stderr)["errors"][0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("messages")
    fill(path)
    return path


@pytest.mark.parametrize(("command", "id", "where"), rows(), ids=[command for command, _, _ in rows()])
def test_message(folder, command, id, where):
    before = sorted(folder.rglob("*"))
    error = first_error(folder, command)
    assert (error["id"], error["where"]) == (id, where), error
    assert sorted(folder.rglob("*")) == before


def write():
    with tempfile.TemporaryDirectory() as made:
        fill(path := pathlib.Path(made))
        found = {command: first_error(path, command) for command, _, _ in rows()}
    lines = PAGE.read_text().splitlines()
    for i, line in enumerate(lines):
        if line.startswith("| `"):
            command = line[1:].split(" | ")[0].strip().strip("`")
            lines[i] = f"| `{command}` | {found[command]['id']} | {found[command]['where']} |"
    PAGE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    write()
