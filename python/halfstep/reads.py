"""What a function reads besides its arguments: globals, closures, attributes, containers. A program that was captured
holds as long as all of that is as it was."""

from __future__ import annotations

import functools
import operator
import os
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from halfstep import _core
from halfstep.purity import NotGuarded, check_builtin, check_names, check_value, is_fixed, slots_of

Guard = tuple[str, Any, Any, tuple[Any, ...], str]
"""Kind, container, key, what is there (nothing: an empty tuple), and what it is called in messages."""

_LIMIT = 20_000
_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_LAYERS = tuple(os.path.join(_PACKAGE, name) for name in ("nn.py", "optim.py"))
_LOOKED_UP = frozenset(["getattr", "setattr", "hasattr", "delattr", "vars", "dir", "__dict__", "AttributeError", "attrgetter", "methodcaller"])
"""Code that has one of these may ask for attributes by names that do not stand in it, or for such as are not there."""


@functools.cache
def _libraries() -> tuple[str, ...]:
    import sysconfig

    return tuple({os.path.realpath(path) + os.sep for name, path in sysconfig.get_paths().items() if name.endswith(("lib", "stdlib"))})


@functools.cache
def _is_users(file: str) -> bool:
    """Whether code of a file may change what it reads from call to call: not that of libraries."""
    if file.startswith(_PACKAGE + os.sep):
        return file in _LAYERS
    real = os.path.realpath(file)
    return not real.startswith(_libraries()) and not file.startswith("<frozen")


def _knows_arrays(scope: dict[str, Any]) -> bool:
    """Whether a module of a library was written for arrays."""
    return any(value is sys.modules["halfstep"] or str(getattr(value, "__module__", "")).startswith("halfstep.") for value in list(scope.values()))


class _Names(NamedTuple):
    """What stands in the code of a function and of those within it."""

    globals_: frozenset[str]
    imports: frozenset[str]
    attributes: frozenset[str]
    stored: frozenset[str]
    looks_up: bool


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


@functools.cache
def _names(code: types.CodeType) -> _Names:
    import dis

    globals_: set[str] = set()
    imports: set[str] = set()
    attributes: set[str] = set()
    stored: set[str] = set()
    for each in _codes(code):
        attributes.update(each.co_names)
        attributes.update(constant for constant in each.co_consts if isinstance(constant, str) and constant.isidentifier())
        for instruction in dis.get_instructions(each):
            if "GLOBAL" in instruction.opname or instruction.opname == "LOAD_NAME":
                globals_.add(str(instruction.argval))
            elif instruction.opname == "IMPORT_NAME":
                imports.add(str(instruction.argval))
            elif instruction.opname == "STORE_ATTR":
                stored.add(str(instruction.argval))
    looks_up = not _LOOKED_UP.isdisjoint(attributes)
    return _Names(frozenset(globals_), frozenset(imports), frozenset(attributes), frozenset(stored), looks_up)


