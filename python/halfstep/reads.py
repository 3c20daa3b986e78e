"""Values that a function reads besides its arguments: globals, closures, attributes, containers. A captured program is
valid as long as none of them changes.
"""

from __future__ import annotations

import abc
import collections
import enum
import functools
import operator
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from halfstep import _core
from halfstep.known import is_in_python
from halfstep.names import SHOWN, SPECIAL, codes_in, modules_named, names_in
from halfstep.purity import (
    NotGuarded,
    attributes_of,
    check_class,
    check_function,
    check_value,
    is_bound,
    is_fixed,
    is_foreign,
    is_held,
    is_ours,
    is_users,
    knows_arrays,
    slots_of,
)

Guard = tuple[str, Any, Any, tuple[Any, ...], str]
"""Kind, container, key, expected value (an empty tuple: absent), and name in messages."""

_DESCRIPTORS = (types.WrapperDescriptorType, types.MethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType)
_LIMIT = 20_000
_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_NAMES = ("__name__", "__qualname__", "__doc__", "__module__")


class Reads:
    """Guards for one call. They cover attributes whose names occur in the code of any function that is reached. A value
    that guards cannot check raises NotGuarded, unless is_strict is False.
    """

    def __init__(self, known: Reads | None = None, is_strict: bool = True) -> None:
        self.guards: list[Guard] = []
        self.reached: dict[int, Any] = {}
        """Objects that existed before the call, by id."""
        self.before: list[tuple[Any, Any]] = []
        """Dicts, lists and sets, with copies of them."""
        self.codes: dict[int, types.CodeType] = {}
        """Code of the functions that were found, by id."""
        self._registers = False
        self._strict = is_strict
        self._places: set[tuple[str, int, Any]] = set()
        self._attributes: set[str] = set() if known is None else set(known._attributes)
        self._constants: set[str] = set() if known is None else set(known._constants)
        self._stored: set[str] = set() if known is None else set(known._stored)
        self._taken: set[str] = set() if known is None else set(known._taken)
        self._looks_up: bool = known is not None and known._looks_up

    def found_names(self) -> tuple[int, int, bool]:
        return len(self._attributes), len(self._taken) + len(self._stored), self._looks_up

    def _guard(self, kind: str, container: Any, key: Any, what: str, *value: Any) -> None:
        self._place(kind, container, key, what, *value)
        if value and issubclass(type(value[0]), _core.Array):  # The array is an input of the program.
            self._array(value[0], what)
        elif value:
            self.walk(value[0], what)

    def _place(self, kind: str, container: Any, key: Any, what: str, *value: Any) -> None:
        """Add the guard alone. Other code cannot continue from this value unseen."""
        if len(self.guards) >= _LIMIT:
            raise NotGuarded(f"more than {_LIMIT} values that it may depend on, at {what}; pass the values that it needs as arguments")
        if kind in ("dict", "attribute"):
            place = kind, id(container), key
            if place in self._places:
                return
            self._places.add(place)
        self.guards.append((kind, container, key, value, what))

    def _snapshot(self, value: Any, take: Callable[[Any], Any], what: str) -> None:
        self._guard("equal", Snapshot(value, take), Snapshot(value, take).kept(), what)

    # functions

    def function(self, function: types.FunctionType) -> None:
        code = function.__code__
        if id(function) in self.reached:
            return
        self.reached[id(function)] = function
        if is_ours(code.co_filename) and not function.__closure__:
            return
        self._wrapped(function)
        if not (is_users(code.co_filename) or self._is_of_arrays(function)):
            self._called_by_library(function)
            return
        self.codes.update((id(each), each) for each in codes_in(code))
        names = names_in(code)
        for hidden in sorted(names.attributes & SHOWN):
            raise NotGuarded(f"'{hidden}' of an object of the interpreter (in '{function.__name__}'), which exposes values that are not checked")
        self._attributes |= names.attributes
        self._constants |= names.constants
        self._stored |= names.stored
        self._taken |= names.taken | (names.constants if names.looks_up else frozenset())
        self._looks_up = self._looks_up or names.looks_up
        for name in sorted(names.globals_):
            self._global(function, name)
        for each in sorted(names.imports):
            for name in modules_named(each, function.__globals__):
                self._guard("dict", sys.modules, name, f"module '{name}'", sys.modules[name])
        for name, cell in zip(code.co_freevars, function.__closure__ or ()):
            self._guard("cell", cell, None, f"'{name}' of the function around '{function.__name__}'", *contents_of(cell))
        self._settings(function)

    def _global(self, function: types.FunctionType, name: str) -> None:
        scope = function.__globals__
        if name in scope:
            self._guard("dict", scope, name, f"global '{name}'", scope[name])
            return
        self._guard("dict", scope, name, f"global '{name}'")
        known = function.__builtins__
        if name in known and name != "print":  # `print` is replaced during a capture.
            self._guard("dict", known, name, f"built-in '{name}'", known[name])

    def _settings(self, function: types.FunctionType) -> None:
        """Guard the replaceable parts of a function."""
        what = f"'{function.__name__}'"
        attributes = vars(function)
        parts = (function.__code__, function.__defaults__, function.__kwdefaults__, attributes, *(getattr(function, name) for name in _NAMES))
        self._guard("function", function, parts, f"function {what}")
        if attributes or self._stored or self._looks_up:
            self._named(attributes, False, what)
        self._each(function.__defaults__ or (), f"a default of {what}")
        if function.__kwdefaults__:
            self._container(function.__kwdefaults__, f"defaults of {what}")

    def _called_by_library(self, function: types.FunctionType) -> None:
        """Walk functions that a library function received, as a decorator does."""
        for cell in function.__closure__ or ():
            for value in contents_of(cell):
                if isinstance(value, (types.FunctionType, types.MethodType, functools.partial, dict)) or (callable(value) and is_in_python(type(value))):
                    self.walk(value, f"a function within '{function.__name__}'")

    def _is_of_arrays(self, function: types.FunctionType) -> bool:
        return str(function.__globals__.get("__name__")).split(".")[0] != "halfstep" and knows_arrays(function.__globals__)

    def _wrapped(self, value: Any) -> None:
        inner = (attributes_of(value) or {}).get("__wrapped__")
        if inner is not None:
            self.walk(inner, getattr(inner, "__name__", "a wrapped function"))

    # values

    def walk(self, value: Any, what: str) -> None:
        if id(value) in self.reached:
            return
        try:
            self._walk(value, what)
        except NotGuarded:
            if self._strict:
                raise

    def _walk(self, value: Any, what: str) -> None:
        cls = type(value)
        if issubclass(cls, _core.Array):  # Its methods cannot be replaced.
            self.reached[id(value)] = value
            self._guard("itself", value, None, what, value)
        elif cls is types.FunctionType:
            self.function(value)
        elif issubclass(cls, types.ModuleType):
            self._module(value)
        elif is_fixed(value):
            check_function(value, what)
            self._looks_up = self._looks_up or cls in (operator.attrgetter, operator.methodcaller)
        else:
            self.reached[id(value)] = value
            self._parts(value, cls, what)

    def _parts(self, value: Any, cls: type, what: str) -> None:
        if is_bound(value):
            if is_held(value):
                self.walk(value.__self__, what)
        elif cls is types.MethodType:
            self._each((value.__self__, value.__func__), what)
        elif cls in (staticmethod, classmethod):
            self.walk(value.__func__, what)
        elif cls is property:
            self._each((value.fget, value.fset, value.fdel), what)
        elif cls is functools.partial:
            self._each((value.func, *value.args), what)
            self._container(value.keywords, f"keywords of {what}")
            self._object(value, what)
        elif issubclass(cls, (tuple, frozenset)):
            self._each(tuple.__iter__(value) if issubclass(cls, tuple) else frozenset.__iter__(value), what)
            if cls not in (tuple, frozenset):
                self._object(value, what)
        elif issubclass(cls, (list, dict, set, bytearray)) or f"{cls.__module__}.{cls.__name__}" == "numpy.ndarray":
            self._container(value, what)
        elif issubclass(cls, type):
            self._class(value)
        elif cls.__module__ == "halfstep.jit" and hasattr(cls, "why_recaptured"):  # a captured function
            self.walk(value._function, what)
        else:
            check_value(value, what)
            self._object(value, what)

    def _array(self, value: Any, what: str) -> None:
        """Guard an array. Another array may take its place, so this one must not have attributes of its own, and may
        not get any.
        """
        attributes = attributes_of(value)
        if attributes:
            raise NotGuarded(f"an array ({what}) with attributes, which are not checked; store them outside the array")
        if attributes is not None and (self._looks_up or self._stored):
            self._place("keys", attributes, (), f"attributes of {what}")
            self.before.append((attributes, {}))

    def _each(self, values: Iterable[Any], what: str) -> None:
        for value in values:
            self.walk(value, what)

    def _container(self, value: Any, what: str) -> None:
        cls = type(value)
        if issubclass(cls, list):
            items = list.copy(value)
            self.before.append((value, items))
            self._guard("size", value, len(items), f"length of {what}")
            for place, each in enumerate(items):
                self._guard("list", value, place, f"{what}[{place}]", each)
        elif issubclass(cls, dict):
            self._dict(value, what)
        elif issubclass(cls, set):
            self.before.append((value, set.copy(value)))
            self._guard("items", value, tuple(set.__iter__(value)), what)
            self._each(set.__iter__(value), what)
        else:
            self._guard("equal", Elements(value), Elements(value).kept(), what)
            if cls is not bytearray:
                check_class(cls)
                return
        if cls not in (list, dict, set, bytearray):
            self._object(value, what)

    def _dict(self, value: Any, what: str) -> None:
        items = dict(dict.items(value))
        self.before.append((value, items))
        self._guard("keys", value, tuple(items), f"keys of {what}")
        for key, each in items.items():
            self.walk(key, what)
            self._guard("dict", value, key, f"{what}[{key!r}]", each)
        if issubclass(type(value), collections.OrderedDict):  # An OrderedDict keeps its own order.
            self._snapshot(value, lambda each: [id(key) for key in collections.OrderedDict.__iter__(each)], f"order of {what}")
        if issubclass(type(value), collections.defaultdict):
            self._guard("attribute", value, "default_factory", f"default of {what}", value.default_factory)

    def _module(self, module: types.ModuleType) -> None:
        self.reached[id(module)] = module
        scope = vars(module)
        name = str(scope.get("__name__"))
        self._guard("object", module, (type(module), None), f"module '{name}'")
        if type(module) is not types.ModuleType:
            self.walk(type(module), f"module '{name}'")
        is_ours, users = name.split(".")[0] == "halfstep", _is_of_users(name, scope)
        wanted = self._attributes | {"__getattr__"}
        if self._looks_up and not is_ours:
            wanted |= {each for each, value in scope.items() if (users and not each.startswith("__")) or type(value) in _PLAIN}
        for each in sorted(wanted & scope.keys()):
            is_seen = type(scope[each]) is types.BuiltinFunctionType and each not in self._taken  # its calls are judged
            (self._place if is_seen else self._guard)("dict", scope, each, f"{name}.{each}", scope[each])
        if users and (self._looks_up or "__getattr__" in scope):
            absent = self._attributes
        else:
            absent = self._stored | (self._constants if self._looks_up else set())
        for each in () if is_ours else sorted(absent - scope.keys()):
            self._guard("dict", scope, each, f"{name}.{each}")

    # classes and their objects

    def _class(self, cls: type) -> None:
        if not is_in_python(cls):
            check_class(cls)
            return
        what = f"class '{cls.__name__}'"
        self._guard("object", cls, (type(cls), None), what)
        if type(cls) is not type:
            self.walk(type(cls), what)
        self._each((each for each in cls.__mro__[1:] if each is not object), what)
        if issubclass(type(cls), enum.EnumMeta):
            self.walk(cls._member_map_, what)
        if issubclass(type(cls), abc.ABCMeta) and not self._registers:  # isinstance reads registered classes
            self._registers = True
            self._snapshot(cls, lambda _: abc.get_cache_token(), "classes registered with abc")
        found: dict[str, Any] = {}
        for each in reversed(cls.__mro__):
            found.update(vars(each))
        self._attributes.update(each for each in found.get("__match_args__", ()) if isinstance(each, str))
        if found.get("_is_protocol"):  # isinstance reads the names of a protocol.
            self._attributes.update(name for name in found if not name.startswith("_"))
        wanted = self._attributes | SPECIAL
        if self._looks_up:
            wanted |= {name for each in cls.__mro__ if is_in_python(each) for name in vars(each) if not name.startswith(("__", "_abc_"))}
        arrays = {name for name, value in found.items() if isinstance(value, _core.Array)}
        apart = wanted & (self._stored | arrays)  # may be written, or are inputs
        present = {name: found[name] for name in sorted(wanted & found.keys() - apart)}
        count = sum(len(vars(each)) for each in cls.__mro__) if self._looks_up else None
        self._guard("type", cls, (cls.__mro__, present, tuple(wanted - found.keys() - apart), count), what)
        for name, value in present.items():
            if type(value) not in _DESCRIPTORS:
                self.walk(value, f"{cls.__name__}.{name}")
        for each in cls.__mro__:
            for name in sorted(apart) if is_in_python(each) else ():
                self._guard("attribute", each, name, f"{each.__name__}.{name}", *((vars(each)[name],) if name in vars(each) else ()))
        for name in _NAMES:
            if name in self._attributes:
                self._guard("shown", cls, name, f"{what}.{name}", type.__getattribute__(cls, name))

    def _object(self, value: Any, what: str) -> None:
        cls = type(value)
        self.walk(cls, what)
        attributes = attributes_of(value)
        self._guard("object", value, (cls, attributes), f"class of {what}")
        everything = self._looks_up or is_foreign(cls)
        if attributes is not None:
            self._named(attributes, everything, what)
        slots = [name for each in cls.__mro__ for name in slots_of(each) if everything or name in self._attributes]
        for name in ["args", *slots] if issubclass(cls, BaseException) else slots:
            self._guard("attribute", value, name, f"{what}.{name}", *slot_of(value, name))

    def _named(self, attributes: dict[str, Any], everything: bool, what: str) -> None:
        """Guard the entries of an object's __dict__, and names that would be found there before the class."""
        self.before.append((attributes, dict(attributes)))
        for name in sorted(attributes.keys() if everything or self._looks_up else self._attributes & attributes.keys()):
            self._guard("dict", attributes, name, f"{what}.{name}", attributes[name])
        self._guard("keys", attributes, tuple(attributes), f"names of the attributes of {what}")

    def arguments(self, value: Any, what: str, depth: int = 0) -> None:
        """Guard lists, dicts and dataclasses among arguments. Each call has other objects, so their contents are
        compared with the arguments.
        """
        if type(value) is list or (isinstance(value, tuple) and depth < 100):
            for place, each in enumerate(value):
                self.arguments(each, f"{what}[{place}]", depth + 1)
            if type(value) not in (list, tuple):
                self.walk(type(value), what)
                if attributes_of(value):
                    raise NotGuarded(f"a {type(value).__name__} ({what}) with attributes, which are not checked; use a dataclass")
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
        else:
            self._array(value, what)


