"""Networks in memory."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from halfstep import _core, datasets
from halfstep.datasets import Data
from halfstep.dtypes import dtype
from halfstep.reports import table

if TYPE_CHECKING:
    from halfstep.option_values import Preprocess
    from halfstep.torch_module import TorchModule

Signature = tuple[dtype, tuple[Any, ...]]


class Layer:
    """A value of a network, by its name. Call it with the network's inputs to compute the value."""

    def __init__(self, network: Model, name: str) -> None:
        self._of = network
        self.name = name

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        return self._of.run(*arrays, fetch=[self.name], **named)[self.name]

    def __repr__(self) -> str:
        return f"<halfstep.Layer {self.name!r} of {self._of.name!r}>"


class Layers(Mapping[str, Layer]):
    """All values of a network by name, in order: codes in an integer program, floats in a float network."""

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

    Call it with arrays to compute its outputs: one array, or a dict by name. Several threads may use one Model at once.
    Models can be pickled, copied and compared by content. Printing one shows its graph.
    """

    def __init__(self, network: _core.Network, report: Any = None) -> None:
        self._core = network
        self._input_names = list(network.inputs())
        self.torch_module: Callable[[], TorchModule | None] = lambda: None
        """The module that `as_torch` made, as long as it exists."""
        self.report = report
        """Report of the call that made this Model: an AuditReport of a prepared network, an OverflowReport of an
        integer one.
        """

    @property
    def core(self) -> _core.Network:
        """The network in the extension."""
        module = self.torch_module()
        if module is not None:
            module.settle()
        return self._core

    @property
    def name(self) -> str:
        """Name of the network."""
        return self.core.name()

    @property
    def stage(self) -> str:
        """Stage: "float", "prepared" or "integer"."""
        return self.core.stage()

    @property
    def inputs(self) -> dict[str, Signature]:
        """(dtype, shape) of the inputs by name. None marks a dynamic dimension."""
        return self.core.inputs()

    @property
    def outputs(self) -> dict[str, Signature]:
        """(dtype, shape) of the outputs by name. None marks a dynamic dimension."""
        return self.core.outputs()

    @property
    def metadata(self) -> dict[str, Any]:
        """Metadata of the network's file, such as stage, platform and preprocessing."""
        return json.loads(self.core.metadata())

    @property
    def layers(self) -> Layers:
        """All values of the network by name. See Layers."""
        return Layers(self)

    @property
    def digest(self) -> str:
        """Digest of parameters and state. Equal trained weights have equal digests."""
        return self.core.digest()

    def run(self, *arrays: Any, fetch: Sequence[str] = (), **named: Any) -> dict[str, Any]:
        """Compute values of the network.

        Args:
            *arrays: Inputs in order.
            fetch: Names of the values. Default: the outputs.
            **named: Inputs by name.

        Returns:
            The values by name.
        """
        return self.core.run(self.named_inputs(arrays, named), list(fetch))

    def named_inputs(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """Return inputs that were passed in order or by name as a dict by name."""
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
        """Write a file that `load` reads. The file is written completely or not at all."""
        _core.save(self.core, os.fspath(path))

    def as_torch(self) -> TorchModule:
        """Return a torch.nn.Module that shares its parameters' memory with this network, for your own PyTorch loop.

        The network is float or prepared. While the module exists, further calls return the same one.

        Raises:
            Error: The network is an integer program.
            ImportError: torch is not installed.
        """
        from halfstep.torch_module import as_torch

        return as_torch(self)

    def copy(self) -> Model:
        """Return a copy that shares no memory with this network."""
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
        from html import escape  # Imported on use, to keep the import of halfstep fast.

        return f"<p>{escape(title)}</p>{table(rows, ['value', 'computed by'])}{report}"


def _ports(ports: dict[str, Signature]) -> str:
    def extents(dims: tuple[Any, ...]) -> str:
        return ", ".join("?" if extent is None else str(extent) for extent in dims)

    return ", ".join(f"{name} {kind}[{extents(dims)}]" for name, (kind, dims) in ports.items())


def _unpickled(contents: bytes) -> Model:
    return Model(_core.network_of(contents))


def load(path: str | os.PathLike[str], data: Data = None) -> Model:
    """Read a network from a file.

    Args:
        path: A Model, an ONNX file or a Paddle program.
        data: Samples whose shapes replace the dynamic dimensions of the file, if it cannot be read without them.

    Returns:
        The network as a Model.

    Raises:
        Error: The file has none of these formats, or is damaged.
        UnsupportedError: Halfstep does not support an operator.

    Example:
        net = hs.load("resnet20.onnx")
    """
    return Model(_core.load(os.fspath(path), None if data is None else datasets.load(data)))


def create_network(name: str, data: Data, *, seed: int = 0, preprocess: Preprocess | None = None) -> Model:
    """Make a float network with random parameters, as `halfstep train` does.

    Args:
        name: A built-in network ("digits"), or the path of an .ir file.
        data: Labelled samples. They determine the shape of the input and the number of classes. The scale of raw values
            becomes the network's preprocessing.
        seed: Seed of the parameters.
        preprocess: Replaces that scale. It must set a size if pictures have several sizes.

    Returns:
        A float Model.

    Raises:
        Error: No built-in network has that name, there are no labels, or a class has too few samples.

    Example:
        net = hs.create_network("digits", data, seed=0)
        hs.train(net, data, epochs=20)
    """
    from halfstep.option_values import preprocess_text

    return Model(_core.create_network(os.fspath(name), datasets.load(data), seed, preprocess_text(preprocess) or ""))