class Reads:
    """Guards for one call. Attributes are looked at whose names occur in the code of any function that is reached."""

    def __init__(self, known: Reads | None = None) -> None:
        self.guards: list[Guard] = []
        self.reached: dict[int, Any] = {}
        """Objects that were there before the call, by id."""
        self.before: list[tuple[Any, Any]] = []
        """Dicts, lists and sets, and copies of them."""
        self._attributes: set[str] = set() if known is None else set(known._attributes)
        self._stored: set[str] = set() if known is None else set(known._stored)
        self._looks_up: bool = known is not None and known._looks_up

    def found_names(self) -> tuple[int, int, bool]:
        return len(self._attributes), len(self._stored), self._looks_up

    def _guard(self, kind: str, container: Any, key: Any, what: str, *value: Any) -> None:
        if len(self.guards) >= _LIMIT:
            raise NotGuarded(f"more than {_LIMIT} values that it may depend on, at {what}; pass what it needs as arguments")
        self.guards.append((kind, container, key, value, what))
        if value and not isinstance(value[0], _core.Array):  # that is an input
            self.walk(value[0], what)

    def function(self, function: types.FunctionType) -> None:
        code = function.__code__
        if id(function) in self.reached:
            return
        self.reached[id(function)] = function
        self._wrapped(function)
        if not (_is_users(code.co_filename) or self._is_of_arrays(function)):
            self._called_by_library(function)
            return
        names = _names(code)
        self._attributes |= names.attributes
        self._stored |= names.stored
        self._looks_up = self._looks_up or names.looks_up
        scope = function.__globals__
        for name in sorted(names.globals_):
            if name in scope:
                self._guard("dict", scope, name, f"global '{name}'", scope[name])
            else:
                check_builtin(name, function.__name__)
                self._guard("dict", scope, name, f"global '{name}'")
        for name in sorted(names.imports):
            if name in sys.modules:
                self.walk(sys.modules[name], f"module '{name}'")
        for name, cell in zip(code.co_freevars, function.__closure__ or ()):
            self._guard("cell", cell, None, f"'{name}' of the function around '{function.__name__}'", *contents_of(cell))
        self._named(vars(function), types.FunctionType, f"'{function.__name__}'")
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.walk(value, f"a default of '{function.__name__}'")

    def _called_by_library(self, function: types.FunctionType) -> None:
        """Functions that one of a library was given, as a decorator is."""
        for cell in function.__closure__ or ():
            value = cell.cell_contents
            if isinstance(value, (types.FunctionType, types.MethodType, functools.partial, dict)):
                self.walk(value, f"a function within '{function.__name__}'")

    def _is_of_arrays(self, function: types.FunctionType) -> bool:
        return not function.__code__.co_filename.startswith(_PACKAGE + os.sep) and _knows_arrays(function.__globals__)

    def _wrapped(self, value: Any) -> None:
        inner = getattr(value, "__dict__", {}).get("__wrapped__")
        if inner is not None:
            self.walk(inner, getattr(inner, "__name__", "a wrapped function"))

    def walk(self, value: Any, what: str) -> None:
        if id(value) in self.reached:
            return
        if isinstance(value, _core.Array):  # nobody can put another in its place
            self.reached[id(value)] = value
            self._guard("itself", value, None, what, value)
            return
        if isinstance(value, types.FunctionType):
            check_value(value, what)
            self.function(value)
            return
        if isinstance(value, types.ModuleType):
            self._module(value)
            return
        if is_fixed(value):
            check_value(value, what)
            self._looks_up = self._looks_up or isinstance(value, (operator.attrgetter, operator.methodcaller))
            if isinstance(getattr(value, "__self__", None), (list, dict, set)):  # a method of it
                self.walk(value.__self__, what)
            return
        self.reached[id(value)] = value
        if isinstance(value, types.MethodType):
            self._each((value.__self__, value.__func__), what)
        elif isinstance(value, (staticmethod, classmethod)):
            self.walk(value.__func__, what)
        elif isinstance(value, property):
            self._each((value.fget, value.fset, value.fdel), what)
        elif isinstance(value, functools.partial):
            self._each((value.func, *value.args, *value.keywords.values()), what)
        elif isinstance(value, (tuple, frozenset)):
            self._each(value, what)
            self._object(value, what)
        elif isinstance(value, (list, dict, set, bytearray)) or type(value).__module__ == "numpy":
            self._container(value, what)
        elif isinstance(value, type):
            self._class(value)
        elif type(value) is functools._lru_cache_wrapper:
            self._wrapped(value)
        elif hasattr(value, "_core") and hasattr(value, "why_recaptured"):  # a captured function
            self.walk(value._function, what)
        else:
            check_value(value, what)
            self._object(value, what)

    def _each(self, values: Iterable[Any], what: str) -> None:
        for value in values:
            self.walk(value, what)

    def _container(self, value: Any, what: str) -> None:
        if isinstance(value, list):
            self.before.append((value, list(value)))
            self._guard("size", value, len(value), f"length of {what}")
            for place, each in enumerate(list(value)):
                self._guard("list", value, place, f"{what}[{place}]", each)
        elif isinstance(value, dict):
            self.before.append((value, dict(value)))
            self._guard("keys", value, tuple(value), f"keys of {what}")
            for key, each in list(value.items()):
                self.walk(key, what)
                self._guard("dict", value, key, f"{what}[{key!r}]", each)
        elif isinstance(value, set):
            self.before.append((value, set(value)))
            self._guard("equal", value, set(value), what)
            self._each(value, what)
        else:
            self._guard("equal", Elements(value), Elements(value).kept(), what)
        if type(value).__module__ not in ("builtins", "numpy"):
            self._object(value, what)

    def _module(self, module: types.ModuleType) -> None:
        if id(module) in self.reached:
            return
        self.reached[id(module)] = module
        check_names(module.__name__, self._attributes)
        scope = vars(module)
        if module.__name__.split(".")[0] != "halfstep" and (_is_users(getattr(module, "__file__", None) or "<frozen") or _knows_arrays(scope)):
            for name in sorted(self._attributes & scope.keys()):
                self._guard("dict", scope, name, f"{module.__name__}.{name}", scope[name])
            for name in sorted(self._stored - scope.keys()):
                self._guard("dict", scope, name, f"{module.__name__}.{name}")

    def _class(self, cls: type) -> None:
        check_names(cls.__module__, self._attributes)
        if cls.__module__.split(".")[0] == "halfstep" and not cls.__module__.endswith((".nn", ".optim")):
            return
        for each in cls.__mro__:
            if each.__module__ == "builtins" or (each.__module__.split(".")[0] in sys.stdlib_module_names and each.__module__ != "__main__"):
                continue
            for name, value in list(vars(each).items()):
                if name not in self._attributes and not (name.startswith("__") and isinstance(value, types.FunctionType)):
                    continue
                if isinstance(value, types.FunctionType) or not name.startswith("__"):
                    self._guard("attribute", each, name, f"{each.__name__}.{name}", value)
            for name in sorted(self._stored - vars(each).keys()):
                self._guard("attribute", each, name, f"{each.__name__}.{name}")

    def _object(self, value: Any, what: str) -> None:
        cls = type(value)
        self.walk(cls, what)
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict) and cls.__module__ != "builtins":
            self._named(attributes, cls, what)
        for each in cls.__mro__:
            for name in slots_of(each):
                if name in self._attributes or self._looks_up:
                    self._guard("attribute", value, name, f"{what}.{name}", *((getattr(value, name),) if hasattr(value, name) else ()))

    def _named(self, attributes: dict[str, Any], cls: type, what: str) -> None:
        """What an object has in its __dict__, and what would be found there before it is looked for in the class."""
        self.before.append((attributes, dict(attributes)))
        for name in sorted(attributes.keys() if self._looks_up else self._attributes & attributes.keys()):
            self._guard("dict", attributes, name, f"{what}.{name}", attributes[name])
        if any(self._looks_up or name in self._stored or (not name.startswith("__") and hasattr(cls, name)) for name in self._attributes - attributes.keys()):
            self._guard("keys", attributes, tuple(attributes), f"names of the attributes of {what}")

    def arguments(self, value: Any, what: str, depth: int = 0) -> None:
        """Lists, dicts and dataclasses among arguments are others in each call: what is in them is looked at with the
        arguments."""
        if type(value) is list or (isinstance(value, tuple) and depth < 100):
            for place, each in enumerate(value):
                self.arguments(each, f"{what}[{place}]", depth + 1)
            if type(value) not in (list, tuple):
                self.walk(type(value), what)
        elif type(value) is dict:
            for key, each in value.items():
                self.arguments(key, what, depth + 1)
                self.arguments(each, f"{what}[{key!r}]", depth + 1)
        elif _core.is_record(value):
            self.walk(type(value), what)
            for name, each in vars(value).items():
                self.arguments(each, f"{what}.{name}", depth + 1)
        elif not isinstance(value, _core.Array):
            self.walk(value, what)