def _is_of_users(name: str, scope: dict[str, Any]) -> bool:
    """Return whether everything in a module may change."""
    if name.split(".")[0] == "halfstep":
        return False
    file = scope.get("__file__")
    return (is_users(file) if isinstance(file, str) else name not in sys.builtin_module_names) or knows_arrays(scope)


def contents_of(cell: types.CellType) -> tuple[Any, ...]:
    """Return the value of a variable in a closure as a tuple. It is empty if the variable has no value."""
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def slot_of(value: Any, name: str) -> tuple[Any, ...]:
    """Return the value of a slot as a tuple, without running code of its class. It is empty if there is no value."""
    try:
        return (object.__getattribute__(value, name),)
    except AttributeError:
        return ()


class Snapshot:
    """The visible content of a value that may change in place."""

    def __init__(self, value: Any, take: Callable[[Any], Any], *kept: Any) -> None:
        self._value, self._take, self._kept = value, take, kept

    def kept(self) -> Snapshot:
        return Snapshot(self._value, self._take, self._take(self._value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and bool(self._take(self._value) == other._kept[0])

    __hash__ = None  # type: ignore[assignment]


class Elements:
    """The bits of a NumPy array or of bytes, which may change in place."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def kept(self) -> Elements:
        self._key()
        return Elements(self.value.copy())

    def _key(self) -> tuple[Any, ...]:
        if isinstance(self.value, bytearray):
            return (bytes(self.value),)
        if self.value.dtype.hasobject:
            raise NotGuarded("a NumPy array of objects, which cannot be compared between calls")
        return str(self.value.dtype), self.value.shape, self.value.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Elements) and self._key() == other._key()

    __hash__ = None  # type: ignore[assignment]


def containers(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return the lists, dicts and dataclasses among arguments, in the order in which they are found."""
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
    """Return the list or dict that changes when a container does."""
    return vars(container) if _core.is_record(container) else container


def reads(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], is_strict: bool = True) -> Reads:
    """Collect the guards of a function. Found functions add names of attributes, so this repeats until there are no new
    ones.
    """
    known: Reads | None = None
    while True:
        found = Reads(known, is_strict)
        found.walk(sys.modules["halfstep"].array, "halfstep.array")  # Methods of arrays may be replaced.
        found.walk(function, getattr(function, "__name__", "the function"))
        for place, value in enumerate(args):
            found.arguments(value, "self" if place == 0 and hasattr(value, "__dict__") else f"argument {place}")
        for name, value in kwargs.items():
            found.arguments(value, f"argument '{name}'")
        if known is not None and found.found_names() == known.found_names():
            return found
        known = found
