"""The picture in README has the numbers of a quickstart. They are the same on every processor with AVX-512."""

import subprocess
import sys

import pytest
import yaml
from pages import HAS_FIGURES_OF_PAGES, ROOT
from test_blocks import PROGRAM


@pytest.mark.skipif(not HAS_FIGURES_OF_PAGES, reason="training has other bits without AVX-512")
def test_picture(tmp_path):
    subprocess.run([PROGRAM, "quickstart"], cwd=tmp_path, check=True, capture_output=True, timeout=3000)
    made = tmp_path / "proof.svg"
    subprocess.run([sys.executable, ROOT / "tools/picture.py", tmp_path / "quickstart_out/report.json", made], check=True, timeout=600)
    assert made.read_text() == (ROOT / "docs/proof.svg").read_text(), "tools/picture.py quickstart_out/report.json docs/proof.svg"


def test_pipeline(tmp_path):
    made = tmp_path / "pipeline.svg"
    subprocess.run([sys.executable, ROOT / "tools/pipeline_picture.py", made], check=True, timeout=60)
    assert made.read_text() == (ROOT / "docs/pipeline.svg").read_text(), "tools/pipeline_picture.py docs/pipeline.svg"


def test_speed(tmp_path):
    """The bars have the numbers of the table."""
    made = tmp_path / "speed.svg"
    subprocess.run([sys.executable, ROOT / "tools/speed_picture.py", made], check=True, timeout=60)
    assert made.read_text() == (ROOT / "docs/speed.svg").read_text(), "tools/speed_picture.py docs/speed.svg"
    data = yaml.safe_load((ROOT / "docs/results/data/speed.yaml").read_text())
    cells = " ".join(cell for row in data["tables"]["training_and_inference"]["rows"] for cell in row)
    for task in data["chart"]:
        for _, value in task["bars"]:
            assert f"{value:g} {task['unit']}" in cells, task
