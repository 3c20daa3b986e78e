"""Values of Python that hold arrays, taken apart and made anew: what a captured function gives, and what it changes."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from halfstep import _core

Arrays = list[Any]
Make = Callable[[Arrays], Any]
"""Makes the value from the arrays of a call."""

_CONSTANT = (type(None), bool, int, float, complex, str, bytes, type, range, slice, types.BuiltinFunctionType, types.ModuleType)


class NotRebuilt(TypeError):
    """A value that cannot be made anew for each call."""


def taken_apart(value: Any, arrays: Arrays, there: dict[int, Any]) -> Make:
    """Appends the arrays in `value`; `there` are objects that were there before, which stay themselves."""
    if isinstance(value, _core.Array):
        place = len(arrays)
        arrays.append(value)
        return lambda given: given[place]
    if isinstance(value, _CONSTANT) or id(value) in there:
        return lambda given: value
    if isinstance(value, (list, tuple, set, frozenset)):
        parts = [taken_apart(each, arrays, there) for each in value]
        cls = type(value)
        if hasattr(value, "_fields"):
            return lambda given: cls(*(part(given) for part in parts))  # type: ignore[call-arg]
        return lambda given: cls(part(given) for part in parts)
    if isinstance(value, dict):
        items = [(key, taken_apart(each, arrays, there)) for key, each in value.items()]
        made_of = type(value)
        if made_of is dict:
            return lambda given: {key: part(given) for key, part in items}
        return lambda given: made_of((key, part(given)) for key, part in items)
    if isinstance(value, types.FunctionType) and value.__closure__ is None:
        return lambda given: value
    if isinstance(getattr(value, "__dict__", None), dict) and not isinstance(value, (types.FunctionType, types.MethodType)):
        return _object(value, arrays, there)
    raise NotRebuilt(f"a value of type {type(value).__name__}, which cannot be made anew for each call")


def _object(value: Any, arrays: Arrays, there: dict[int, Any]) -> Make:
    parts = {name: taken_apart(each, arrays, there) for name, each in vars(value).items()}
    cls = type(value)

    def make(given: Arrays) -> Any:
        made = cls.__new__(cls)
        vars(made).update({name: part(given) for name, part in parts.items()})
        return made

    return make


def changes(guards: list[Any], arrays: Arrays, there: dict[int, Any]) -> list[Callable[[Arrays], None]]:
    """What a call did to the places that the guards look at, to be done again after each call like it."""
    done: list[Callable[[Arrays], None]] = []
    renewed: set[int] = set()
    for kind, container, key, _, _ in guards:
        if kind == "size" and len(container) != key:
            renewed.add(id(container))
            done.append(_renewal(container, taken_apart(_copied(container), arrays, there)))
        elif kind == "equal" and container != key:
            raise NotRebuilt(f"a {type(container).__name__} that it changes in place")
    for kind, container, key, before, _ in guards:
        if kind in ("size", "equal") or id(container) in renewed:
            continue
        now = _now(kind, container, key)
        if len(now) == len(before) and all(a is b for a, b in zip(now, before)):
            continue
        done.append(_change(kind, container, key, taken_apart(now[0], arrays, there) if now else None))
    return done


def _copied(container: Any) -> Any:
    return list(container) if isinstance(container, list) else dict(container)


def _renewal(container: Any, make: Make) -> Callable[[Arrays], None]:
    def renew(given: Arrays) -> None:
        made = make(given)
        if isinstance(container, list):
            container[:] = made
        else:
            container.clear()
            container.update(made)

    return renew


def _now(kind: str, container: Any, key: Any) -> tuple[Any, ...]:
    if kind == "dict":
        return (container[key],) if key in container else ()
    if kind == "list":
        return (container[key],) if key < len(container) else ()
    if kind == "attribute":
        return (vars(container)[key],) if isinstance(container, type) else (getattr(container, key),)
    try:
        return (container.cell_contents,)
    except ValueError:
        return ()


def _change(kind: str, container: Any, key: Any, make: Make | None) -> Callable[[Arrays], None]:
    def change(given: Arrays) -> None:
        if make is None:
            container.pop(key, None)
        elif kind == "cell":
            container.cell_contents = make(given)
        elif kind == "attribute":
            setattr(container, key, make(given))
        else:
            container[key] = make(given)

    return change
