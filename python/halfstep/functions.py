"""Networks made of functions of arrays, ready for export and quantization."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from halfstep import _core
from halfstep.arrays import array
from halfstep.datasets import LABELS, Data, load
from halfstep.model import Model
from halfstep.reads import reads

Extents = Sequence[int | None]
"""Extents of an input. None marks a dynamic dimension, such as the batch."""


def network(function: Callable[..., Any], name: str = "", outputs: Sequence[str] = (), **inputs: Extents | tuple[str, Extents]) -> Model:
    """Make a network of a function of arrays, captured or not, or of a module of halfstep.nn.

    Arrays that the function reads besides its arguments become tensors of the network. They are parameters if they
    require a gradient, and they have the names that they have in modules. The function runs in evaluation mode, unless
    train_mode is on. Each operation keeps the line of Python that it comes from.

    Args:
        function: A function of arrays, or a module.
        name: The name of the network. Default: the name of the function.
        outputs: The names of the outputs.
        inputs: Shape, or (element type, shape), by the names of the function's parameters. The default element type is
            f32.

    Returns:
        A float Model.

    Raises:
        Error: Python reads the value of an array, or the function changes an array in place, as batch norms do in
            training mode. Use cond and while_loop for control flow, because a network must contain every branch.

    Example:
        net = hs.network(model, x=(None, 3, 32, 32))
    """
    plain = getattr(function, "__wrapped__", function)
    expected = _parameters(plain)
    unknown = sorted(inputs.keys() - set(expected))
    if unknown or not inputs:
        raise TypeError(f"network: found {', '.join(map(repr, unknown)) or 'no input'}, expected extents for {', '.join(expected)}")
    names = [each for each in expected if each in inputs]
    title = name or getattr(plain, "__name__", type(plain).__name__)
    found: list[str] = list(outputs)

    def run(given: list[array]) -> list[array]:
        results = plain(**dict(zip(names, given)))
        return _results(results, found)

    types = [(each, *_type(inputs[each])) for each in names]
    name_of = _names(plain, title)
    return Model(_core.network_of_function(title, types, run, found, name_of))


def _parameters(function: Any) -> list[str]:
    import inspect  # Imported here because it loads twenty modules.

    return list(inspect.signature(getattr(function, "forward", function)).parameters)


def _type(said: Any) -> tuple[str, list[int | None]]:
    if len(said) == 2 and isinstance(said[0], str):
        return said[0], list(said[1])
    return "f32", list(said)


def _results(results: Any, names: list[str]) -> list[array]:
    if isinstance(results, Mapping):
        names[:] = names or [str(key) for key in results]
        results = list(results.values())
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    if not results or not all(isinstance(each, array) for each in results):
        raise TypeError("network: found a result that is not an array, expected arrays, or a dict of them by name")
    return results


def _names(function: Any, title: str) -> Callable[[array], str]:
    """Return a function that names the arrays `function` reads: by their names in modules, else by the place where it
    finds them.
    """
    named = dict(function.named_arrays()) if hasattr(function, "named_arrays") else {}
    if not named:
        for _, _, key, value, what in reads(function, (), {}, is_strict=False).guards:
            if value and isinstance(value[0], array):
                named[key if isinstance(key, str) else what.split("'")[1] if "'" in what else "array"] = value[0]
    return lambda wanted: next((name for name, each in named.items() if each.cell == wanted.cell), "")


def network_for(function: Any, data: Data) -> Model:
    """Return the network of a function for samples of this kind, with a dynamic batch. A Model is returned as it is."""
    if isinstance(function, Model):
        return function
    arrays = {name: values for name, values in load(data).arrays().items() if name != LABELS}
    expected = _parameters(getattr(function, "__wrapped__", function))
    if list(arrays) == ["x"] and expected:
        arrays = {expected[0]: arrays["x"]}
    inputs = {name: (_dtype(values), (None, *values.shape[1:])) for name, values in arrays.items()}
    return network(function, **inputs)  # type: ignore[arg-type]


def _dtype(values: Any) -> str:
    """Return the dtype of an input. Bytes are raw values, which preprocessing turns into f32."""
    return "f32" if str(values.dtype) in ("uint8", "float64") else array(values[:1]).dtype
