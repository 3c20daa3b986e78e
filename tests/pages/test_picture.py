"""The picture in README is of the numbers that a quickstart gives: those are the same on every machine."""

import subprocess
import sys

from pages import ROOT
from test_blocks import PROGRAM


def test_picture(tmp_path):
    subprocess.run([PROGRAM, "quickstart"], cwd=tmp_path, check=True, capture_output=True, timeout=300)
    made = tmp_path / "proof.svg"
    subprocess.run([sys.executable, ROOT / "tools/picture.py", tmp_path / "quickstart_out/report.json", made], check=True, timeout=60)
    assert made.read_text() == (ROOT / "docs/proof.svg").read_text(), "tools/picture.py quickstart_out/report.json docs/proof.svg"
