"""Decide which values guards can check, and which code may run while a function is captured."""

from __future__ import annotations

import functools
import operator
import os
import re
import sys
import types
from collections import _tuplegetter  # type: ignore[attr-defined]
from typing import Any

from halfstep.known import HEAP_TYPE, is_in_python, is_known_class, is_known_function, is_known_module, name_of, only_computes


class NotGuarded(TypeError):
    """A captured function may depend on this value or function in a way that guards cannot check."""


_FIXED = frozenset(
    [
        type(None), bool, int, float, complex, str, bytes, range, slice, type(...), type(NotImplemented), types.WrapperDescriptorType,
        types.MethodDescriptorType, types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType, types.GenericAlias,
        types.UnionType, types.CodeType, re.Pattern, operator.itemgetter, operator.attrgetter, operator.methodcaller, _tuplegetter,
    ]
)  # fmt: skip
_FIXED_NAMES = frozenset(["_thread.lock", "_thread.RLock", "threading._RLock", "halfstep._core.Operator", "numpy.ufunc", "numpy._ArrayFunctionDispatcher"])
_FIXED_NAMES |= {f"datetime.{name}" for name in ("date", "datetime", "time", "timedelta", "timezone")}
_SETTINGS = ("threads", "set_threads", "platforms")  # Functions of this package whose results change between calls.
_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_LAYERS = tuple(os.path.join(_PACKAGE, name) for name in ("modules.py", "basic_layers.py", "image_layers.py", "sequence_layers.py", "optim.py"))


def is_fixed(value: Any) -> bool:
    """Return whether a value never changes. The same object then always has the same value."""
    cls = type(value)
    if cls in _FIXED or f"{cls.__module__}.{cls.__qualname__}" in _FIXED_NAMES:
        return True
    if is_bound(value):
        return not is_held(value)
    if cls.__module__.startswith("nanobind") and not issubclass(cls, type):  # a function of this package
        return value.__name__ not in _SETTINGS
    is_numpys = cls.__module__.split(".")[0] in ("numpy", "ml_dtypes") and "numpy" in sys.modules
    return is_numpys and issubclass(cls, (sys.modules["numpy"].generic, sys.modules["numpy"].dtype)) and not value.dtype.hasobject and value.dtype.kind != "V"


def is_bound(value: Any) -> bool:
    """Return whether a value is a function in C, or a method of an object."""
    return type(value) in (types.BuiltinFunctionType, types.MethodWrapperType)


def is_held(method: Any) -> bool:
    """Return whether a method in C is bound to an object whose state may be read unseen. Calls of functions are seen.
    """
    owner = method.__self__
    if owner is None or isinstance(owner, (type, types.ModuleType)) or is_fixed(owner):
        return False
    return type(method) is types.MethodWrapperType or is_known_class(type(owner)) or is_in_python(type(owner))


@functools.cache
def _libraries() -> tuple[str, ...]:
    import sysconfig

    return tuple({os.path.realpath(path) + os.sep for name, path in sysconfig.get_paths().items() if name.endswith(("lib", "stdlib"))})


def is_ours(file: str) -> bool:
    """Return whether a file belongs to the package. Layers and optimizers count as user code, because users may change
    them.
    """
    return file.startswith(_PACKAGE + os.sep) and file not in _LAYERS


@functools.cache
def is_users(file: str) -> bool:
    """Return whether a file is user code, whose state may change from call to call. Code of libraries is not."""
    if is_ours(file) or file in _LAYERS:
        return file in _LAYERS
    return not os.path.realpath(file).startswith(_libraries()) and not file.startswith("<frozen")


def knows_arrays(scope: dict[str, Any]) -> bool:
    """Return whether a module of a library was written for arrays."""
    return any(value is sys.modules["halfstep"] or str(getattr(value, "__module__", "")).startswith("halfstep.") for value in list(scope.values()))


