"""docs/reference/platform_keys.md has every key of a record, as the program reads it."""

import shutil
import subprocess
import sys

from pages import ROOT
from test_blocks import PROGRAM


def test_platform_keys(tmp_path):
    page, made = ROOT / "docs/reference/platform_keys.md", tmp_path / "platforms.md"
    shutil.copy(page, made)
    subprocess.run([sys.executable, ROOT / "tools/platform_keys.py", PROGRAM, made], check=True, timeout=600)
    command = "tools/platform_keys.py build/release/halfstep docs/reference/platform_keys.md"
    assert made.read_text() == page.read_text(), command
    assert "| `weights.bits` |" in made.read_text()
