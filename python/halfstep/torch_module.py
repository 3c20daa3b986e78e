"""Networks as PyTorch modules."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import copy
import weakref
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from halfstep import _core
from halfstep.model import Model


class TorchModule(torch.nn.Module):
    """A float or prepared network as a torch.nn.Module. `Model.as_torch` makes one.

    Parameters are those of the network (weights, learned scales) and share its memory. An optimizer step changes both,
    so `halfstep.convert(module.network)` uses the updated values. Buffers are the network's state (ranges of observers,
    running means). `state_dict` and `load_state_dict` use the network's names. Some weights are computed from others
    during training, such as the weight of a layer whose batch norm trains with it. They are neither parameters nor
    buffers. Their parts are (`conv.weight.raw`, the norm's scale and shift).

    In training mode the network runs as in `halfstep.train`, a prepared one on codes. Gradients follow the rules of its
    operators. In evaluation mode the outputs equal those of the integer program, code for code, and nothing is
    differentiated.

    Tensors are on the CPU and keep their types. A forward keeps its values until its backward, which runs once. Several
    forwards may be pending. Copies (copy.deepcopy, pickle) have a network of their own.
    """

    def __init__(self, network: Model) -> None:
        super().__init__()
        self.network = network
        self._trainable, tensors = _core.make_trainable(network.core)
        self._shared: dict[str, torch.Tensor] = {}
        self._holders: dict[str, tuple[torch.nn.Module, str]] = {}
        for name, (role, tensor) in tensors.items():
            holder, leaf = self._holder(name)
            if role == "parameter":
                holder.register_parameter(leaf, torch.nn.Parameter(tensor))
            else:
                holder.register_buffer(leaf, tensor)
            self._shared[name] = tensor
            self._holders[name] = holder, leaf

    def _holder(self, name: str) -> tuple[torch.nn.Module, str]:
        """Return the submodule that holds a tensor, by the parts of the tensor's name. It is made if it does not exist.
        """
        *path, leaf = name.split(".")
        module: torch.nn.Module = self
        for part in path:
            part = _free(module, part or "_", torch.nn.Module)
            if part not in module._modules:
                module.add_module(part, torch.nn.Module())
            module = module._modules[part]  # type: ignore[assignment]
        return module, _free(module, leaf or "_", type(None))

    def _tensor(self, name: str) -> Any:
        holder, leaf = self._holders[name]
        return getattr(holder, leaf)

    def settle(self) -> None:
        """Prepare the module for any use of the network.

        Parameters and buffers that were moved to other memory are copied back to the network's. Learned scales that a
        step made zero or negative become half of their previous value. Weights and scales that are computed from others
        are recomputed.

        Raises:
            TypeError: A tensor has another type or shape, or is not on the CPU.
            Error: A scale is not a number.
        """
        self._bring_back()
        self._trainable.settle()

    def _bring_back(self) -> None:
        for name, shared in self._shared.items():
            now = self._tensor(name)
            if now.data_ptr() == shared.data_ptr() and now.shape == shared.shape:
                continue
            if (now.dtype, now.device, now.shape) != (shared.dtype, shared.device, shared.shape):
                raise TypeError(
                    f"{name}: found {_text(now)}, expected {_text(shared)}, as in the network; undo the change, "
                    "for instance with module.to('cpu', torch.float32)"
                )
            with torch.no_grad():
                shared.copy_(now)
            now.data = shared

    def forward(self, *arrays: Any, **named: Any) -> Any:
        """Return the outputs for inputs in order or by name: one tensor, or a dict by name."""
        self._bring_back()
        inputs = self.network.named_inputs(arrays, named)
        wanted = [name for name in self._shared if self._tensor(name).requires_grad]
        tensors = [*inputs.values(), *(self._tensor(name) for name in wanted)]
        if not self.training:
            values = self.network.run(**{name: _plain(value) for name, value in inputs.items()})
            outputs = {name: torch.from_dlpack(value) for name, value in values.items()}
        else:
            names: list[str] = []
            values = _Run.apply(self._trainable, names, list(inputs), wanted, *tensors)
            results = dict(zip(names, values))
            outputs = {name: results[name] for name in self.network.outputs}
        return next(iter(outputs.values())) if len(outputs) == 1 else outputs

    def _apply(self, fn: Any, recurse: bool = True) -> TorchModule:
        super()._apply(fn, recurse)
        self.settle()
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> TorchModule:
        return _rebuilt(self.network.copy(), *self._settings())

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.network, *self._settings())

    def _settings(self) -> tuple[bool, list[str]]:
        return self.training, [name for name in self._shared if not self._tensor(name).requires_grad]

    def __repr__(self) -> str:
        count = sum(parameter.numel() for parameter in self.parameters())
        return f"TorchModule({self.network!r}, {count} parameters)"


def _free(module: torch.nn.Module, name: str, kind: type) -> str:
    """Return `name`, or a similar one if the module has another attribute of that name."""
    while hasattr(module, name) and not isinstance(getattr(module, name), kind):
        name += "_"
    return name


def _text(tensor: torch.Tensor) -> str:
    return f"{tensor.dtype} {list(tensor.shape)} on {tensor.device}"


def _plain(value: Any) -> Any:
    return value.detach() if isinstance(value, torch.Tensor) else value


def _rebuilt(network: Model, training: bool, frozen: list[str]) -> TorchModule:
    module = as_torch(network).train(training)
    for name in module._shared:
        tensor = module._tensor(name)
        if isinstance(tensor, torch.nn.Parameter):
            tensor.requires_grad_(name not in frozen)
    return module


class _Run(torch.autograd.Function):
    """One run of a network. Its tensors are the inputs, then the parameters. `inputs` and `wanted` hold their names."""

    @staticmethod
    def forward(ctx: Any, trainable: Any, names: list[str], inputs: list[str], wanted: list[str], *tensors: Any) -> Any:
        given = dict(zip(inputs, map(_plain, tensors)))
        ctx.of = [name if needed else None for name, needed in zip([*inputs, *wanted], ctx.needs_input_grad[4:])]
        ctx.run = trainable.forward(given, [name for name in ctx.of if name is not None])
        outputs = ctx.run.outputs()
        names.extend(outputs)
        ctx.names = [name for name, value in outputs.items() if value.is_floating_point()]
        ctx.mark_non_differentiable(*(value for value in outputs.values() if not value.is_floating_point()))
        return tuple(outputs.values())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *output_gradients: Any) -> Any:
        floats = [gradient for gradient in output_gradients if gradient is not None]
        gradients = ctx.run.backward(dict(zip(ctx.names, floats)))
        return None, None, None, None, *(gradients.get(name) for name in ctx.of)


def as_torch(network: Model) -> TorchModule:
    """Return the module of a network. The same module is returned as long as it is referenced."""
    module = network.torch_module()
    if module is None:
        module = TorchModule(network)
        network.torch_module = weakref.ref(module)
    return module
