"""Values of the verbs' options, and their form for the extension."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, Union, cast

from halfstep import _core

Preprocess = Union[str, Mapping[str, Any]]
"""Preprocessing of raw values, with the names of the command line: "imagenet", "cifar10" or "unit", or a dict.

Keys for pictures: resize (of the short side), size (height, width), crop (of the middle), ignore_orientation. Keys for
values: x = (value * scale - mean) / std, by channel. preset sets the three by name. Other keys: bgr, channels_last. The
preprocessing is stored in the network. A key that is absent keeps its value.
"""

_KEYS = ("preset", "scale", "mean", "std", "bgr", "channels_last", "resize", "crop", "size", "ignore_orientation")
_LISTS = ("mean", "std")


def preprocess_text(preprocess: Preprocess | None) -> str | None:
    if preprocess is None:
        return None
    given = {"preset": preprocess} if isinstance(preprocess, str) else preprocess
    unknown = sorted(given.keys() - set(_KEYS))
    if unknown:
        raise TypeError(f"preprocess: found {unknown[0]!r}, expected one of {', '.join(_KEYS)}")
    return json.dumps({key: _by_channel(value) if key in _LISTS else value for key, value in given.items()})


def _by_channel(value: Any) -> list[float]:
    return [float(number) for number in cast("Iterable[Any]", value)] if isinstance(value, Iterable) else [float(value)]


def _word(name: str, value: Any) -> str:
    """Return a value in the form of the command line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, os.PathLike)):
        text = os.fspath(cast("str | os.PathLike[str]", value))
        if not text:
            raise _core.error("empty_argument", name)
        return text
    if hasattr(value, "__index__"):
        return str(value.__index__())
    if hasattr(value, "__float__"):
        return repr(float(value))
    raise TypeError(f"{name}: found {type(value).__name__}, expected a number or text")


def _pair(name: str, key: Any, value: Any) -> str:
    """Return KEY=VALUE. A pair of bit widths is W/A, and either may be None."""
    if isinstance(value, tuple):
        return f"{key}=" + "/".join("" if one is None else _word(name, one) for one in cast("tuple[Any, ...]", value))
    return f"{key}={value if isinstance(value, str) else json.dumps(value)}"


def _words(name: str, value: Any) -> list[str]:
    if name == "preprocess":
        return [preprocess_text(value) or ""]
    if isinstance(value, Mapping):
        return [_pair(name, key, one) for key, one in cast("Mapping[Any, Any]", value).items()]
    if isinstance(value, (str, os.PathLike)) or not isinstance(value, Iterable):
        return [_word(name, value)]
    return [_word(name, one) for one in cast("Iterable[Any]", value)]


class Options:
    """The options of a verb as one value: `hs.train(net, data, **hs.options.TrainOptions(epochs=3))`."""

    def keys(self) -> list[str]:
        return list(cast(Any, self).__dataclass_fields__)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def words(self) -> dict[str, list[str]]:
        """Return the options by name in the form of the command line. Those that are None or empty are left out."""
        words = {name: _words(name, self[name]) for name in self.keys() if self[name] is not None}
        return {name: words for name, words in words.items() if words}
