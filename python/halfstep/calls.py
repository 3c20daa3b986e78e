"""Common operators under NumPy's and PyTorch's names, as functions of arrays."""

from __future__ import annotations

from typing import Any

from halfstep import ops
from halfstep.arrays import Number, array, binary, from_first


def exp(x: Any) -> array:
    """Return e to the power x, elementwise."""
    return array(x).exp()


def log(x: Any) -> array:
    """Return the natural logarithm, elementwise. NaN below zero."""
    return array(x).log()


def sqrt(x: Any) -> array:
    """Return the square root, elementwise. NaN below zero."""
    return array(x).sqrt()


def tanh(x: Any) -> array:
    """Return the hyperbolic tangent, elementwise."""
    return array(x).tanh()


def sigmoid(x: Any) -> array:
    """Return 1 / (1 + exp(-x)), elementwise."""
    return array(x).sigmoid()


def relu(x: Any) -> array:
    """Return max(x, 0), elementwise."""
    return array(x).relu()


def softmax(x: Any, axis: int = -1) -> array:
    """Return exp(x) divided by its sum along an axis.

    Args:
        x: An array of floats.
        axis: The axis. A negative one counts from the last.

    Raises:
        Error: The axis does not exist.
    """
    x = array(x)
    return ops.softmax(x, axis=from_first(axis, x))


def _larger(a: array, b: array) -> array:
    return ops.max_of([a, b])


def _smaller(a: array, b: array) -> array:
    return ops.min_of([a, b])


def maximum(a: Any, b: Any) -> array:
    """Return the larger of two elements. The shapes broadcast. NaN if one of them is NaN."""
    return binary(_larger, a, b)


def minimum(a: Any, b: Any) -> array:
    """Return the smaller of two elements. The shapes broadcast. NaN if one of them is NaN."""
    return binary(_smaller, a, b)


def clip(x: Any, min: Number | None = None, max: Number | None = None) -> array:
    """Return x, raised to at least `min` and then lowered to at most `max`. NaN stays.

    Args:
        x: An array.
        min: The lower limit. None: no limit.
        max: The upper limit. None: no limit.
    """
    return array(x).clip(min, max)


def argmax(x: Any, axis: int = -1) -> array:
    """Return the index of the largest element along an axis, as `array.argmax` does."""
    return array(x).argmax(axis)


def squeeze(x: Any, axis: int) -> array:
    """Remove an axis of extent 1.

    Args:
        x: An array.
        axis: The axis. A negative one counts from the last.

    Raises:
        Error: The axis does not exist, or has another extent.
    """
    return ops.squeeze(array(x), axes=[axis])


def expand_dims(x: Any, axis: int) -> array:
    """Insert an axis of extent 1.

    Args:
        x: An array.
        axis: Its position in the result. A negative one counts from the last.

    Raises:
        Error: The result has no such axis.
    """
    return ops.unsqueeze(array(x), axes=[axis])
