"""Every script of examples/ and the notebook run, and end with equal integers."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
# Smallest arguments of each script, its requirements, and the end of its output.
SCRIPTS = {
    "from_torch.py": (["--side", "32", "--bits", "8"], ("torchvision", "onnxscript"), "8 bits: the integer program equals the prepared model (0 of "),
    "own_loop.py": (["--epochs", "1"], ("torch", "onnxscript", "onnxruntime"), "0 differ on three paths"),
    "own_network.py": (["--epochs", "2"], (), "over 359 samples, 0 differ"),
    "recurrent.py": (["--steps", "3"], (), "the integer program equals the prepared model (0 of "),
    "regression.py": (["--epochs", "2"], (), "the integer program equals the prepared model (0 of "),
    "quickstart.py": (["--epochs", "2"], (), "over 359 samples, 0 differ"),
}


def printed(script, needs, arguments, folder):
    for module in needs:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{script.name} needs {module}")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONWARNINGS": "error::FutureWarning"}
    done = subprocess.run([sys.executable, script, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=6000)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_script(name, tmp_path):
    arguments, needs, says = SCRIPTS[name]
    said = printed(EXAMPLES / name, needs, arguments, tmp_path)
    assert says in said
    assert "outputs equal: False" not in said


def test_notebook(tmp_path):
    cells = [cell for cell in json.loads((EXAMPLES / "workbench.ipynb").read_text())["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1)), "its outputs are those of one run"
    shown = [output for cell in cells for output in cell["outputs"] if "text/html" in output.get("data", {})]
    assert len(shown) >= 4, "networks and reports are tables"
    assert not [output for cell in cells for output in cell["outputs"] if output["output_type"] == "error"]
    script = tmp_path / "workbench.py"
    script.write_text("\n".join("".join(cell["source"]) for cell in cells) + "\nprint(repr(proof))\n")
    assert "VerifyReport: the integer program equals the prepared model (0 of" in printed(script, ("torch", "onnxscript", "onnxruntime"), [], tmp_path)
