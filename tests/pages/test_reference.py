"""tools/reference.py makes the references of the site: every public name, option and error is in them."""

import pathlib
import re
import subprocess
import sys

import halfstep
from pages import ROOT
from test_blocks import PROGRAM


def test_references(tmp_path):
    subprocess.run([sys.executable, ROOT / "tools/reference.py", pathlib.Path(PROGRAM).parent, tmp_path], check=True, timeout=120)
    python = (tmp_path / "python.md").read_text()
    missing = [name for name in halfstep.__all__ if name not in ("__version__", "ops", "nn", "optim", "options", "datasets", "losses") and f"### {name}\n" not in python]
    assert missing == [] and "### datasets.digits\n" in python and "### nn.Conv2d\n" in python and "\nload(path: str " in python and "in_channels" in python
    assert "### options.TrainOptions\n" in python and "- `.epochs: int = " in python
    commands = (tmp_path / "commands.md").read_text()
    assert "## train\n" in commands and "--freeze-oscillating NUMBER" in commands
    listed = re.findall(r"HS\d{4}", subprocess.run([PROGRAM, "explain"], capture_output=True, text=True, check=True).stdout)
    assert listed == re.findall(r"^## (HS\d{4}) ", (tmp_path / "errors.md").read_text(), re.MULTILINE) != []
