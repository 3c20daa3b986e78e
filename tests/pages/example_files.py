"""Small files by the names that pages use for those of their readers: networks and images."""

import pathlib
import random
import struct
import subprocess
import tarfile
import zlib

NETWORK = """graph net(x: f32[?, 3, {size}, {size}]) {{
  param @first.w: f32[8, 3, 3, 3]
  param @norm.scale: f32[8]
  param @norm.bias: f32[8]
  state @norm.mean: f32[8]
  state @norm.variance: f32[8]
  param @head.w: f32[10, 8]
  first = conv2d(x, w=@first.w) {{stride: [8, 8], pad: [1, 1, 1, 1]}}
  norm = batch_norm(first, scale=@norm.scale, bias=@norm.bias, mean=@norm.mean, variance=@norm.variance)
  kept = relu(norm)
  "/blocks/blocks.0/Add" = add(a=kept, b=norm)
  "/GlobalAveragePool" = global_avg_pool("/blocks/blocks.0/Add")
  flat = flatten("/GlobalAveragePool")
  head = linear(flat, w=@head.w)
  return head
}}
"""
SIDE, CLASSES, SAMPLES = 32, 10, 8


def network(size):
    def make(program, name):
        pathlib.Path("net.ir").write_text(NETWORK.format(size=size))
        made = [program, "pass", "dce", "net.ir", "--out", "net.model", "--overwrite"]
        subprocess.run(made, check=True, capture_output=True, timeout=600)
        written = [program, "export", "net.model", "--format", "float", "--out", name]
        subprocess.run(written, check=True, capture_output=True, timeout=600)

    return make


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(colour):
    """Return an image of one colour."""
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    rows = (b"\0" + bytes(colour) * SIDE) * SIDE
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def images(_, name):
    draw = random.Random(0)
    for split in ("train", "val"):
        for one in range(CLASSES):
            folder = pathlib.Path(name, split, str(one))
            folder.mkdir(parents=True)
            for i in range(SAMPLES):
                (folder / f"{i}.png").write_bytes(png((25 * one, draw.randrange(256), draw.randrange(256))))


def archive(program, name):
    """The reader goes by the contents, and also takes an archive without the compression of its name."""
    images(program, "images")
    with tarfile.open(name, "w") as file:
        file.add("images")


FILES = {
    "resnet20.onnx": network(32),
    "resnet18.onnx": network(224),
    "model_bn.onnx": network(32),
    "cifar10.tar.zst": archive,
    "--data cifar10 ": images,
    "--data photos ": images,
}


def make(program, text):
    """Makes the files that the commands name."""
    for words, maker in FILES.items():
        if words in text:
            maker(program, words.split()[-1])
