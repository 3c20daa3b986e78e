"""Take apart and rebuild Python values that hold arrays: results of a captured function, and its changes."""

from __future__ import annotations

import enum
import types
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from halfstep import _core
from halfstep.purity import is_fixed, is_of_python, slots_of
from halfstep.reads import Guard, contents, contents_of, slot_of

Arrays = list[Any]


class Given:
    """State of a call: its arrays, the containers among its arguments, and the values rebuilt so far."""

    def __init__(self, arrays: Arrays, containers: Sequence[Any] = ()) -> None:
        self.arrays, self.containers = arrays, containers
        self.made: dict[int, Any] = {}


Make = Callable[[Given], Any]
"""Rebuild the value. A value that occurs twice is rebuilt once."""

_CONSTANT = (type, types.ModuleType, enum.Enum)


class NotRebuilt(TypeError):
    """A value that cannot be rebuilt for each call."""


class Apart:
    """Take values apart. `arrays` holds the arrays in them. `there` holds objects that existed before, which are
    reused. `containers` holds lists, dicts and dataclasses among arguments. Each call has its own in their place.
    """

    def __init__(self, there: dict[int, Any], containers: Sequence[Any] = ()) -> None:
        self.arrays: Arrays = []
        self._there = there
        self._own: dict[int, Make] = {}
        for place, each in enumerate(containers):
            self._own[id(contents(each))] = lambda given, place=place: contents(given.containers[place])
            self._own[id(each)] = lambda given, place=place: given.containers[place]
        self._known: dict[int, tuple[Any, Make]] = {}  # Keep the value too. While it lives, no other object has its id.
        self._cells: dict[int, int] = {}

    def take(self, value: Any) -> Make:
        if isinstance(value, _core.Array):
            place = self._cells.setdefault(value.cell, len(self.arrays))
            if place == len(self.arrays):
                self.arrays.append(value)
            return lambda given: given.arrays[place]
        if id(value) in self._own:
            return self._own[id(value)]
        if is_fixed(value) or isinstance(value, _CONSTANT) or id(value) in self._there:
            return lambda given: value
        if id(value) not in self._known:
            plan = _plan(value)
            parts: list[Make] = []
            self._known[id(value)] = (value, _maker(plan, len(self._known), parts))  # first: a part may be itself
            parts.extend([self.take(part) for part in plan.parts])
        return self._known[id(value)][1]


class _Plan(NamedTuple):
    """How to rebuild a value from its parts: at once, or created and then filled."""

    parts: list[Any]
    begin: Callable[[], Any] | None
    finish: Callable[..., Any]


def _maker(plan: _Plan, number: int, parts: list[Make]) -> Make:
    def make(given: Given) -> Any:
        if number not in given.made:
            if plan.begin is None:
                given.made[number] = plan.finish([part(given) for part in parts])
            else:
                made = given.made[number] = plan.begin()
                plan.finish(made, [part(given) for part in parts])
        return given.made[number]

    return make


def _plan(value: Any) -> _Plan:
    cls = type(value)
    if isinstance(value, (list, set, dict)) and getattr(value, "__dict__", None):
        raise NotRebuilt(f"a {cls.__name__} with attributes, which cannot be recreated for each call")
    if isinstance(value, (tuple, frozenset)):
        return _Plan(list(value), None, getattr(cls, "_make", cls))
    if isinstance(value, (list, set)):
        return _Plan(list(value), lambda: _emptied(value), list.extend if isinstance(value, list) else set.update)
    if isinstance(value, dict):
        parts = [part for item in value.items() for part in item]
        update = OrderedDict.update if isinstance(value, OrderedDict) else dict.update
        return _Plan(parts, lambda: _emptied(value), lambda made, parts: update(made, zip(parts[::2], parts[1::2])))
    if isinstance(value, _core.Results):
        return _Plan(list(value), None, lambda parts: value.with_items(tuple(parts)))
    if cls.__module__ == "numpy" and hasattr(value, "copy") and not value.dtype.hasobject:
        kept = value.copy()
        return _Plan([], None, lambda _: kept.copy())
    if isinstance(value, types.FunctionType) and value.__closure__ is None:
        return _Plan([], None, lambda _: value)
    names = [name for each in cls.__mro__ for name in slots_of(each) if hasattr(value, name)]
    if isinstance(value, (BaseException, types.FunctionType)) or not (names or hasattr(value, "__dict__")) or not is_of_python(value):
        raise NotRebuilt(f"a value of type {cls.__name__}, which cannot be recreated for each call")
    attributes = getattr(value, "__dict__", {})

    def fill(made: Any, parts: list[Any]) -> None:
        for name, part in zip(names, parts):
            object.__setattr__(made, name, part)
        if attributes:
            vars(made).update(zip(attributes, parts[len(names) :]))

    return _Plan([*(getattr(value, name) for name in names), *attributes.values()], lambda: object.__new__(cls), fill)


