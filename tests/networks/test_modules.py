"""Random PyTorch modules through the program: a few in every build, thousands on request."""

import os
import pathlib
import subprocess
import sys

import pytest

PYTHON = os.environ.get("HALFSTEP_TORCH_PYTHON", sys.executable)
LIMIT = 1200  # seconds, to catch hangs only


def lacks(module):
    return subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True, timeout=LIMIT, check=False).returncode != 0


@pytest.mark.parametrize("module", ["torch"])
def test_random_modules_are_right(module):
    if lacks(module):
        pytest.skip(f"{PYTHON} has no {module} (HALFSTEP_TORCH_PYTHON names another Python)")
    script = pathlib.Path(__file__).parent / "modules.py"
    ended = subprocess.run([PYTHON, str(script), "--count", "12"], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "12 networks" in ended.stdout
