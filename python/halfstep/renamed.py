"""Old names of arguments. They work with a warning until the next minor release."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])


def users_level() -> int:
    """Return the stack level of the first frame outside of the package, for a warning at the caller's line."""
    frame, level = sys._getframe(1), 1  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "halfstep":
        frame, level = frame.f_back, level + 1
    return level


def warn(text: str) -> None:
    """Raise a FutureWarning, which Python shows by default, at the user's line."""
    warnings.warn(f"{text}; halfstep 0.3 removes the old form", FutureWarning, stacklevel=users_level())


def renamed(**names: str) -> Callable[[_F], _F]:
    """Accept keywords under their old names too: @renamed(channels="in_channels")."""

    def decorate(function: _F) -> _F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            for old in names.keys() & kwargs.keys() if kwargs else ():
                named = type(args[0]) if function.__name__ == "__init__" else function
                warn(f"{named.__name__}: the argument '{old}' is now '{names[old]}'")
                kwargs[names[old]] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate
