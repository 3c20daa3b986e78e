"""Samples of a path: contents and description from `halfstep.datasets.load`."""

import json
import struct
import warnings
import zlib

import numpy as np
import pytest

import halfstep as hs
from raising import raises


def png(pixels):
    """Return a PNG of u8 [h, w, 3]."""
    height, width, _ = pixels.shape

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@pytest.fixture
def photos(tmp_path):
    """Write pictures of many sizes in train/ and val/, in two classes."""
    random = np.random.default_rng(0)
    for part, count in (("train", 24), ("val", 8)):
        for i in range(count):
            folder = tmp_path / part / ("dark", "light")[i % 2]
            folder.mkdir(parents=True, exist_ok=True)
            pixels = random.integers(0, 100, (9 + i % 5, 8 + i % 7, 3), dtype=np.uint8) + np.uint8(150 * (i % 2))
            (folder / f"{i}.png").write_bytes(png(pixels))
    return tmp_path


@pytest.fixture
def network(tmp_path_factory, photos):
    """Return a classifier of 3 x 8 x 8 pixels."""
    import subprocess
    import sys
    from pathlib import Path

    program = Path(sys.modules["halfstep"].__file__).parents[3] / "halfstep"
    out = tmp_path_factory.mktemp("run")
    if not program.exists():
        pytest.skip(f"no {program}")
    command = [program, "train", "--data", photos, "--size", "8x8", "--epochs", "1", "--out", out / "run"]
    subprocess.run(command, check=True, capture_output=True)
    return hs.load(out / "run/model.safetensors")


def test_dataset_says_what_it_is(photos, tmp_path_factory):
    data = hs.datasets.load(photos)
    assert len(data) == 32
    assert repr(data).endswith("image folder, 32 samples, 2 classes, 24 train, 8 test (val/)>")
    sheet = tmp_path_factory.mktemp("sheet") / "sheet.png"
    report = hs.inspect_data(data, sheet=sheet)
    assert report.classes == {"dark": 16, "light": 16}
    assert sum(report.sizes.values()) == 32
    assert report.values["most"] == 249
    assert sheet.read_bytes().startswith(b"\x89PNG")
    assert json.loads(json.dumps(report.values))["sample"] == [3, -1, -1]
    assert len(hs.datasets.load(photos, samples=4)) == 32


def test_sizes_travel_with_the_network(photos, network):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prepared = hs.quantize(network, data=photos, preprocess={"resize": 9, "crop": 8})
        program = hs.convert(prepared)
        assert hs.verify(prepared, program, photos)
        score = hs.evaluate(program, photos, top=2)
    assert (score.samples, score.tested, score.top) == (8, "val/", 1.0)
    assert score.loss is not None and score.loss > 0
    assert hs.evaluate(program, hs.datasets.load(photos, all=True)).samples == 32
    assert hs.evaluate(program, hs.datasets.load(photos, samples=3)).samples == 3


def test_what_is_wrong_is_said(photos, network):
    with raises("crop_exceeds_image", expected="at least the crop of 9", remedy="add --resize 9"):
        hs.evaluate(network, photos, preprocess={"crop": 9})
    with raises("frame_resize_and_size", match="resize and size"):
        hs.evaluate(network, photos, preprocess={"resize": 9, "size": [8, 8]})
    with raises("unknown_name", match="'imagnet'"):
        hs.evaluate(network, photos, preprocess="imagnet")
    with pytest.warns(UserWarning, match="raw values from .* go to network 'digits' unchanged"):
        hs.evaluate(network, photos, preprocess={"scale": 1})
    (photos / "train/dark/bad.jpg").write_bytes(b"no picture")
    with raises("images_unreadable", match="bad.jpg"):
        hs.datasets.load(photos)
    with pytest.warns(UserWarning, match="1 of 33 images were skipped: .*bad.jpg"):
        hs.evaluate(network, hs.datasets.load(photos, skip_bad=True))
    with raises("options_of_paths"):
        hs.datasets.load(np.zeros((4, 3)), label="none")