def contents_of(cell: types.CellType) -> tuple[Any, ...]:
    """Nothing where the variable has no value."""
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


class Elements:
    """The bits of a NumPy array, or of bytes, which may change in place."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def kept(self) -> Elements:
        return Elements(self.value.copy())

    def _key(self) -> tuple[Any, ...]:
        if isinstance(self.value, bytearray):
            return (bytes(self.value),)
        if self.value.dtype.hasobject:
            raise NotGuarded("an array of objects of NumPy, which cannot be compared from call to call")
        return str(self.value.dtype), self.value.shape, self.value.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Elements) and self._key() == other._key()

    __hash__ = None  # type: ignore[assignment]


def containers(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The lists, dicts and dataclasses among arguments, in the order in which they are met."""
    found: list[Any] = []
    met: set[int] = set()

    def visit(value: Any) -> None:
        is_record = _core.is_record(value)
        if type(value) in (list, dict) or is_record:
            if id(value) in met:
                return
            met.add(id(value))
            found.append(value)
        if type(value) is list or isinstance(value, tuple):
            for each in value:
                visit(each)
        elif type(value) is dict or is_record:
            for key, each in (vars(value) if is_record else value).items():
                visit(key)
                visit(each)

    for value in (*args, *kwargs.values()):
        visit(value)
    return found


def contents(container: Any) -> Any:
    """The list or the dict that changes where a container does."""
    return vars(container) if _core.is_record(container) else container


def reads(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Reads:
    """The names of attributes grow while functions are found, so it is done again until they do not."""
    known: Reads | None = None
    while True:
        found = Reads(known)
        found.walk(function, getattr(function, "__name__", "the function"))
        for place, value in enumerate(args):
            found.arguments(value, "self" if place == 0 and hasattr(value, "__dict__") else f"argument {place}")
        for name, value in kwargs.items():
            found.arguments(value, f"argument '{name}'")
        if known is not None and found.found_names() == known.found_names():
            return found
        known = found
