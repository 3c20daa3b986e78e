"""Captured programs, each in a world of its own, and the observable state of a world."""

import contextlib
import io
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import halfstep as hs


class World(NamedTuple):
    """A function, its calls, and the objects that it may change."""

    function: Callable
    calls: list  # each takes the function
    state: Callable = tuple


PROGRAMS = []


def program(make):
    """Register a function that makes a world."""
    PROGRAMS.append(make)
    return make


def array(*values, grad=False):
    made = hs.array(list(values), "f32")
    made.requires_grad = grad
    return made


def seen(value, met=None):
    """Return the observable parts of a value: types, bits, gradients, and which parts are the same object."""
    met = {} if met is None else met
    if isinstance(value, hs.array):
        number = met.setdefault(("array", value.cell), len(met))
        elements = np.asarray(value.numpy())
        gradient = None if value.grad is None else seen(value.grad, met)
        return ("array", number, value.dtype, value.shape, value.place, elements.tobytes(), value.requires_grad, value.is_differentiable, gradient)
    if isinstance(value, np.ndarray):
        return ("numpy", str(value.dtype), value.shape, value.tobytes())
    if isinstance(value, (list, dict, set)) or hasattr(value, "__dict__") and not isinstance(value, (type, BaseException)) and not callable(value):
        if id(value) in met:
            return ("again", met[id(value)])
        met[id(value)] = len(met)
        met["kept", id(value)] = value
    if isinstance(value, dict):
        return (type(value).__name__, [(seen(key, met), seen(each, met)) for key, each in value.items()])
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [seen(each, met) for each in value])
    if isinstance(value, set):
        return ("set", sorted(map(repr, value)))
    if hasattr(value, "__dict__") and not callable(value):
        return (type(value).__name__, seen(vars(value), met))
    return (type(value).__name__, getattr(value, "__qualname__", repr(value)))


def told(world, function, call):
    """Return the results, exceptions, prints and side effects of a call."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        result = call(function)
    return seen((result, world.state())), printed.getvalue()


def difference(found, expected):
    """Return the first part that differs."""
    if isinstance(found, (tuple, list)) and isinstance(expected, (tuple, list)) and len(found) == len(expected):
        return next((difference(a, b) for a, b in zip(found, expected) if a != b), "")
    return f"found {found!r}, expected {expected!r}"


class Outcome(NamedTuple):
    """Outcome of a program that was run in rounds."""

    differences: list  # between Python and the captured function, by call
    function: Callable
    calls: int  # of the function, in the last round
    served: int  # of those, served by programs
    captures: int  # in the last round


def compared(make, rounds=4):
    """Run one world in Python and an equal one captured."""
    plain, captured = make(), make()
    function = hs.jit(captured.function)
    counted = []

    def counting(*args, **kwargs):
        counted.append(1)
        return function(*args, **kwargs)

    found = []
    for turn in range(rounds):
        calls, served, captures = len(counted), sum(each.calls for each in function.programs), len(function.why_recaptured)
        for number, call in enumerate(plain.calls):
            hs.seed(turn % 2 * 100 + number)
            expected = told(plain, plain.function, call)
            hs.seed(turn % 2 * 100 + number)
            result = told(captured, counting, captured.calls[number])
            if result != expected:
                found.append(f"round {turn}, call {number}: " + difference(result, expected))
    served = sum(each.calls for each in function.programs) - served
    return Outcome(found, function, len(counted) - calls, served, len(function.why_recaptured) - captures)