def _emptied(value: Any) -> Any:
    import copy

    made = copy.copy(value)
    made.clear()
    return made


Change = Callable[[Given], None]


def changes(before: list[tuple[Any, Any]], guards: list[Guard], apart: Apart) -> list[Change]:
    """Return the changes that a call made to existing objects. They are repeated after each call of this kind."""
    done: list[Change] = []
    known = {id(container) for container, _ in before}
    for container, copied in before:
        change = _change_of(container, copied, apart)
        if change is not None:
            done.append(change)
    for kind, container, key, value, _ in guards:
        if kind in ("dict", "cell", "attribute") and id(container) not in known:
            now = _now(kind, container, key)
            if len(now) != len(value) or any(a is not b for a, b in zip(now, value)):
                done.append(_assignment(kind, container, key, apart.take(now[0]) if now else None))
    return done


def _same(a: Any, b: Any) -> bool:
    return len(a) == len(b) and all(one is other for one, other in zip(a, b))


def _change_of(container: Any, before: Any, apart: Apart) -> Change | None:
    target = apart.take(container)
    if isinstance(container, set):
        if container == before:
            return None
        elements = [apart.take(each) for each in container]
        return lambda given: _refill(target(given), lambda made: made.update([element(given) for element in elements]))
    if isinstance(container, list):
        if _same(container, before):
            return None
        parts = [apart.take(each) for each in container]
        return lambda given: target(given).__setitem__(slice(None), [part(given) for part in parts])
    if _same(list(container), list(before)) and _same(list(container.values()), list(before.values())):
        return None
    if list(container)[: len(before)] == list(before):  # New keys follow the others, or there are none.
        items = [(key, apart.take(each)) for key, each in container.items() if key not in before or before[key] is not each]
        return lambda given: target(given).update([(key, part(given)) for key, part in items])
    items = [(key, apart.take(each)) for key, each in container.items()]
    return lambda given: _refill(target(given), lambda made: made.update([(key, part(given)) for key, part in items]))


def _refill(container: Any, fill: Callable[[Any], None]) -> None:
    container.clear()
    fill(container)


def _now(kind: str, container: Any, key: Any) -> tuple[Any, ...]:
    if kind == "dict":
        return (container[key],) if key in container else ()
    if kind == "attribute":
        if isinstance(container, type):
            return (vars(container)[key],) if key in vars(container) else ()
        return slot_of(container, key)
    return contents_of(container)


def _assignment(kind: str, container: Any, key: Any, make: Make | None) -> Change:
    def change(given: Given) -> None:
        if make is None:
            delattr(container, key) if kind == "attribute" else container.pop(key, None)
        elif kind == "cell":
            container.cell_contents = make(given)
        elif kind == "attribute":
            setattr(container, key, make(given))
        else:
            container[key] = make(given)

    return change


class Form:
    """A value that enters or leaves a region: its structure, and its arrays one by one."""

    def __init__(self, value: Any) -> None:
        self.arrays: Arrays = []
        self.make, self.shape = self._taken(value)

    def _taken(self, value: Any) -> tuple[Callable[[Arrays], Any], Any]:
        if isinstance(value, _core.Array):
            place = len(self.arrays)
            self.arrays.append(value)
            return (lambda given: given[place]), "array"
        if isinstance(value, dict):
            items = [(key, *self._taken(each)) for key, each in value.items()]
            return (lambda given: {key: part(given) for key, part, _ in items}), {key: shape for key, _, shape in items}
        if isinstance(value, (list, tuple)):
            parts = [self._taken(each) for each in value]
            new = getattr(type(value), "_make", type(value))
            return (lambda given: new([part(given) for part, _ in parts])), type(value)(shape for _, shape in parts) if new is type(value) else (new, *(shape for _, shape in parts))
        return (lambda given: value), ("constant", value)

    def expect(self, other: Form, where: str, what: str) -> None:
        """Check that only arrays differ between calls of a region."""
        if self.shape != other.shape:
            raise _core.error("region_result_of_other_form", where, what, self.shape, other.shape)
