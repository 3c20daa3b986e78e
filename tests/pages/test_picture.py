"""The pictures of the pages are as their scripts draw them from today's data."""

import os
import subprocess
import sys

import pytest
import yaml
from pages import HAS_FIGURES_OF_PAGES, ROOT
from test_blocks import PROGRAM


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory):
    """A folder in which quickstart has run."""
    folder = tmp_path_factory.mktemp("quickstart")
    subprocess.run([PROGRAM, "quickstart"], cwd=folder, check=True, capture_output=True, timeout=3000)
    return folder / "quickstart_out"


def drawn(tmp_path, script, *arguments, **options):
    """Return the picture that a script draws."""
    made = tmp_path / "made.svg"
    subprocess.run([sys.executable, ROOT / "tools" / script, *arguments, made], check=True, timeout=600, **options)
    return made.read_text()


def stored(name):
    return (ROOT / "docs" / name).read_text()


@pytest.mark.skipif(not HAS_FIGURES_OF_PAGES, reason="training has other bits without AVX-512")
def test_picture(quickstart, tmp_path):
    made = drawn(tmp_path, "picture.py", quickstart / "report.json")
    assert made == stored("proof.svg"), "tools/picture.py quickstart_out/report.json docs/proof.svg"


@pytest.mark.parametrize("script, name", [
    ("pipeline_picture.py", "pipeline.svg"),
    ("rooms_picture.py", "rooms.svg"),
    ("training_picture.py", "training_step.svg"),
    ("speed_picture.py", "speed.svg"),
])  # fmt: skip
def test_stored_pictures(script, name, tmp_path):
    assert drawn(tmp_path, script) == stored(name), f"tools/{script} docs/{name}"


def test_memory(quickstart, tmp_path):
    """The boxes are the values of the program of a quickstart."""
    command = [PROGRAM, "inspect", quickstart / "integer.safetensors"]
    inspected = subprocess.check_output(command, env={**os.environ, "HALFSTEP_CPU": "scalar"}, text=True, timeout=600)
    made = drawn(tmp_path, "memory_picture.py", input=inspected, text=True)
    assert made == stored("memory.svg"), "see tools/memory_picture.py"


def test_speed():
    """The bars have the numbers of the table."""
    data = yaml.safe_load((ROOT / "docs/results/data/speed.yaml").read_text())
    cells = " ".join(cell for row in data["tables"]["training_and_inference"]["rows"] for cell in row)
    for task in data["chart"]:
        for _, value in task["bars"]:
            assert f"{value:g} {task['unit']}" in cells, task
