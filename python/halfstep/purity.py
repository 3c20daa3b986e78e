"""What no guard can look at: values that change when they are looked at, and what comes from outside of the program."""

from __future__ import annotations

import enum
import operator
import re
import types
from collections import _tuplegetter  # type: ignore[attr-defined]
from typing import Any



class NotGuarded(TypeError):
    """A value, or a function, on which a captured function may depend in ways that cannot be seen."""


_BUILTINS = frozenset(["input", "open", "eval", "exec", "globals", "__import__", "id", "breakpoint"])
_MODULES: dict[str, frozenset[str] | None] = {
    "random": None,
    "time": None,
    "secrets": None,
    "uuid": None,
    "socket": None,
    "subprocess": None,
    "logging": None,
    "tempfile": None,
    "io": None,
    "shutil": None,
    "numpy.random": None,
    "numpy": frozenset(["random"]),
    "os": frozenset(["environ", "getenv", "urandom", "getpid", "getcwd", "listdir", "scandir", "remove", "open", "system", "stat"]),
    "sys": frozenset(["stdout", "stderr", "stdin", "_getframe", "getrefcount"]),
    "datetime": frozenset(["now", "today", "utcnow"]),
    "pathlib": frozenset(["read_text", "read_bytes", "write_text", "write_bytes", "open", "exists", "iterdir", "glob", "unlink", "mkdir", "stat"]),
    "warnings": frozenset(["warn"]),
    "threading": frozenset(["current_thread", "get_ident", "local"]),
}
"""Modules of which every call may give something else or does something that is seen outside: all, or these names."""
_SAME_AS = {"_random": "random", "posix": "os", "_io": "io", "_thread": "threading", "nt": "os"}

_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made while Python runs
_LOCKS = ("lock", "RLock", "_RLock")
_FIXED = (
    type(None), bool, int, float, complex, str, bytes, range, slice, enum.Enum, types.BuiltinFunctionType, types.MethodWrapperType,
    types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType, types.GenericAlias, types.UnionType, types.CodeType, type(...), type(NotImplemented), re.Pattern,
    operator.itemgetter, operator.attrgetter, operator.methodcaller,
    _tuplegetter,
)  # fmt: skip


def is_fixed(value: Any) -> bool:
    """Whether it never changes: who holds the same one holds what it was."""
    if isinstance(value, _FIXED):
        return True
    cls = type(value)
    if cls.__module__ in ("datetime", "decimal"):
        return True
    if cls.__module__.split(".")[0] in ("numpy", "ml_dtypes"):  # dtypes, numbers, functions; an array can be written
        return not hasattr(value, "__setitem__")
    return cls.__module__ == "halfstep._core" and cls.__name__ == "Operator" or cls.__name__ in _LOCKS and cls.__module__ in ("_thread", "threading")


def _refuse(what: str, found: str) -> None:
    raise NotGuarded(f"{found} ({what}), which may give or do something else in each call; call it outside and pass what it gives")


def check_builtin(name: str, function: str) -> None:
    if name in _BUILTINS:
        _refuse(f"in '{function}'", f"{name}()")


def check_names(module: str, attributes: set[str]) -> None:
    """Of a module, or of a class in it, whose attributes are read."""
    names = _MODULES.get(module, frozenset())
    if names is None:
        _refuse("read by it", f"module '{module}'")
    elif not names.isdisjoint(attributes):
        _refuse("read by it", f"{module}.{sorted(names & attributes)[0]}")


def check_value(value: Any, what: str) -> None:
    """Raises NotGuarded for what cannot be looked at."""
    if isinstance(value, types.BuiltinFunctionType) and value.__name__ == "print":
        raise NotGuarded(f"print under another name ({what}), which is not seen; call print by its name")
    is_callable = isinstance(value, (types.FunctionType, types.BuiltinFunctionType))
    home = str(getattr(value, "__module__", None) or type(getattr(value, "__self__", None)).__module__) if is_callable else type(value).__module__
    home = _SAME_AS.get(home, home)
    if _MODULES.get(home, frozenset()) is None or home.startswith("numpy.random"):
        _refuse(what, f"{getattr(value, '__name__', type(value).__name__)} of module '{home}'")
    if is_callable and home in _MODULES and value.__name__ in (_MODULES[home] or ()):
        _refuse(what, f"{home}.{value.__name__}")
    if is_callable or is_fixed(value):
        return
    cls = type(value)
    if hasattr(cls, "__next__"):
        raise NotGuarded(f"a {cls.__name__} ({what}), which is used up while it is read; pass a list or a tuple")
    if not isinstance(value, (list, dict, set, tuple, frozenset, BaseException)) and not is_of_python(value):
        raise NotGuarded(f"a {cls.__name__} ({what}), whose state cannot be looked at; use lists, dicts and objects of Python")


def slots_of(cls: type) -> tuple[str, ...]:
    """Names of attributes that its objects have besides those in their __dict__."""
    slots = vars(cls).get("__slots__", ())
    return tuple(name for name in ((slots,) if isinstance(slots, str) else slots) if name not in ("__dict__", "__weakref__"))


def is_of_python(value: Any) -> bool:
    """Whether all of its state is in attributes."""
    return all(
        each.__flags__ & _HEAP_TYPE and (hasattr(value, "__dict__") or "__slots__" in vars(each)) for each in type(value).__mro__[:-1]
    )
