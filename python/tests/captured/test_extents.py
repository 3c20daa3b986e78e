"""One program serves arguments of any shape if the function cannot depend on it. Otherwise each shape has a program."""

import numpy as np
import pytest
from captured.harness import array, seen

import halfstep as hs
from raising import raises


def drawn(*shape):
    return hs.array(np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32))


def parameter(*shape):
    made = drawn(*shape)
    made.requires_grad = True
    return made


def told(function, x, parameters=()):
    """Return the result for x, and the gradients of its sum."""
    for each in parameters:
        each.grad = None
    result = function(x)
    if parameters:
        result.sum().backward()
    return seen((result, [each.grad for each in parameters]))


W, V = parameter(6, 4), parameter(5, 6)
LAYER, NORM = hs.nn.Linear(4, 3), hs.nn.LayerNorm(4)
CONV = hs.nn.Sequential(hs.nn.Conv2d(2, 4, 3, padding=1), hs.nn.ReLU(), hs.nn.MaxPool2d(2), hs.nn.Flatten(), hs.nn.Linear(36, 3))


def branches(x):
    y = x @ W.T
    return y.tanh() if y.sum() > 0 else -y


def loop(x):
    step = hs.array(1.0)
    return hs.while_loop(lambda v: abs(v).max() < 100, lambda v: v * 2 + step, x)


def parts(x):
    return x[0] + x[-1, None] * x[:, 1:3].mean() + x[::-1][0] + x[..., 2:][1].sum()


def shown(x):
    print("sum", x.sum())
    return x * hs.uniform(())


OPEN = {
    "products": (lambda x: (x @ W.T).relu() @ V.T, (2, 4), (W, V)),
    "layers": (lambda x: LAYER(NORM(x)), (2, 4), (LAYER.weight, LAYER.bias, NORM.weight)),
    "images": (CONV, (2, 2, 6, 6), tuple(CONV.parameters())),
    "means": (lambda x: x - x.mean(0), (2, 4), ()),
    "branches": (branches, (2, 4), (W,)),
    "loop": (loop, (2, 4), ()),
    "parts": (parts, (2, 4), ()),
    "broadcast": (lambda x: x + V.sum(1).reshape(5, 1, 1), (2, 4), ()),
    "printed": (shown, (2, 4), ()),
}


@pytest.mark.parametrize("name", OPEN)
def test_is_captured_once(name):
    function, (count, *rest), parameters = OPEN[name]
    captured = hs.jit(function)
    captured(drawn(count, *rest))
    for other in (3, 7, 1 if name != "parts" else 4, count, 40):
        for sign in (1, -1):
            x = drawn(other, *rest) * sign
            hs.seed(other)
            expected = told(function, x, parameters)
            hs.seed(other)
            assert told(captured, x, parameters) == expected, other
    assert captured.why_recaptured == [each for each in captured.why_recaptured if each.startswith("a decision")]
    assert len(captured.programs) == 1 and captured.programs[0].inputs[0].startswith("f32[?, ")


def by_shape(x):
    return x.reshape(x.shape[0], 2, -1).sum(1)


def by_length(x):
    return x * len(x)


def by_rows(x):
    total = hs.zeros((4,))
    for row in x:
        total = total + row * total
    return total + x[0]


def by_an_error(x):
    try:
        return x + hs.ones((2, 4)) * 3
    except hs.Error:
        return x * 5


def by_an_index(x):
    try:
        return x[2]
    except IndexError:
        return x[0]


def by_elements(x):
    return x * float(x.numpy().size)


def by_derived(x):
    return x * (x @ W.T).shape[0]


def by_gradients(x):
    w = x.detach()
    w.requires_grad = True
    (w * w).mean().backward()
    return w.grad


@pytest.mark.parametrize("function", [by_shape, by_length, by_rows, by_an_error, by_an_index, by_elements, by_derived, by_gradients], ids=lambda f: f.__name__)
def test_is_captured_for_each(function):
    captured = hs.jit(function)
    for count in (2, 3, 5, 2, 3):
        assert seen(captured(drawn(count, 4))) == seen(function(drawn(count, 4))), count
    if function is not by_an_error and function is not by_an_index:
        assert all("?" not in each.inputs[0] for each in captured.programs)
    assert captured.why_recaptured and not captured._eager


def test_what_an_operator_does_not_take_is_an_error_of_the_function():
    captured = hs.jit(lambda x: x @ W.T)
    captured(drawn(2, 4)), captured(drawn(3, 4))
    for _ in range(2):
        with raises("no_product", match="matmul"):
            captured(drawn(2, 5))
    assert len(captured.programs) == 1
    assert captured(drawn(9, 4)).shape == (9, 6)


def test_extents_of_what_stays_may_be_asked_for():
    captured = hs.jit(lambda x: (x @ W.T) * W.shape[0])
    for count in (2, 3, 4):
        captured(drawn(count, 4))
    assert not captured.why_recaptured


def test_a_new_outcome_with_other_extents():
    def f(x):
        if x.sum() > 0:
            return x * 2
        return x - 1

    captured = hs.jit(f)
    for x in (array(1.0), array(1.0, 2.0), array(-1.0, -2.0), array(-1.0, -2.0, -3.0), array(3.0, 2.0, 1.0)):
        assert seen(captured(x)) == seen(x * 2 if x.sum().item() > 0 else x - 1)
    assert len(captured.programs) == 1


def test_many_extents():
    captured = hs.jit(lambda x: x * 2 + 1)
    for count in [*range(1, 30), *range(1, 30)]:
        assert captured(drawn(count)).tolist() == (drawn(count) * 2 + 1).tolist()
    assert not captured.why_recaptured and len(captured.programs) == 1
