"""The picture in README has the numbers of a quickstart. They are the same on every processor with AVX-512."""

import subprocess
import sys

import pytest
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
