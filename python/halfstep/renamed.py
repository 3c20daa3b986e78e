"""Old names of arguments, which work with a warning until the next minor release."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])


def warn(text: str, depth: int = 2) -> None:
    """A FutureWarning, which Python shows by default. depth: the callers between the user and this function."""
    warnings.warn(f"{text}; the old form goes away in halfstep 0.2", FutureWarning, stacklevel=depth + 1)


def renamed(**names: str) -> Callable[[_F], _F]:
    """Takes keywords by their old names too: @renamed(channels="in_channels")."""

    def decorate(function: _F) -> _F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            for old in names.keys() & kwargs.keys() if kwargs else ():
                warn(f"{function.__qualname__.removesuffix('.__init__')}: the argument '{old}' is called '{names[old]}'", 2)
                kwargs[names[old]] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate
