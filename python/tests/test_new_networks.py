"""Untrained networks, made and trained in Python alone."""

import os
import subprocess

import numpy as np
import pytest

import halfstep as hs
from raising import raises

PROGRAM = os.environ.get("HALFSTEP_PROGRAM", "build/release/halfstep")


@pytest.fixture(scope="module")
def digits():
    return hs.datasets.digits()


def test_a_new_network_is_that_of_the_command_line(digits, tmp_path):
    subprocess.run([PROGRAM, "train", "--data", "digits", "--epochs", "1", "--seed", "3", "--out", tmp_path / "run"], check=True, capture_output=True)
    net = hs.create_network("digits", digits, seed=3)
    assert net.stage == "float" and net.inputs == {"x": ("f32", (None, 1, 8, 8))} and net.metadata["preprocess"]["scale"] == 1 / 16
    hs.train(net, digits, epochs=1, seed=3, keep_best=False)
    assert net == hs.load(tmp_path / "run/model.safetensors")


def test_the_seed_draws_the_parameters(digits):
    made = [hs.create_network("digits", digits, seed=seed).digest for seed in (0, 0, 1)]
    assert made[0] == made[1] != made[2]
    assert hs.create_network("digits", digits).digest == made[0]


def test_extents_and_classes_are_those_of_the_samples(samples, tmp_path):
    net = hs.create_network("digits", samples, preprocess={"scale": 2})
    assert net.outputs["logits"][1] == (None, 4) and net.metadata["preprocess"]["scale"] == 2
    (tmp_path / "line.ir").write_text(
        "graph line(x: f32[?, $channels, $height, $width]) {\n  param @w: f32[$classes, 64]\n  flat = flatten(x=x)\n"
        "  out = linear(x=flat, w=@w)\n  return out\n}\n"
    )
    assert hs.create_network(tmp_path / "line.ir", samples).outputs["out"][1] == (None, 4)


def test_wrong_requests(digits, samples):
    with raises("network_unknown", found="'digit'", match="'digits'"):
        hs.create_network("digit", digits)
    with raises("new_network_without_labels"):
        hs.create_network("digits", samples[0])
    with raises("number_out_of_range", match="seed"):
        hs.create_network("digits", digits, seed=-1)


class Net(hs.nn.Module):
    def __init__(self):
        self.conv1, self.bn1 = hs.nn.Conv2d(1, 8, 3, padding=1), hs.nn.BatchNorm2d(8)
        self.conv2, self.bn2 = hs.nn.Conv2d(8, 16, 3, padding=1), hs.nn.BatchNorm2d(16)
        self.pool, self.flat, self.head = hs.nn.MaxPool2d(2), hs.nn.Flatten(), hs.nn.Linear(256, 4)

    def forward(self, x):
        x = self.bn1(self.conv1(x)).relu()
        return self.head(self.flat(self.pool(self.bn2(self.conv2(x)).relu())))


def test_a_module_learns_and_becomes_integers(samples):
    hs.seed(0)
    net = hs.network(Net(), x=(None, 1, 8, 8))
    fresh = net.copy()
    fit = hs.train(net, samples, epochs=3)
    assert fit.accuracy > 0.95 and hs.evaluate(fresh, samples) < 0.6
    assert fresh.digest != net.digest == fit.digest
    prepared = hs.quantize(net, "generic_int8", data=samples)
    hs.train(prepared, samples, epochs=1)
    program = hs.convert(prepared)
    assert hs.verify(prepared, program, samples).equal
    assert hs.evaluate(program, samples) > 0.95


def test_batch_norms_of_a_module_learn_their_statistics(samples):
    net = hs.network(Net(), x=(None, 1, 8, 8))
    hs.train(net, samples, epochs=3)
    normalized = net.layers["batch_norm"](samples[0])
    means = np.asarray(normalized).mean((0, 2, 3))
    assert np.abs(means).max() < 1, "running statistics are those of the samples"
