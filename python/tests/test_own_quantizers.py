"""Quantizers of the user: training, evaluation, PyTorch, conversion, and errors."""

import pickle

import numpy as np
import pytest

import halfstep as hs
from halfstep import nn
from raising import raises


class Ceiling(hs.Quantizer):
    """Four bits from 0 to a learned ceiling."""

    code_min, code_max = 0, 15

    def initial_state(self, low, high):
        return {"ceiling": high}

    def forward(self, x, state):
        step = self.scale(state)
        return hs.ops.hard_tanh(x=hs.ops.round(x=x / step), alpha=0.0, beta=15.0) * step

    def gradient(self, x, state):
        return {"x": (x >= 0) & (x <= state["ceiling"]), "ceiling": x > state["ceiling"]}

    def scale(self, state):
        return state["ceiling"] / 15


class Ternary(hs.Quantizer):
    """Weights of three levels. The state does not learn."""

    weights = True
    code_min, code_max = -1, 1

    def initial_state(self, low, high):
        return {"step": hs.where(high > -low, high, -low) * 0.75}

    def forward(self, x, state):
        return hs.ops.hard_tanh(x=hs.ops.round(x=x / state["step"]), alpha=-1.0, beta=1.0) * state["step"]

    def gradient(self, x, state):
        return {"x": 1.0}

    def scale(self, state):
        return state["step"]


class Squares(hs.Quantizer):
    """Levels that are not evenly spaced: squares of 0 to 7, relative to the largest value."""

    def initial_state(self, low, high):
        return {"largest": high}

    def forward(self, x, state):
        root = hs.ops.round(x=(x.relu() / state["largest"]).sqrt() * 7)
        return root * root * (state["largest"] / 49)

    def gradient(self, x, state):
        return {"x": x > 0}


@pytest.fixture(scope="module")
def network(samples):
    hs.seed(0)
    layers = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(128, 4))
    made = hs.network(layers, x=(None, 1, 8, 8))
    hs.train(made, samples, epochs=6, learning_rate=0.05)
    return made


def test_a_quantizer_trains_and_becomes_integers(network, samples):
    quantizers = {"op:conv2d": Ceiling(), "op:linear": Ternary()}
    prepared = hs.quantize(network, data=samples, quantizers=quantizers, overrides={"weights.legal_bits": "[2, 8]", "activations.legal_bits": "[4, 8]"})
    assert [row["quantizer"] for row in prepared.report.quantizers].count("Ceiling") == 2
    before = prepared.copy()
    hs.train(prepared, samples, epochs=2, keep_best=False)
    assert prepared != before
    program = hs.convert(prepared)
    assert hs.verify(prepared, program, samples).equal
    assert hs.evaluate(program, samples) > 0.8
    assert hs.convert(pickle.loads(pickle.dumps(prepared))) == program


class Halves(hs.Quantizer):
    """Levels 0, 1/4 and 1: squares of halves."""

    def forward(self, x, state):
        root = hs.ops.round(x=x.relu().sqrt() * 2) / 2
        return root * root

    def gradient(self, x, state):
        return {"x": x > 0}


def test_evaluation_computes_forward(network, samples):
    x = samples[0][:16]
    hidden = hs.network(hs.nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 2, 3)), x=(None, 1, 8, 8))
    prepared = hs.quantize(hidden, data=samples, quantizers={"x": Halves()})
    expected = np.square(np.rint(np.sqrt(np.maximum(x, 0)) * 2) / 2)
    np.testing.assert_array_equal(prepared.layers["x.q"](x), expected)
    with raises("own_quantizer_without_scale", hs.UnsupportedError, match="Halves"):
        hs.convert(prepared)


def test_pytorch_trains_the_declared_gradients(network, samples):
    torch = pytest.importorskip("torch")
    prepared = hs.quantize(network, data=samples, quantizers={"op:conv2d": Ceiling()})
    module = prepared.as_torch().train()
    ceilings = {name: parameter for name, parameter in module.named_parameters() if name.endswith("ceiling")}
    assert len(ceilings) == 2
    module(torch.from_numpy(samples[0][:32])).square().sum().backward()
    assert all(parameter.grad is not None for parameter in ceilings.values())
    with torch.no_grad():
        for parameter in ceilings.values():
            parameter.mul_(0.5)
    program = hs.convert(prepared)
    assert hs.verify(prepared, program, samples).equal


class WithoutGradient(hs.Quantizer):
    def forward(self, x, state):
        return x


class WithOtherShape(WithoutGradient):
    def forward(self, x, state):
        return x.sum(axis=0)

    def gradient(self, x, state):
        return {"x": 1.0}


class WithOtherNames(WithoutGradient):
    def gradient(self, x, state):
        return {"y": x}


class WithoutArray(WithOtherShape):
    def forward(self, x, state):
        return None


@pytest.mark.parametrize(
    ("quantizer", "name"),
    [
        (WithoutGradient(), "own_quantizer_without_method"),
        (WithOtherShape(), "own_quantizer_result"),
        (WithOtherNames(), "own_quantizer_gradient"),
        (WithoutArray(), "own_quantizer_result"),
    ],
)
def test_errors_of_classes_come_from_quantize(network, samples, quantizer, name):
    with raises(name, match=type(quantizer).__name__) as raised:
        hs.quantize(network, data=samples, quantizers={"op:conv2d": quantizer})
    error = raised.value
    assert error.id and error.layer and error.found and error.expected and error.remedy


def test_a_key_that_selects_nothing_is_an_error(network, samples):
    with raises("selector_matches_nothing"):
        hs.quantize(network, data=samples, quantizers={"conv9": Ceiling()})
    with pytest.raises(TypeError, match="expected a halfstep.Quantizer"):
        hs.quantize(network, data=samples, quantizers={"op:conv2d": Ceiling})


class Shifted(Ceiling):
    """Rounds up, which is not the rounding of the platform."""

    def forward(self, x, state):
        step = self.scale(state)
        return hs.ops.hard_tanh(x=hs.ops.ceil(x=x / step), alpha=0.0, beta=15.0) * step


class Negative(Ceiling):
    def scale(self, state):
        return -state["ceiling"]


def test_declarations_are_checked(network, samples):
    prepared = hs.quantize(network, data=samples, quantizers={"op:conv2d": Shifted()})
    with raises("own_quantizer_differs", hs.UnsupportedError, match="Shifted"):
        hs.convert(prepared)
    with raises("own_quantizer_declaration", match="Negative"):
        hs.quantize(network, data=samples, quantizers={"op:conv2d": Negative()})


def test_a_later_key_replaces_an_earlier_one(network, samples):
    prepared = hs.quantize(network, data=samples, quantizers={"op:conv2d": Squares(), "*": Ceiling()})
    names = [row["quantizer"] for row in prepared.report.quantizers]
    assert "Squares" not in names and "Ceiling" in names
