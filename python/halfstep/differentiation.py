"""Gradients of functions of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from halfstep import _core
from halfstep.arrays import array
from halfstep.creation import ones, zeros_like
from halfstep.switches import capture, enable_grad


def grad(function: Callable[..., array], argument: int = 0) -> Callable[..., array]:
    """Return a function that computes the gradient of `function` with respect to one argument.

    Args:
        function: Must return an array of one element.
        argument: Index of the argument.

    Raises:
        TypeError: (when called) `function` does not return one element.
    """
    both = value_and_grad(function, argument)
    return lambda *args, **kwargs: both(*args, **kwargs)[1]


def value_and_grad(function: Callable[..., array], argument: int = 0) -> Callable[..., tuple[array, array]]:
    """Return a function that computes (value, gradient) of `function`. See `grad`."""

    def both(*args: Any, **kwargs: Any) -> tuple[array, array]:
        differentiable = args[argument].is_differentiable
        wanted = args[argument] if differentiable else args[argument].detach()
        if not differentiable:
            wanted.requires_grad = True
        with enable_grad(), capture(False):  # The result can be differentiated again.
            value = function(*args[:argument], wanted, *args[argument + 1 :], **kwargs)
        if not isinstance(value, array) or value.size != 1:
            raise TypeError(f"grad: {getattr(function, '__name__', 'the function')} returned {value!r}, expected one element")
        return value, gradients([value], [wanted])[0]

    return both


def gradients(of: Sequence[array], wanted: Sequence[array], seeds: Sequence[array] | None = None) -> list[array]:
    """Compute the gradients of the sum of `of` with respect to `wanted`.

    Args:
        of: Arrays to differentiate.
        wanted: Arrays to differentiate by.
        seeds: Gradients of the arrays in `of`. Default: ones.

    Returns:
        One array for each of `wanted`. It is zero if nothing in `of` depends on that array.
    """
    seeds = [ones(value.shape, value.dtype) for value in of] if seeds is None else seeds
    found = _core.gradients(list(of), list(seeds), list(wanted))
    return [zeros_like(value) if gradient is None else gradient for gradient, value in zip(found, wanted)]
