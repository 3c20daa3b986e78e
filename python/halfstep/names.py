"""Names that occur in code: globals, attributes and modules."""

from __future__ import annotations

import functools
import re
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

_LOOKED_UP = frozenset(
    [
        "getattr", "setattr", "hasattr", "delattr", "vars", "dir", "__dict__", "AttributeError", "attrgetter", "methodcaller", "__getattribute__",
        "__setattr__", "__delattr__", "asdict", "astuple", "fields", "get_type_hints",
    ]
)  # fmt: skip
"""Code with one of these names may read attributes whose names do not occur in it, or that do not exist."""
SPECIAL = frozenset(
    f"__{name}__"
    for name in (
        "abs add aenter aexit aiter and anext await bool bytes call ceil complex contains copy deepcopy delattr delete delitem dir divmod "
        "enter eq exit float floor floordiv format ge get getattr getattribute getitem gt hash iadd iand ifloordiv ilshift imatmul imod "
        "imul index init init_subclass instancecheck int invert ior ipow irshift isub iter itruediv ixor le len length_hint lshift lt "
        "matmul missing mod mul ne neg new next or pos post_init pow radd rand rdivmod reduce reduce_ex repr reversed rfloordiv rlshift rmatmul "
        "rmod rmul ror round rpow rrshift rshift rsub rtruediv rxor set set_name setattr setitem setstate getstate str sub subclasscheck truediv trunc xor "
        "match_args class_getitem del prepare mro_entries replace subclasshook fspath"
    ).split()
)
"""Methods that Python calls without their names."""

_GUARDED = "class dict name qualname doc module code defaults kwdefaults self func bases base mro basicsize itemsize flags dictoffset weakrefoffset".split()
SHOWN = frozenset(
    name
    for cls in (
        types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.ModuleType, types.FrameType, types.TracebackType, types.CellType,
        types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType, type,
    )
    for name, each in vars(cls).items()
    if isinstance(each, (types.GetSetDescriptorType, types.MemberDescriptorType)) and name.strip("_") not in _GUARDED
)  # fmt: skip
"""Attributes through which interpreter objects lead to others, such as the globals of a function. No guard checks them.
"""


class Names(NamedTuple):
    """Names that occur in the code of a function and of the functions inside it."""

    globals_: frozenset[str]
    imports: frozenset[str]
    attributes: frozenset[str]
    constants: frozenset[str]
    """Strings that may be names: part of `attributes`."""
    taken: frozenset[str]
    """Attributes that are not called where they are read. Other code gets them and may call them unseen."""
    stored: frozenset[str]
    looks_up: bool


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_in(constant)


def _texts(constant: Any) -> Iterator[str]:
    if isinstance(constant, str):
        if "{" in constant:  # "{0.a}".format() reads attributes
            yield from re.findall(r"[^\W\d]\w*", constant)
        yield from (part for part in constant.split(".") if part.isidentifier())  # attrgetter("a.b") does too
    elif isinstance(constant, (tuple, frozenset)):
        for each in constant:
            yield from _texts(each)


def _is_called(instructions: list[Any], place: int) -> bool:
    """Return whether the loaded value is called next: it is a method, or the NULL of a call is next to it."""
    if sys.version_info >= (3, 12) and instructions[place].arg & 1:
        return True
    root = next(each for each in range(place, -1, -1) if instructions[each].opname != "LOAD_ATTR")
    is_null = sys.version_info >= (3, 11) and instructions[root].opname == "LOAD_GLOBAL" and bool(instructions[root].arg & 1)
    return is_null or "PUSH_NULL" in (instructions[max(root - 1, 0)].opname, instructions[min(place + 1, len(instructions) - 1)].opname)


@functools.cache
def names_in(code: types.CodeType) -> Names:
    import dis

    globals_: set[str] = set()
    imports: set[str] = set()
    attributes: set[str] = set()
    constants: set[str] = set()
    taken: set[str] = set()
    stored: set[str] = set()
    for each in codes_in(code):
        attributes.update(each.co_names)
        for constant in each.co_consts:
            constants.update(_texts(constant))
        instructions = [one for one in dis.get_instructions(each) if one.opname != "CACHE"]
        for place, instruction in enumerate(instructions):
            if "GLOBAL" in instruction.opname or instruction.opname == "LOAD_NAME":
                globals_.add(str(instruction.argval))
            elif instruction.opname == "IMPORT_NAME":
                imports.add(str(instruction.argval))
            elif instruction.opname in ("LOAD_ATTR", "IMPORT_FROM") and not _is_called(instructions, place):
                taken.add(str(instruction.argval))
            elif instruction.opname in ("STORE_ATTR", "DELETE_ATTR"):
                stored.add(str(instruction.argval))
    attributes |= constants
    looks_up = not _LOOKED_UP.isdisjoint(attributes)
    return Names(frozenset(globals_), frozenset(imports), frozenset(attributes), frozenset(constants), frozenset(taken), frozenset(stored), looks_up)


def modules_named(name: str, scope: dict[str, Any]) -> Iterator[str]:
    """Yield modules that an import in this scope may find: the name itself, its packages, and names relative to the
    scope.
    """
    package = str(scope.get("__package__") or "")
    for base in ["", *(package.rsplit(".", depth)[0] for depth in range(package.count(".") + 1) if package)]:
        parts = [part for part in (*base.split("."), *name.split(".")) if part]
        for count in range(1, len(parts) + 1):
            if ".".join(parts[:count]) in sys.modules:
                yield ".".join(parts[:count])
