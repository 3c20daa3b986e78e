"""Functions that make arrays: constants, ranges and random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halfstep import _core, ops
from halfstep.arrays import Number, array, filled
from halfstep.dtypes import dtype_name
from halfstep.renamed import renamed


@renamed(value="fill_value")
def full(shape: Sequence[int], fill_value: Number, dtype: Any = "f32") -> array:
    """Return an array filled with one value.

    Args:
        shape: Extents.
        fill_value: The value of all elements.
        dtype: Element type: hs.float16, numpy.float16, torch.float16 or "f16".

    Raises:
        Error: An extent is negative, or no element type has this name.
    """
    return filled(shape, fill_value, dtype_name(dtype))


def zeros(shape: Sequence[int], dtype: Any = "f32") -> array:
    """Return an array of zeros.

    Args:
        shape: Extents.
        dtype: Element type: hs.float16, numpy.float16, torch.float16 or "f16".

    Raises:
        Error: An extent is negative, or no element type has this name.
    """
    return filled(shape, 0, dtype_name(dtype))


def ones(shape: Sequence[int], dtype: Any = "f32") -> array:
    """Return an array of ones.

    Args:
        shape: Extents.
        dtype: Element type: hs.float16, numpy.float16, torch.float16 or "f16".

    Raises:
        Error: An extent is negative, or no element type has this name.
    """
    return filled(shape, 1, dtype_name(dtype))


def zeros_like(like: array) -> array:
    """Return zeros of the same type and shape."""
    return ops.zeros_like(like)


@renamed(count="start")
def arange(start: Number, stop: Number | None = None, step: Number = 1, dtype: Any = None) -> array:
    """Return numbers from `start` up to but excluding `stop`, as numpy.arange does. arange(stop) begins at 0.

    Args:
        start: The first number, or `stop` if it is the only argument.
        stop: The end, which is excluded.
        step: Difference of two numbers. It may be negative.
        dtype: Element type. Default: i64, or f32 if an argument is a float.

    Raises:
        ZeroDivisionError: `step` is 0.
    """
    import numpy

    made = numpy.arange(start, step=step) if stop is None else numpy.arange(start, stop, step)
    return array(made, dtype or ("i64" if made.dtype.kind == "i" else "f32"))


def uniform(shape: Sequence[int], low: float = 0.0, high: float = 1.0) -> array:
    """Draw f32 numbers uniformly. Each call draws new ones, in a captured function too. `seed` sets the sequence.

    Args:
        shape: Extents.
        low: Least number.
        high: Upper end, which is excluded.

    Raises:
        Error: An extent is negative.
    """
    made: array = _core.uniform(list(shape), low, high)
    return made


@renamed(deviation="std")
def normal(shape: Sequence[int], mean: float = 0.0, std: float = 1.0) -> array:
    """Draw f32 numbers from a normal distribution. Each call draws new ones, as with `uniform`.

    Args:
        shape: Extents.
        mean: Mean of the distribution.
        std: Standard deviation. Range: at least 0.

    Raises:
        Error: An extent is negative.
    """
    made: array = _core.normal(list(shape), mean, std)
    return made


def seed(value: int) -> None:
    """Restart the random numbers of this process from a seed.

    Args:
        value: The seed. Range: 0 to 2^64 - 1.

    Raises:
        Error: The call is inside a captured function.
    """
    if _core.is_tracing():
        raise _core.error("seed_in_captured_function")
    _core.seed(value)
