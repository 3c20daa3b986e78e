"""Element types under the names of NumPy and PyTorch: hs.float32 is "f32"."""

from __future__ import annotations

from typing import Any


class dtype(str):
    """An element type: a string such as "f32" that equals its other names and the types of NumPy and PyTorch.

    There is one object of each type, so `x.dtype is hs.float32` holds. Write it on the left of a NumPy dtype, because
    NumPy reads "i8" as eight bytes.

    Example:
        x.dtype == hs.float32 == np.float32 == "float32"
    """

    def __new__(cls, name: str) -> dtype:
        return _OBJECTS.setdefault(name, super().__new__(cls, name))

    def __eq__(self, other: object) -> bool:
        return self is other or str.__eq__(self, _found(other) or "")

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __repr__(self) -> str:
        return f"halfstep.{_LONG.get(str(self), self)}"

    def __str__(self) -> str:
        return str.__str__(self)


_SHORT = {
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "bool": "bool",
    "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32", "uint32": "u32", "int64": "i64",
    "uint64": "u64", "int4": "i4", "uint4": "u4", "int2": "i2", "uint2": "u2",
}  # fmt: skip
_LONG = {short: name for name, short in _SHORT.items()}
_OBJECTS: dict[str, dtype] = {}

float32 = dtype("f32")
float64 = dtype("f64")
float16 = dtype("f16")
bfloat16 = dtype("bf16")
bool_ = dtype("bool")
int8 = dtype("i8")
uint8 = dtype("u8")
int16 = dtype("i16")
uint16 = dtype("u16")
int32 = dtype("i32")
uint32 = dtype("u32")
int64 = dtype("i64")
uint64 = dtype("u64")
int4 = dtype("i4")
uint4 = dtype("u4")
int2 = dtype("i2")
uint2 = dtype("u2")


def _found(given: Any) -> str | None:
    if isinstance(given, str):
        return _SHORT.get(given, given if given in _LONG else None)
    name = getattr(given, "__name__", None) or getattr(given, "name", None) or str(given).rpartition(".")[2]
    return _SHORT.get(name.removesuffix("_")) if isinstance(name, str) else None


def is_dtype(given: Any) -> bool:
    """Return whether this names an element type."""
    return _found(given) is not None


def dtype_name(given: Any) -> str:
    """Return "f32" for hs.float32, numpy.float32, numpy.dtype("float32"), torch.float32, "float32" and "f32".

    Any other text is returned as it is. The operator that takes it reports the error.
    """
    found = given if isinstance(given, str) and given not in _SHORT else _found(given)
    if found is None:
        raise TypeError(f"dtype: found {given!r}, expected one of {', '.join(_SHORT)}, of halfstep, NumPy or PyTorch")
    return found
