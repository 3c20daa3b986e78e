"""Functions that join arrays and select elements of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halfstep import ops
from halfstep.arrays import array, filled, from_first


def where(condition: array, a: Any, b: Any) -> array:
    """Select elements of `a` where the condition is true, else of `b`. The three shapes broadcast.

    Args:
        condition: An array of bool.
        a: An array or a number.
        b: An array of the same dtype, or a number.

    Raises:
        Error: The dtypes of `a` and `b` differ, or the shapes do not broadcast.
    """
    like = a if isinstance(a, array) else b
    if not isinstance(like, array):
        a, b = array(a), array(b)
    elif like is a:
        b = b if isinstance(b, array) else filled((), b, a.dtype)
    else:
        a = filled((), a, b.dtype)
    result: array = ops.select(condition, a, b)
    return result


def concat(arrays: Sequence[array], axis: int = 0) -> array:
    """Join arrays along an existing axis.

    Args:
        arrays: At least one array. All have one dtype and, except along the axis, one shape.
        axis: The axis. A negative one counts from the last.

    Raises:
        Error: The dtypes or shapes differ.
    """
    return ops.concat(list(arrays), axis=from_first(axis, arrays[0]))


def stack(arrays: Sequence[array], axis: int = 0) -> array:
    """Join arrays along a new axis.

    Args:
        arrays: At least one array. All have one dtype and one shape.
        axis: Position of the new axis in the result. A negative one counts from the last.

    Raises:
        Error: The dtypes or shapes differ.
    """
    return concat([ops.unsqueeze(each, axes=[axis]) for each in arrays], axis)
