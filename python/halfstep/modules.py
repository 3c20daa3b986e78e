"""The base class of layers and networks, and helpers of layers. halfstep.nn has all layers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from halfstep import _core
from halfstep.arrays import array
from halfstep.creation import uniform
from halfstep.switches import device, is_training, no_grad


def parameter(values: Any) -> array:
    """Return an array that training updates."""
    made = array(values).detach()
    made.requires_grad = True
    return made


def within(shape: tuple[int, ...], fan_in: int) -> array:
    """Return a parameter with initial values that are uniform in +-1 / sqrt(fan_in)."""
    bound = 1 / math.sqrt(fan_in)
    return parameter(uniform(shape, -bound, bound))


def unsupported(layer: str, settings: Mapping[str, tuple[Any, Any]]) -> None:
    """Refuse settings of torch.nn with another value than the only one that the layer has: name -> (found, expected)."""
    for name, (found, expected) in settings.items():
        if found != expected:
            raise _core.error("layer_setting_unsupported", f"{layer}: {name}", repr(found), repr(expected))


def _found(value: Any, name: str, met: list[Any]) -> Iterator[tuple[str, array]]:
    if isinstance(value, Module):
        parts = vars(value)
    elif isinstance(value, dict):
        parts = value
    elif isinstance(value, (list, tuple)):
        parts = {str(place): each for place, each in enumerate(value)}
    elif isinstance(value, array):
        parts = {}
    else:
        return
    if any(value is each for each in met):
        return
    met.append(value)
    if isinstance(value, array):
        yield name, value
    for key, each in parts.items():
        yield from _found(each, f"{name}.{key}" if name else str(key), met)


def _modules(value: Any, met: list[Any]) -> Iterator[Module]:
    if any(value is each for each in met):
        return
    met.append(value)
    if isinstance(value, Module):
        yield value
        value = list(vars(value).values())
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ():
        yield from _modules(each, met)


def _moved(value: Any, place: str, moved: list[tuple[array, array]]) -> Any:
    """Return the value with its arrays on the device. An array that occurs twice is moved once. Modules are left to
    Module.modules.
    """
    if isinstance(value, array):
        if value.place == place:
            return value
        for before, after in moved:
            if before is value:
                return after
        made = value.detach().to(place)
        made.requires_grad = value.requires_grad
        moved.append((value, made))
        return made
    if isinstance(value, (list, tuple)):
        return type(value)(_moved(each, place, moved) for each in value)
    if isinstance(value, dict):
        return {key: _moved(each, place, moved) for key, each in value.items()}
    return value


class Module:
    """Base class of layers and networks. `forward` defines the computation."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs of the module. Subclasses define it. Call the module itself to run it."""
        raise NotImplementedError(f"{type(self).__name__}: found no forward(), expected a method that computes the outputs")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    training: bool | None = None
    """Training mode of this module. None: use hs.train_mode."""

    def train(self, mode: bool = True) -> Module:
        """Set the mode of this module and its submodules: training, or with False evaluation. Return the module."""
        for each in self.modules():
            each.training = mode
        return self

    def eval(self) -> Module:
        """Set evaluation mode for this module and its submodules. Return the module."""
        return self.train(False)

    def modules(self) -> list[Module]:
        """Return this module and its submodules, each once."""
        return list(_modules(self, []))

    def to(self, device: str) -> Module:
        """Move parameters and buffers to a device: "cpu", "sim" or "cuda:0". Return the module.

        The parameters are new arrays. Make the optimizer after this call.
        """
        moved: list[tuple[array, array]] = []
        for each in self.modules():
            for name, value in vars(each).items():
                setattr(each, name, _moved(value, device, moved))
        return self

    def _is_training(self) -> bool:
        return is_training() if self.training is None else self.training

    def named_arrays(self) -> dict[str, array]:
        """Return parameters and buffers by name, such as "encoder.0.weight". An array that occurs twice has its first
        name.
        """
        return dict(_found(self, "", []))

    def named_parameters(self) -> dict[str, array]:
        """Return the parameters by name."""
        return {name: each for name, each in self.named_arrays().items() if each.requires_grad}

    def parameters(self) -> list[array]:
        """Return the parameters."""
        return list(self.named_parameters().values())

    def buffers(self) -> list[array]:
        """Return the buffers."""
        return [each for each in self.named_arrays().values() if not each.requires_grad]

    def state_dict(self) -> dict[str, Any]:
        """Return copies of parameters and buffers as NumPy arrays."""
        return {name: each.numpy() for name, each in self.named_arrays().items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Assign the arrays of `state_dict`, or of that of the same layers in torch.nn. Its counts of batches
        (num_batches_tracked) are ignored.

        Raises:
            Error: Names, types or shapes differ. Nothing is changed then.
        """
        own = self.named_arrays()
        wrong = [f"nothing for '{name}'" for name in own if name not in state]
        wrong += [f"'{name}', which the network does not have" for name in state if name not in own and not name.endswith("num_batches_tracked")]
        given = {}
        for name in own.keys() & state.keys():
            with device(own[name].place):
                given[name] = array(state[name])
            found, expected = (f"{each.dtype}{list(each.shape)}" for each in (given[name], own[name]))
            if found != expected:
                wrong.append(f"'{name}' of {found}, expected {expected}")
        if wrong:
            raise _core.error("state_of_other_module", type(self).__name__, "; ".join(sorted(wrong)))
        with no_grad():
            for name, values in given.items():
                own[name].assign(values)

    def zero_grad(self) -> None:
        """Remove the gradients of all parameters."""
        for each in self.parameters():
            each.grad = None
