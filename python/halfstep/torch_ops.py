"""Operators as functions that PyTorch differentiates."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.function import once_differentiable

from halfstep import _core


class _Call(torch.autograd.Function):
    """One call of an operator. Its tensors are the operands, those of a list behind the others."""

    @staticmethod
    def forward(ctx: Any, kept: list[Any], operator: Any, names: Any, ports: Any, attributes: Any, *operands: Any) -> Any:
        results = operator(*ports, *attributes)
        kept.append(results)
        ctx.name, ctx.attributes = names[0], attributes
        ctx.results = results.__dir__() if isinstance(results, _core.Results) else names[1][:1]
        ctx.operands = [None if isinstance(operand, torch.Tensor) else operand for operand in operands]
        ctx.tensors = [i for i, operand in enumerate(operands) if isinstance(operand, torch.Tensor)]
        ctx.save_for_backward(*(operands[i] for i in ctx.tensors))
        values = tuple(results) if isinstance(results, _core.Results) else (results,)
        ctx.mark_non_differentiable(*(value for value in values if not value.is_floating_point()))
        ctx.set_materialize_grads(False)
        return values

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> Any:
        operands = list(ctx.operands)
        for i, tensor in zip(ctx.tensors, ctx.saved_tensors):
            operands[i] = tensor.detach()
        given = {name: gradient for name, gradient in zip(ctx.results, gradients) if gradient is not None}
        wanted = list(ctx.needs_input_grad[5:])
        return None, None, None, None, None, *_core.operator_gradient(ctx.name, operands, ctx.attributes, given, wanted)


def call(operator: Any, name: str, results: tuple[str, ...], ports: tuple[Any, ...], attributes: tuple[Any, ...]) -> Any:
    """`operator` on what its ports and attributes are given. Results that are floats have a gradient, as the record says."""
    operands = [value for port in ports for value in (port if isinstance(port, (list, tuple)) else [port])]
    kept: list[Any] = []
    values = _Call.apply(kept, operator, (name, results), ports, attributes, *operands)
    return kept[0].with_items(values) if isinstance(kept[0], _core.Results) else values[0]
