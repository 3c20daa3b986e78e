"""A Python function as the loss of a training run."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from halfstep import _core
from halfstep.arrays import array

if TYPE_CHECKING:
    from halfstep import options as given

Port = tuple[str, str, str, list[int]]
"""Name, name of the argument, element type and extents of an output or a target."""


def _bound(name: str, outputs: list[Port], targets: list[Port]) -> Port:
    """Return the value for a parameter of this name. `output` is the first output, `target` the only target."""
    for port in (*outputs, *targets):
        if port[0] == name:
            return port
    if name == "output":
        return outputs[0]
    if name == "target" and len(targets) == 1:
        return targets[0]
    known = ", ".join(["output", "target", *(port[0] for port in (*outputs, *targets))])
    raise TypeError(f"loss: found a parameter '{name}', expected names of outputs and targets: {known}")


def without_function(options: given.TrainOptions) -> tuple[str, Callable[[list[Port], list[Port]], Any], given.TrainOptions]:
    """Return the name of the loss, a function that makes its network, and the other options."""
    loss: Any = options.loss
    return getattr(loss, "__qualname__", type(loss).__name__), network_maker(loss), dataclasses.replace(options, loss=None)


def network_maker(function: Callable[..., Any]) -> Callable[[list[Port], list[Port]], Any]:
    """Return a function that traces the loss for outputs and targets of these types."""
    names = list(inspect.signature(function).parameters)

    def make(outputs: list[Port], targets: list[Port]) -> Any:
        ports = [_bound(name, outputs, targets) for name in names]
        arguments = list({port[1]: port for port in ports}.values())

        def run(given: list[array]) -> list[array]:
            by_name = {port[1]: value for port, value in zip(arguments, given)}
            loss = function(*(by_name[port[1]] for port in ports))
            if not isinstance(loss, array) or loss.size != 1:
                raise TypeError(f"loss: found {loss!r}, expected an array of one element")
            one = loss.reshape(1)
            return [one if one.dtype == "f32" else one.astype("f32")]

        return _core.network_of_function("loss", [(port[1], port[2], port[3]) for port in arguments], run, ["loss"], lambda _: "")

    return make
