"""Known functions, classes and modules: they depend only on their arguments and on guarded values, and change nothing
else. A call of anything else ends the capture. A missing name costs speed. A wrong name causes wrong results.
"""

from __future__ import annotations

import os
import sys
import types
from typing import Any

HEAP_TYPE, _IMMUTABLE_TYPE = 1 << 9, 1 << 8  # Py_TPFLAGS_HEAPTYPE: made while Python runs; Py_TPFLAGS_IMMUTABLETYPE
_FUNCTIONS: dict[str, str] = {
    "builtins": "abs aiter all anext any ascii bin callable chr delattr dir divmod format getattr hasattr hash hex isinstance issubclass "
    "iter len locals max min next oct ord pow repr round setattr sorted sum vars __build_class__",
    "sys": "exc_info exception intern",
    "_abc": "_abc_init _abc_instancecheck _abc_subclasscheck get_cache_token",
    "_functools": "reduce cmp_to_key",
    "_collections": "_count_elements",
    "_struct": "calcsize pack pack_into unpack unpack_from iter_unpack",
    "numpy": "array asarray asanyarray ascontiguousarray asfortranarray arange zeros frombuffer fromiter concatenate count_nonzero "
    "correlate dot inner vdot where lexsort bincount digitize interp can_cast result_type promote_types copyto putmask ravel_multi_index "
    "unravel_index packbits unpackbits shares_memory may_share_memory normalize_axis_index c_einsum",
}
"""Known functions written in C, by module."""
_WHOLE = frozenset(["math", "cmath", "_operator", "_heapq", "_bisect", "binascii", "zlib", "unicodedata", "_string", "_statistics"])
"""Modules in C whose functions are all known."""
_SAME_AS = {"numpy._core._multiarray_umath": "numpy", "numpy.core._multiarray_umath": "numpy", "numpy._core.multiarray": "numpy", "numpy.core.multiarray": "numpy"}

_METHODS: dict[str, str] = {
    "builtins.type": "__subclasses__",
    "numpy.ndarray": "tofile dump setflags",
    "datetime.datetime": "now today utcnow fromtimestamp utcfromtimestamp timestamp astimezone strftime",
    "datetime.date": "today fromtimestamp strftime",
    "datetime.time": "strftime",
}
"""Unknown methods of known classes written in C."""
_CLASSES = frozenset(["builtins", "itertools", "collections", "functools", "operator", "types", "datetime", "re", "numpy", "_thread", "_abc", "_sre"])
"""Modules of known classes. Their objects have only the state that they were given."""
_STRANGE = frozenset(["builtins.frame", "builtins.traceback", "_thread._local", "numpy.memmap"])

_MODULES = frozenset(
    [
        "abc", "bisect", "collections", "_collections_abc", "contextlib", "copy", "copyreg", "dataclasses", "enum", "fractions", "functools",
        "heapq", "keyword", "numbers", "operator", "re", "re._casefix", "re._compiler", "re._constants", "re._parser", "reprlib", "statistics",
        "string", "textwrap", "types", "typing", "typing_extensions", "ml_dtypes", "numpy",
        *(f"numpy.core.{name}" for name in ("einsumfunc", "fromnumeric", "function_base", "getlimits", "methods", "multiarray", "numeric", "numerictypes", "overrides", "shape_base")),
        *(
            f"numpy.lib.{name}" for name in (
                "array_utils", "arraypad", "arraysetops", "function_base", "histograms", "index_tricks", "nanfunctions", "polynomial",
                "shape_base", "stride_tricks", "twodim_base", "type_check", "ufunclike",
            )
        ),
        "numpy.linalg.linalg", "numpy.fft.pocketfft", "numpy.fft.helper",
    ]
)  # fmt: skip
"""Known modules in Python. Functions that they call count as theirs."""

_OURS = frozenset(
    [
        "__init__", "arrays", "basic_layers", "calls", "creation", "differentiation", "dtypes", "functions", "image_layers", "indexing", "jit", "joining", "losses",
        "modules", "ops", "optim", "printing", "purity", "reads", "rebuilding", "renamed", "sequence_layers", "switches",
    ]
)  # fmt: skip
"""Modules of the package that compute with arrays, and read and write no files."""


def is_known_module(name: str) -> bool:
    """Return whether a module of a library is known. NumPy's modules had other names in earlier versions."""
    if name.startswith("numpy."):
        name = name.replace("._", ".").removesuffix("_impl")
    return name in _MODULES


def only_computes(file: str) -> bool:
    """Return whether a file of the package only computes with arrays."""
    return os.path.basename(file).removesuffix(".py") in _OURS


def _home(value: Any) -> str:
    home = str(getattr(value, "__module__", None) or "")
    return _SAME_AS.get(home, home)


def name_of(function: Any) -> str:
    """Return the name of a function in C."""
    owner = function.__self__
    if owner is None or isinstance(owner, types.ModuleType):
        return f"{_home(function) or getattr(owner, '__name__', '')}.{function.__name__}"
    cls = owner if isinstance(owner, type) else type(owner)
    return f"{cls.__module__}.{cls.__qualname__}.{function.__name__}"


def is_in_python(cls: type) -> bool:
    """Return whether a class is written in Python, not in C."""
    if not cls.__flags__ & HEAP_TYPE or cls.__flags__ & _IMMUTABLE_TYPE:
        return False
    if "__dict__" in vars(cls) or "__slots__" in vars(cls):
        return True
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return cls.__module__ not in sys.builtin_module_names and not str(file).endswith((".so", ".pyd"))


def is_known_class(cls: type) -> bool:
    """Return whether objects of a class in C have no hidden state: guards can read all of it once they exist."""
    name = f"{cls.__module__}.{cls.__qualname__}"
    if issubclass(cls, BaseException):
        return True
    return name not in _STRANGE and (cls.__module__ in _CLASSES or cls.__module__.startswith(("halfstep", "nanobind", "ml_dtypes")) or name in ("_operator.itemgetter", "_operator.attrgetter"))


def is_known_function(function: Any) -> bool:
    """Return whether a function in C is known. It belongs to a module, or is a method of an object or a class."""
    owner, name = function.__self__, function.__name__
    if owner is None or isinstance(owner, types.ModuleType):
        home = _home(function) or getattr(owner, "__name__", "")
        return home in _WHOLE or name in _FUNCTIONS.get(home, "").split()
    for cls in (owner if isinstance(owner, type) else type(owner)).__mro__:
        if name in vars(cls) and not is_in_python(cls):
            return is_known_class(cls) and name not in _METHODS.get(f"{cls.__module__}.{cls.__qualname__}", "").split()
    return False
