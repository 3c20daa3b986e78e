"""Gradients of the layers of hs.nn, compared with differences of their formulas in double."""

import numpy as np
import pytest
from test_layers import LAYERS, made

import halfstep as hs


@pytest.mark.parametrize("name", [name for name in LAYERS if name != "embedding"])
def test_gradients_follow_the_formula(name):
    """Compare the gradient along a random direction of all parameters and of the input."""
    with hs.no_grad():
        layer, x, expected = made(name)
    random, formula = np.random.default_rng(5), LAYERS[name][2]
    weights = random.standard_normal(expected.shape)
    given = hs.nn.parameter(x)
    (layer(given) * hs.array(weights.astype(np.float32))).sum().backward()
    state = {key: np.float64(each) for key, each in layer.state_dict().items()}
    ways = {key: random.standard_normal(each.shape) for key, each in {**state, "": x}.items()}

    def loss(step):
        moved = {key: each + step * ways[key] for key, each in state.items()}
        return (formula(moved, x + step * ways[""]) * weights).sum()

    gradients = {"": given.grad, **{key: each.grad for key, each in layer.named_parameters().items()}}
    found = sum((np.float64(each.numpy()) * ways[key]).sum() for key, each in gradients.items())
    assert found == pytest.approx((loss(1e-5) - loss(-1e-5)) / 2e-5, rel=1e-3, abs=1e-3)
