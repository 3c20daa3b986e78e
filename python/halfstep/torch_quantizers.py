"""Quantizer modules of PyTorch, MQBench and similar libraries, in a form that torch.export traces."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import torch

try:
    from torch.ao.quantization import FakeQuantizeBase
except ImportError:  # Later versions have these modules in another package.
    FakeQuantizeBase = ()  # type: ignore[assignment, misc]

_PLAIN = ("FixedFakeQuantize", "LearnableFakeQuantize", "QDropFakeQuantize", "DSQFakeQuantize")
"""Classes of MQBench that only quantize in evaluation. Others change their input too, and are traced as they are."""


def _is_plain(part: torch.nn.Module) -> bool:
    return isinstance(part, FakeQuantizeBase) and (
        type(part).__module__.startswith("torch.") or any(kind.__name__ in _PLAIN for kind in type(part).__mro__)
    )


@contextlib.contextmanager
def traceable(module: torch.nn.Module) -> Iterator[None]:
    """Context in which quantizer modules neither observe nor read switches. They quantize with their present numbers."""
    parts = [part for part in module.modules() if _is_plain(part)]
    for part in parts:
        part.forward = _forward(part)  # type: ignore[method-assign]
    try:
        yield
    finally:
        for part in parts:
            del part.forward


def _forward(part: Any) -> Any:
    """Return the computation of a quantizer module."""
    if int(part.fake_quant_enabled[0]) == 0:
        return _unchanged
    ends = int(part.quant_min), int(part.quant_max)
    scale = part.scale.detach().float().reshape(-1).clone()
    zero_point = part.zero_point.detach().float().reshape(-1).round().clamp(*ends).int()
    if scale.numel() > 1:
        return functools.partial(_per_channel, scale, zero_point, int(part.ch_axis), ends)
    return functools.partial(_per_tensor, float(scale), int(zero_point), ends)


def _unchanged(x: torch.Tensor) -> torch.Tensor:
    return x


def _per_tensor(scale: float, zero_point: int, ends: tuple[int, int], x: torch.Tensor) -> torch.Tensor:
    return torch.fake_quantize_per_tensor_affine(x, scale, zero_point, *ends)


def _per_channel(scale: torch.Tensor, zero_point: torch.Tensor, axis: int, ends: tuple[int, int], x: torch.Tensor) -> torch.Tensor:
    return torch.fake_quantize_per_channel_affine(x, scale, zero_point, axis, *ends)
