"""Networks from reports of users of other tools: how tests run the program on them and check the results."""

import dataclasses
import json
import os
import pathlib
import subprocess

import jsonschema
import numpy as np
import pytest

PROGRAM = os.environ.get("HALFSTEP_PROGRAM", "build/release/halfstep")
LIMIT = 1200  # seconds, to catch hangs only
ROOT = pathlib.Path(__file__).parents[2]
SCHEMAS = {path.name.removesuffix(".schema.json"): json.loads(path.read_text()) for path in (ROOT / "docs/reference/schemas").glob("*.json")}


def problems(name, value):
    """What the schema of this name rejects."""
    validator = jsonschema.Draft202012Validator(SCHEMAS[name])
    return [f"{error.json_path}: {error.message[:300]}" for error in validator.iter_errors(value)]


@dataclasses.dataclass
class Ended:
    verb: str
    code: int
    out: str
    err: str

    @property
    def report(self):
        """The JSON that the command printed. It passes the schema of the verb. `inspect` has several."""
        value = json.loads(self.out)
        assert self.verb not in SCHEMAS or self.verb == "inspect" or problems(self.verb, value) == []
        return value


@dataclasses.dataclass
class Deployed:
    """A quantized, converted and verified network. Its files are in the folder of the workbench."""

    quantized: dict  # reports of the three verbs
    converted: dict
    verified: dict
    prepared: pathlib.Path
    integer: pathlib.Path

    @property
    def differing(self):
        """Codes and parameters of all layers that differ between the execution paths."""
        return sum(layer["differing"] + layer["parameters_differing"] for layer in self.verified["layers"])


class Workbench:
    """Runs the program in a folder of its own."""

    def __init__(self, folder):
        self.folder = folder

    def run(self, *words, code=0, **process):
        """Runs the command with these words and expects exit code `code`. None accepts any. `process` is passed to
        subprocess.run."""
        ended = subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=LIMIT, check=False, **process)
        assert code is None or ended.returncode == code, f"{words}: exit {ended.returncode}\n{ended.stdout}{ended.stderr}"
        return Ended(words[0], ended.returncode, ended.stdout, ended.stderr)

    def outputs(self, network, samples):
        """Outputs of a Model or a foreign file for the samples of an npz file, by name."""
        out = self.folder / f"{pathlib.Path(network).stem}.outputs.npz"
        self.run("run", network, "--inputs", samples, "--outputs", out, "--overwrite")
        with np.load(out) as arrays:
            return dict(arrays)

    def deploy(self, network, samples, *options, fallbacks=False):
        """Runs quantize (with these options), convert and verify. Verification must pass."""
        prepared, integer = self.folder / "prepared.safetensors", self.folder / "integer.safetensors"
        quantized = self.run("quantize", network, "--data", samples, *options, "--out", prepared, "--overwrite", "--json")
        words = ["--float-fallback"] if fallbacks else []
        converted = self.run("convert", prepared, "--out", integer, "--overwrite", "--json", *words)
        verified = self.run("verify", prepared, integer, "--data", samples, "--json")
        return Deployed(quantized.report, converted.report, verified.report, prepared, integer)


def sqnr(found, expected):
    """Signal to quantization noise in dB, over all elements."""
    expected = np.asarray(expected, np.float64)
    noise = np.sum((np.asarray(found, np.float64) - expected) ** 2)
    return 10 * np.log10(np.sum(expected**2) / noise) if noise else np.inf


@pytest.fixture
def bench(tmp_path):
    return Workbench(tmp_path)


@pytest.fixture(scope="session")
def shared():
    """The folder of shared test data."""
    folder = os.environ.get("HALFSTEP_TEST_DATA", "")
    if not folder or not pathlib.Path(folder).is_dir():
        pytest.skip("HALFSTEP_TEST_DATA names no folder with the reported networks")
    return pathlib.Path(folder)
