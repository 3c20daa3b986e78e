"""Contexts that switch capture, gradients, training mode and the device, each for its thread and coroutine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from halfstep import _core


@contextlib.contextmanager
def _switched(**settings: Any) -> Iterator[None]:
    now = (_core.switches.get(None) or _core.Switches()).__copy__()
    for name, value in settings.items():
        setattr(now, name, value)
    token = _core.switches.set(now)
    try:
        yield
    finally:
        _core.switches.reset(token)


def capture(on: bool = True) -> contextlib.AbstractContextManager[None]:
    """Context in which captured functions run their programs, or with False their Python code. Local to the thread and
    coroutine.
    """
    return _switched(captures=on)


def no_grad() -> contextlib.AbstractContextManager[None]:
    """Context in which operations are not recorded for gradients."""
    return _switched(gradients=False)


def enable_grad() -> contextlib.AbstractContextManager[None]:
    """Context in which operations are recorded for gradients."""
    return _switched(gradients=True)


def train_mode(on: bool = True) -> contextlib.AbstractContextManager[None]:
    """Context in which layers with a training mode (batch norms, dropout) use it. With False they use evaluation mode.
    """
    return _switched(training=on)


def device(place: str) -> contextlib.AbstractContextManager[None]:
    """Context in which arrays are made on a device.

    Args:
        place: "cpu", "sim" (the simulated device) or "cuda:0".
    """
    return _switched(place=place)


def is_training() -> bool:
    """Return whether hs.train_mode is on."""
    now = _core.switches.get(None)
    return now is not None and bool(now.training)
