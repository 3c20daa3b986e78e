"""Every script of examples/ runs and ends with integers that are equal."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
NEEDS = {"own_loop.py": ("torch", "onnxscript", "onnxruntime")}


@pytest.mark.parametrize("script", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_example(script, tmp_path):
    for module in NEEDS[script]:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{script} needs {module}")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, EXAMPLES / script, "--epochs", "1"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "outputs equal: True" in done.stdout
    assert "0 differ on three roads" in done.stdout
