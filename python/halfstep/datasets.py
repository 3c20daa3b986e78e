"""Samples for the verbs: arrays, loaders, or the files that the command line reads."""

from __future__ import annotations

import array
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union, cast

from halfstep import _core
from halfstep._core import Dataset
from halfstep.progress import Progress, callback
from halfstep.renamed import warn
from halfstep.reports import DataReport

if TYPE_CHECKING:
    from halfstep._core import Tensor
    from halfstep.model import Model
else:
    Tensor = Any

Data = Union[None, str, "os.PathLike[str]", Dataset, Tensor, Mapping[str, Any], tuple[Any, ...], Iterable[Any]]
"""Samples as every verb accepts them.

- A path of data that the command line reads: csv, IDX, image folders and archives, npz, safetensors. "digits" selects
  the built-in digits. None does too, with a warning, until 0.3.
- An array [n, ...] of samples (a NumPy array, a CPU tensor that supports DLPack, a buffer), a pair (x, labels), or a
  dict of arrays by input name, optionally with "labels". Labels may be a list of integers. Floats in a pair are the
  target of a loss, and in a dict targets are "target" or "target.NAME".
- Anything that iterates over such batches, such as a PyTorch DataLoader. It is read once, to its end, and kept in
  memory.
- A data set that `load` returned. It is not read again.

Values of u8 are raw, and the network's preprocessing applies to them. Values of f32 go into the network as they are.
"""

LABELS = "labels"
TARGET = "target"


def _is_array(value: Any) -> bool:
    if hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__"):
        return True
    try:
        memoryview(value)
    except TypeError:
        return False
    return True


def _labels(value: Any) -> Any:
    """Return labels as an array. They may be a list of numbers."""
    if not isinstance(value, (list, range)):
        return value
    numbers = list(cast("Iterable[Any]", value))
    return array.array("f" if any(isinstance(each, float) for each in numbers) else "i", numbers)


def _name(labels: Any) -> str:
    """Return the name of labels in a data set. Floats are the target of a loss."""
    dtype = str(getattr(labels, "dtype", "")).rpartition(".")[2]
    is_float = dtype.startswith(("f", "bf")) if dtype else memoryview(labels).format in ("e", "f", "d")
    return TARGET if is_float else LABELS


def _first_input(network: Model | None) -> str:
    return next(iter(network.inputs), "x") if network is not None else "x"


def _batch(item: Any, where: str, network: Model | None) -> dict[str, Any]:
    """Return one batch as arrays by name."""
    if isinstance(item, Mapping):
        return {str(name): _labels(value) if name == LABELS else value for name, value in cast("Mapping[Any, Any]", item).items()}
    if _is_array(item):
        return {_first_input(network): item}
    parts = list(cast("Sequence[Any]", item)) if isinstance(item, (tuple, list)) else []
    if len(parts) == 2 and _is_array(parts[0]) and _is_array(labels := _labels(parts[1])):
        return {"x": parts[0], _name(labels): labels}
    if len(parts) == 1 and _is_array(parts[0]):
        return {_first_input(network): parts[0]}
    raise TypeError(
        f"{where}: found {type(cast(object, item)).__name__}, expected an array, a pair (x, labels) or a dict of arrays by the names "
        "of the network's inputs"
    )


def _batches(data: Any, network: Model | None) -> list[dict[str, Any]]:
    if isinstance(data, Mapping) or _is_array(data):
        return [_batch(data, "data", network)]
    if isinstance(data, tuple):
        return [_batch(data, "data", network)]
    if not hasattr(data, "__iter__"):
        raise TypeError(f"data: found {type(data).__name__}, expected arrays, something that iterates over them or a path")
    batches = [_batch(item, f"batch {i}", network) for i, item in enumerate(data)]
    if not batches:
        raise _core.error("no_batch", "data")
    return batches


def digits(*, all: bool = False, samples: int = 0) -> Dataset:
    """Read the built-in handwritten digits: pictures of 8 x 8 in ten classes, with raw values from 0 to 16.

    Args:
        all: Use every sample for both training and testing. Default: a fifth of each class tests.
        samples: Maximum number of samples of each part. 0 means all.

    Example:
        samples = hs.datasets.digits()
    """
    return load("digits", all=all, samples=samples)


def load(
    data: Data,
    network: Model | None = None,
    *,
    name: str = "data",
    all: bool = False,
    samples: int = 0,
    skip_bad: bool = False,
    label: str | None = None,
) -> Dataset:
    """Read samples once, as the verbs do. Arrays stay in memory. Images of a path are decoded when needed.

    Args:
        data: Samples, see `Data`.
        network: The network that will use them. Arrays without a name become its inputs, and its number of classes
            bounds the labels of a path.
        name: The name of arrays in messages.
        all: Use every sample for both training and testing. Without it, the data's own parts apply. If there are none,
            the first 80 % of each class in a fixed order train and the others test. Without labels, all samples are in
            both parts.
        samples: Maximum number of samples of each part, evenly spread. 0 means all.
        skip_bad: For a path: skip images that cannot be read.
        label: For a csv or a list: position of the label (first, last, none or the name of a header).

    Returns:
        The data set. A Dataset is returned as it is.

    Raises:
        Error: There is no sample, batches differ in shape or type, or a value is not finite.

    Example:
        samples = hs.datasets.load("cifar10.tar.zst", samples=1000)
    """
    if isinstance(data, Dataset):
        return data
    if data is None:
        warn('without data the built-in digits are used: pass data="digits"')
        data = "digits"
    if isinstance(data, (str, os.PathLike)):
        path = os.fspath(data)
        for what, word in (("data", data), ("label", label)):
            if word is not None and not os.fspath(word):
                raise _core.error("empty_argument", what)
        return _core.load_data(path, None if network is None else network.core, all, samples, skip_bad, label or "")
    if skip_bad or label is not None:
        raise _core.error("options_of_paths")
    return _core.make_dataset(_batches(data, network), name, all, samples)


def inspect_data(data: Data, *, sheet: str | os.PathLike[str] | None = None, progress: Progress = None) -> DataReport:
    """Describe a data set: classes, parts, sizes, and the range, mean and standard deviation of its values.

    Args:
        data: Samples. Each is read once.
        sheet: PNG file to write, with up to 96 of the pictures.
        progress: Called with stage, done, total and note. True prints the progress.

    Returns:
        The description as a DataReport.
    """
    samples = load(data)
    report = DataReport(*_core.inspect_data(samples, True, callback(progress)))
    if sheet is not None:
        _core.write_contact_sheet(samples, os.fspath(sheet))
    return report


def _repr(self: Dataset) -> str:
    return f"<halfstep.Dataset: {DataReport(*_core.inspect_data(self, False, None)).verdict}>"


Dataset.__repr__ = _repr