@functools.cache
def is_foreign(cls: type) -> bool:
    """Return whether methods outside user code may read attributes of the objects of this class."""
    return any(is_in_python(each) and not is_users(getattr(sys.modules.get(each.__module__), "__file__", None) or "") for each in cls.__mro__)


def attributes_of(value: Any) -> dict[str, Any] | None:
    """Return the __dict__ of a value, without running code of its class."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return found if type(found) is dict else None


def slots_of(cls: type) -> tuple[str, ...]:
    """Return the names of attributes that objects have besides those in their __dict__."""
    slots = vars(cls).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(f"_{cls.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name for name in names if name not in ("__dict__", "__weakref__"))


def is_of_python(value: Any) -> bool:
    """Return whether attributes hold all of the state of a value."""
    has_dict = attributes_of(value) is not None
    return all(each.__flags__ & HEAP_TYPE and (has_dict or "__slots__" in vars(each)) and is_in_python(each) for each in type(value).__mro__[:-1])


def check_class(cls: type) -> None:
    """Raise NotGuarded for a class in C whose objects may have hidden state."""
    if not is_known_class(cls):
        raise NotGuarded(f"class {cls.__module__}.{cls.__qualname__}, whose objects may have hidden state; create them outside and pass numbers")


def check_function(value: Any, what: str) -> None:
    """Raise NotGuarded for an unknown function in C, which other C code may call unseen."""
    if type(value) is types.BuiltinFunctionType and not is_known_function(value):
        raise NotGuarded(f"{name_of(value)} ({what}), which may behave differently in each call; call it outside and pass its result")


def check_value(value: Any, what: str) -> None:
    """Raise NotGuarded for a value that guards cannot check."""
    cls = type(value)
    if hasattr(cls, "__next__"):
        raise NotGuarded(f"a {cls.__name__} ({what}), which can be read only once; pass a list or a tuple")
    is_plain = issubclass(cls, (bool, int, float, complex, str, bytes, list, dict, set, tuple, frozenset, BaseException, types.SimpleNamespace))
    if not is_plain and cls is not object and not is_of_python(value):
        raise NotGuarded(f"a {cls.__name__} ({what}), whose state cannot be checked; use lists, dicts and Python objects")


class Judge:
    """Decide whether a function may be called during a capture. It may if it is known, or if it is user code that was
    found before, so that guards check the values it reads.
    """

    def __init__(self, codes: dict[int, types.CodeType]) -> None:
        self._codes = codes
        self.imports = ""
        """Name of a module that was imported. The code of a module runs once."""

    def __call__(self, frame: types.FrameType, function: Any, is_of_known: bool) -> str | bool | None:
        """Judge a call.

        Returns:
            None: check the calls that it makes. True: all calls that it makes are known. False: like True, but only if
                known code calls it. A text: the reason why the call is not allowed.
        """
        if function is not None:
            return None if is_known_function(function) else _why(f"a call of {name_of(function)}", frame)
        code = frame.f_code
        if id(code) in self._codes:
            return None
        module = str(frame.f_globals.get("__name__", ""))
        if code.co_filename.startswith(_PACKAGE + os.sep) and only_computes(code.co_filename):
            return True
        if is_known_module(module) and not is_users(code.co_filename) or module.startswith("namedtuple_") and code.co_filename == "<string>":
            return True
        if module.startswith("importlib._bootstrap"):
            if code.co_name == "_find_and_load" and not is_of_known:  # The module is not loaded yet.
                self.imports = self.imports or str(frame.f_locals.get("name"))
            return True
        if is_of_known and not is_users(code.co_filename):
            return False
        return None if self.imports else _why(f"a call of {module}.{getattr(code, 'co_qualname', code.co_name)}", frame.f_back or frame)


def _why(found: str, frame: types.FrameType) -> str:
    where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    return f"{found} ({where}), which may behave differently in each call; call it outside and pass its result"
