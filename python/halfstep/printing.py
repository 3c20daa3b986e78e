"""Prints of captured functions. Each call of a captured function repeats them."""

from __future__ import annotations

import builtins
import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from halfstep import _core
from halfstep.rebuilding import Apart, Arrays, Given, NotRebuilt

Effects = list[tuple[int, Callable[[Arrays], None]]]

_lock = threading.Lock()
_users = 0
_print: Callable[..., None] = print
_thread = threading.local()


def _recorded_print(*values: Any, **settings: Any) -> None:
    effects = getattr(_thread, "effects", None)
    if effects is not None and _core.is_in_region():
        raise _core.error("print_in_region")
    if effects is None or not _core.is_tracing():
        _shown(lambda: _print(*values, **settings))
        return
    apart = Apart({id(value): value for value in settings.values()})
    try:
        make = apart.take(tuple(values))
    except NotRebuilt:
        texts = tuple(str(value) for value in values)
        apart = Apart({})
        make = apart.take(texts)

    def show(arrays: Arrays) -> None:
        (_print if builtins.print is _recorded_print else builtins.print)(*make(Given(arrays)), **settings)

    number = next(_thread.numbers)
    _core.note_effect(number, apart.arrays)
    effects.append((number, show))
    _shown(lambda: _core.untraced(lambda: show(apart.arrays)))


def _shown(show: Callable[[], None]) -> None:
    """Show a print, unless it was already shown before a program ended at a decision."""
    if getattr(_thread, "skip", 0) > 0:
        _thread.skip -= 1
    else:
        show()


@contextlib.contextmanager
def recorded_prints(effects: Effects | None, shown: int, numbers: Iterator[int]) -> Iterator[None]:
    """Context in which the prints of this thread become part of the captured function."""
    global _users, _print
    with _lock:
        if _users == 0:
            _print, builtins.print = builtins.print, _recorded_print
        _users += 1
    before = dict(vars(_thread))
    _thread.effects, _thread.skip, _thread.numbers = effects, shown, numbers
    try:
        yield
    finally:
        vars(_thread).clear()
        vars(_thread).update(before)
        with _lock:
            _users -= 1
            if _users == 0:
                builtins.print = _print


def skipping_prints(shown: int) -> contextlib.AbstractContextManager[None]:
    """Context in which the first `shown` prints of this thread are skipped, because they already happened."""
    return recorded_prints(None, shown, iter(())) if shown else contextlib.nullcontext()
