"""Networks in memory."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from halfstep import _core, datasets
from halfstep.datasets import Data
from halfstep.reports import table

if TYPE_CHECKING:
    from halfstep.option_values import Preprocess
    from halfstep.torch_module import TorchModule

Signature = tuple[str, tuple[Any, ...]]


class Layer:
    """A value of a network by its name: called with the network's inputs, it gives that value."""

    def __init__(self, network: Model, name: str) -> None:
        self._of = network
        self.name = name

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        return self._of.run(*arrays, fetch=[self.name], **named)[self.name]

    def __repr__(self) -> str:
        return f"<halfstep.Layer {self.name!r} of {self._of.name!r}>"


class Layers(Mapping[str, Layer]):
    """Every value that a network computes, by name, in order: codes in an integer program, reals in a float network."""

    def __init__(self, network: Model) -> None:
        self._of = network
        self._names = dict.fromkeys(network.core.values())

    def __getitem__(self, name: str) -> Layer:
        if name not in self._names:
            raise KeyError(f"network {self._of.name!r} computes no value {name!r}")
        return Layer(self._of, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<halfstep.Layers of {self._of.name!r}: {', '.join(self._names)}>"


class Model:
    """A network: float, prepared (with quantizers, by `quantize`) or integer (by `convert`).

    Called with arrays it gives its outputs: one array, or a dict by name. Several threads may use one at once. It
    pickles, copies and compares by what it is, and prints as its graph.
    """

    def __init__(self, network: _core.Network, report: Any = None) -> None:
        self._core = network
        self._input_names = list(network.inputs())
        self.torch_module: Callable[[], TorchModule | None] = lambda: None
        """The module that `as_torch` made, as long as there is one."""
        self.report = report
        """What the verb that made it has to say: an AuditReport of a prepared network, an OverflowReport of an integer one."""

    @property
    def core(self) -> _core.Network:
        """The network in the extension."""
        module = self.torch_module()
        if module is not None:
            module.settle()
        return self._core

    @property
    def name(self) -> str:
        return self.core.name()

    @property
    def stage(self) -> str:
        """"float", "prepared" or "integer"."""
        return self.core.stage()

    @property
    def inputs(self) -> dict[str, Signature]:
        """Element type and extents by name; None for an extent that is open."""
        return self.core.inputs()

    @property
    def outputs(self) -> dict[str, Signature]:
        return self.core.outputs()

    @property
    def metadata(self) -> dict[str, Any]:
        """What travels with the network, such as its stage, platform and preprocessing, as its file has it."""
        return json.loads(self.core.metadata())

    @property
    def layers(self) -> Layers:
        return Layers(self)

    @property
    def digest(self) -> str:
        """Of parameters and state: equal for equal trained weights."""
        return self.core.digest()

    def run(self, *arrays: Any, fetch: Sequence[str] = (), **named: Any) -> dict[str, Any]:
        """Values by name: those of `fetch`, or the outputs. Inputs stand in order or by name."""
        return self.core.run(self.named_inputs(arrays, named), list(fetch))

    def named_inputs(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """Inputs that stand in order or by name, by name."""
        names = self._input_names
        if len(arrays) > len(names):
            raise TypeError(f"network {self.name!r} takes {len(names)} inputs ({', '.join(names)}), found {len(arrays)}")
        given = dict(zip(names, arrays))
        if not named:
            return given
        twice = sorted(given.keys() & named.keys())
        if twice:
            raise TypeError(f"network {self.name!r}: found input {twice[0]!r} twice")
        return {**given, **named}

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        results = self.core.run(self.named_inputs(arrays, named), [])
        return next(iter(results.values())) if len(results) == 1 else results

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file that `load` reads: whole, or not at all."""
        _core.save(self.core, os.fspath(path))

    def as_torch(self) -> TorchModule:
        """A torch.nn.Module whose parameters share memory with this network, float or prepared, for any loop of PyTorch.

        While one is there, this gives the same one. Raises Error for an integer program, ImportError without torch.
        """
        from halfstep.torch_module import as_torch

        return as_torch(self)

    def copy(self) -> Model:
        """Shares nothing with this one."""
        return Model(self.core.copy(), self.report)

    def __copy__(self) -> Model:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.core.bytes(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self.core.bytes() == other.core.bytes()

    __hash__ = object.__hash__

    def __str__(self) -> str:
        return self.core.text().rstrip("\n")

    def __repr__(self) -> str:
        return f"<halfstep.Model {self.name!r}, {self.stage}: {_ports(self.inputs)} -> {_ports(self.outputs)}>"

    def _repr_html_(self) -> str:
        lines = [line.strip() for line in str(self).splitlines()]
        rows = [{"value": name, "computed by": call} for name, _, call in (line.partition(" = ") for line in lines) if call]
        title = f"{self.name}, {self.stage}: {_ports(self.inputs)} -> {_ports(self.outputs)}"
        report = self.report._repr_html_() if self.report is not None else ""
        from html import escape  # when somebody asks for it: importing halfstep takes little

        return f"<p>{escape(title)}</p>{table(rows, ['value', 'computed by'])}{report}"


def _ports(ports: dict[str, Signature]) -> str:
    def extents(dims: tuple[Any, ...]) -> str:
        return ", ".join("?" if extent is None else str(extent) for extent in dims)

    return ", ".join(f"{name} {dtype}[{extents(dims)}]" for name, (dtype, dims) in ports.items())


def _unpickled(contents: bytes) -> Model:
    return Model(_core.network_of(contents))


def load(path: str | os.PathLike[str], data: Data = None) -> Model:
    """Read the network in a file.

    Args:
        path: A Model, an ONNX file or a Paddle program.
        data: Samples whose extents close those that the file leaves open, where it cannot be read without.

    Raises:
        Error: the file is none of these, or is damaged. UnsupportedError: Halfstep lacks an operator.
    """
    return Model(_core.load(os.fspath(path), None if data is None else datasets.load(data)))


def create_network(name: str, data: Data, *, seed: int = 0, preprocess: Preprocess | None = None) -> Model:
    """Make a float network with parameters drawn from a seed, as `halfstep train` does.

    Args:
        name: A built-in network ("digits"), or the path of an .ir file.
        data: Labelled samples. Their extents are those of the input, their classes those of the output, and the scale
            of raw values is the network's preprocessing.
        seed: Seed of the parameters.
        preprocess: Replaces that scale. Pictures of several sizes need a size in it.

    Raises:
        Error: no built-in network has that name, there are no labels, or a class has too few samples.

    Example:
        net = hs.create_network("digits", data, seed=0)
        hs.train(net, data, epochs=20)
    """
    from halfstep.option_values import preprocess_text

    return Model(_core.create_network(os.fspath(name), datasets.load(data), seed, preprocess_text(preprocess) or ""))
