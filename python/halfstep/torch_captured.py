"""Captured functions on tensors of PyTorch: one node of its autograd."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from halfstep.arrays import array, enable_grad
from halfstep.rebuilding import Arrays, taken_apart


def call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function of arrays gives, as tensors, for arguments with tensors of the host among them.

    Gradients go through it, by the rules of halfstep's operators; arrays in the function that require a gradient get
    theirs, too.
    """
    tensors: list[torch.Tensor] = []
    make = _with_arrays((args, kwargs), tensors)
    shape: list[Callable[[Arrays], Any]] = []

    def run(given: Arrays) -> Arrays:
        arguments, named = make(given)
        results: Arrays = []
        shape.append(taken_apart(function(*arguments, **named), results, {}))
        return results

    results = _Call.apply(run, *tensors)
    return shape[0](list(results))


def _with_arrays(value: Any, tensors: list[torch.Tensor]) -> Callable[[Arrays], Any]:
    """Makes the value with an array for each tensor in its tuples, lists and dicts."""
    if isinstance(value, torch.Tensor):
        place = len(tensors)
        tensors.append(value)
        return lambda given: given[place]
    if isinstance(value, dict):
        items = [(key, _with_arrays(each, tensors)) for key, each in value.items()]
        return lambda given: {key: make(given) for key, make in items}
    if isinstance(value, (list, tuple)):
        parts = [_with_arrays(each, tensors) for each in value]
        cls = type(value)
        return lambda given: cls(make(given) for make in parts)
    return lambda given: value


class _Call(torch.autograd.Function):
    """One call; its tensors are the arguments."""

    @staticmethod
    def forward(ctx: Any, run: Callable[[Arrays], Arrays], *tensors: torch.Tensor) -> Any:
        given = [array(tensor.detach()) for tensor in tensors]
        for each, needed in zip(given, ctx.needs_input_grad[1:]):
            if needed:
                each.requires_grad = True
        with enable_grad():
            results = run(given)
        ctx.given, ctx.results = given, results
        made = tuple(torch.from_numpy(each.numpy()) for each in results)
        ctx.mark_non_differentiable(*(tensor for tensor, each in zip(made, results) if not each.is_differentiable))
        return made

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> Any:
        for result, gradient in zip(ctx.results, gradients):
            if gradient is not None and result.is_differentiable:
                result.backward(array(gradient.contiguous()))
        found = (each.grad if each.requires_grad else None for each in ctx.given)
        return None, *(None if each is None else torch.from_numpy(each.numpy()) for each in found)
