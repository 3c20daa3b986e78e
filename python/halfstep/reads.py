"""What a function reads besides its arguments: globals, closures, attributes, containers. A program that was captured
holds as long as all of that is as it was."""

from __future__ import annotations

import dis
import functools
import os
import sysconfig
import types
from collections.abc import Iterator
from typing import Any

from halfstep import _core

Guard = tuple[str, Any, Any, tuple[Any, ...], str]
"""Kind, container, key, what is there (nothing: an empty tuple), and what it is called in messages."""

_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_LIMIT = 20_000
_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_LAYERS = tuple(os.path.join(_PACKAGE, name) for name in ("nn.py", "optim.py"))
_LIBRARIES = tuple({os.path.realpath(path) + os.sep for name, path in sysconfig.get_paths().items() if name.endswith(("lib", "stdlib"))})


@functools.cache
def _is_users(file: str) -> bool:
    """Whether code of a file may change what it reads from call to call: not that of libraries."""
    if file.startswith(_PACKAGE + os.sep):
        return file in _LAYERS
    real = os.path.realpath(file)
    return not real.startswith(_LIBRARIES) and not file.startswith("<frozen")


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


@functools.cache
def _names(code: types.CodeType) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Globals that code reads or writes, names of attributes, and those of attributes that it writes."""
    globals_, attributes, stored = set(), set(), set()
    for each in _codes(code):
        attributes.update(each.co_names)
        attributes.update(constant for constant in each.co_consts if isinstance(constant, str) and constant.isidentifier())
        for instruction in dis.get_instructions(each):
            if "GLOBAL" in instruction.opname or instruction.opname == "LOAD_NAME":
                globals_.add(str(instruction.argval))
            elif instruction.opname == "STORE_ATTR":
                stored.add(str(instruction.argval))
    return frozenset(globals_), frozenset(attributes), frozenset(stored)


class Reads:
    """Guards for one call. Attributes are looked at whose names occur in the code of any function that is reached."""

    def __init__(self) -> None:
        self.guards: list[Guard] = []
        self.reached: dict[int, Any] = {}
        """Objects that were there before the call, by id."""
        self._attributes: set[str] = set()
        self._stored: set[str] = set()

    def _guard(self, kind: str, container: Any, key: Any, what: str, *value: Any) -> None:
        if len(self.guards) >= _LIMIT:
            raise _core.Error(f"captured function: found more than {_LIMIT} values that it may depend on, at {what}; pass what it needs as arguments")
        self.guards.append((kind, container, key, value, what))
        if value:
            self.walk(value[0], what)

    def function(self, function: types.FunctionType) -> None:
        code = function.__code__
        if id(function) in self.reached or not _is_users(code.co_filename):
            return
        self.reached[id(function)] = function
        globals_, attributes, stored = _names(code)
        self._attributes |= attributes
        self._stored |= stored
        for name in sorted(globals_):
            if name in function.__globals__:
                self._guard("dict", function.__globals__, name, f"global '{name}'", function.__globals__[name])
            elif name in stored:
                self._guard("dict", function.__globals__, name, f"global '{name}'")
        for name, cell in zip(code.co_freevars, function.__closure__ or ()):
            try:
                value = (cell.cell_contents,)
            except ValueError:
                value = ()
            self._guard("cell", cell, None, f"'{name}' of the function around '{function.__name__}'", *value)
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.walk(value, f"a default of '{function.__name__}'")

    def walk(self, value: Any, what: str) -> None:
        if isinstance(value, (*_PLAIN, _core.Array)) or id(value) in self.reached:
            return
        if isinstance(value, types.FunctionType):
            self.function(value)
            return
        self.reached[id(value)] = value
        if isinstance(value, types.MethodType):
            self.walk(value.__self__, what)
            self.walk(value.__func__, what)
        elif isinstance(value, functools.partial):
            self.walk([value.func, *value.args, *value.keywords.values()], what)
        elif isinstance(value, list):
            self._guard("size", value, len(value), f"length of {what}")
            for place, each in enumerate(value):
                self._guard("list", value, place, f"{what}[{place}]", each)
        elif isinstance(value, tuple):
            for place, each in enumerate(value):
                self.walk(each, f"{what}[{place}]")
        elif isinstance(value, dict):
            self._guard("size", value, len(value), f"length of {what}")
            for key, each in value.items():
                self._guard("dict", value, key, f"{what}[{key!r}]", each)
        elif isinstance(value, (set, bytearray)):
            self._guard("equal", value, value.copy(), what)
        elif isinstance(value, types.ModuleType):
            self._module(value)
        elif isinstance(value, type):
            self._class(value)
        elif type(value).__module__ == "numpy" and hasattr(value, "tobytes"):
            self._guard("equal", memoryview(value) if value.flags.c_contiguous else value.tobytes(), value.tobytes(), what)
        else:
            self._object(value, what)

    def _module(self, module: types.ModuleType) -> None:
        if _is_users(getattr(module, "__file__", None) or "<frozen"):
            for name in sorted(self._attributes & vars(module).keys()):
                self._guard("dict", vars(module), name, f"{module.__name__}.{name}", vars(module)[name])

    def _class(self, cls: type) -> None:
        for each in cls.__mro__:
            if each.__module__ == "builtins":
                continue
            for name, value in list(vars(each).items()):
                if isinstance(value, (staticmethod, classmethod)):
                    value = value.__func__
                if isinstance(value, property):
                    value = value.fget
                if isinstance(value, types.FunctionType):
                    if name in self._attributes or name.startswith("__"):
                        self.function(value)
                elif name in self._attributes and not name.startswith("__"):
                    self._guard("attribute", each, name, f"{each.__name__}.{name}", value)

    def _object(self, value: Any, what: str) -> None:
        cls = type(value)
        self.walk(cls, what)
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict) and cls.__module__ != "builtins":
            for name in sorted(self._attributes & attributes.keys()):
                self._guard("dict", attributes, name, f"{what}.{name}", attributes[name])
            for name in sorted(self._stored - attributes.keys()):
                if not hasattr(cls, name):
                    self._guard("dict", attributes, name, f"{what}.{name}")
        for each in cls.__mro__:
            slots = vars(each).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if name in self._attributes and hasattr(value, name):
                    self._guard("attribute", value, name, f"{what}.{name}", getattr(value, name))


def reads(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Reads:
    """The names of attributes grow while functions are found, so it is done again until they do not."""
    known: tuple[set[str], set[str]] = (set(), set())
    while True:
        found = Reads()
        found._attributes, found._stored = set(known[0]), set(known[1])
        found.walk(function, getattr(function, "__name__", "the function"))
        for place, value in enumerate(args):
            found.walk(value, "self" if place == 0 and not isinstance(value, (list, dict)) else f"argument {place}")
        for name, value in kwargs.items():
            found.walk(value, f"argument '{name}'")
        if (found._attributes, found._stored) == known:
            return found
        known = (found._attributes, found._stored)
