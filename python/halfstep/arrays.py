"""Arrays with operators, indexing and gradients. Operations run immediately, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from halfstep import _core, ops
from halfstep.dtypes import (
    bfloat16,
    bool_,
    dtype_name,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    is_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from halfstep.switches import no_grad

Number = bool | int | float
_WHOLE = frozenset((int8, uint8, int16, uint16, int32, uint32, int64, uint64))
_WHOLE_OR_BOOL = _WHOLE | {bool_}
_REAL = frozenset((float32, float64, float16, bfloat16))


class array(_core.Array):
    """Elements of one type on a device, with optional gradients.

    array([[1, 2], [3, 4]], hs.float32) copies a NumPy array, a buffer or a tensor that supports DLPack. Python numbers
    become f32 or i64. Operators broadcast as in NumPy. A Python number takes the type of the other operand. A slice is
    a copy, so two arrays never share elements. Every operator of halfstep.ops takes and returns arrays.

    Args:
        values: Numbers, nested lists, or an array of any library listed above. An array of this class with the
            requested dtype is returned as it is.
        dtype: Element type. Default: that of `values`.
    """

    def __new__(cls, values: Any, dtype: Any = None) -> array:
        dtype = None if dtype is None else dtype_name(dtype)
        if isinstance(values, array):
            return values if dtype in (None, values.dtype) else values.astype(dtype)
        if isinstance(values, (bool, int, float, list, tuple)):
            values, dtype = _numbers(values, dtype)
        made: array = _core.array_from(values, dtype)
        return made

    def __init__(self, values: Any, dtype: Any = None) -> None:
        """Do nothing. __new__ makes the array."""

    @property
    def size(self) -> int:
        """Number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def T(self) -> array:
        """The array with its axes in reverse order, as a copy."""
        return self.transpose()

    def numpy(self) -> Any:
        """Return a copy of the elements as a NumPy array."""
        return self.elements()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        elements = self.elements()
        return elements if dtype is None else elements.astype(dtype)

    def __dlpack__(self, **settings: Any) -> Any:
        """Return a copy of the elements as a DLPack capsule."""
        return self.elements().__dlpack__(**settings)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def tolist(self) -> Any:
        """Return the elements as nested Python lists."""
        return self.elements().tolist()

    def item(self) -> Number:
        """Return the only element as a Python number.

        Raises:
            ValueError: The array does not have exactly one element.
        """
        if self.size != 1:
            raise ValueError(f"item: found {self.size} elements, expected one")
        value: Number = self.elements().reshape(-1)[0].item()
        return value

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __index__(self) -> int:
        if self.dtype not in _WHOLE:
            raise TypeError(f"array of {self.dtype} found where an integer is needed")
        return int(self.item())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d array")
        return self.shape[0]

    def __iter__(self) -> Iterator[array]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        if _core.is_in_region():
            return f"array({self.dtype}{list(self.shape)}, traced)"
        extra = ", requires_grad=True" if self.requires_grad else ""
        return f"array({self.tolist()}, {str(self.dtype)!r}{extra})"

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)

    __hash__ = object.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.elements(), str(self.dtype), self.requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> array:
        made = self.detach()
        made.requires_grad = self.requires_grad
        return made

    # devices and types

    @property
    def device(self) -> str:
        """Device of the elements: "cpu", "sim" or "cuda:0"."""
        return self.place

    def to(self, target: Any) -> array:
        """Return a copy on a device ("cpu", "sim", "cuda:0") or of another dtype (hs.float16)."""
        return self.astype(target) if is_dtype(target) else ops.transfer(self, to=target)

    def cpu(self) -> array:
        """Return a copy in the memory of the host."""
        return self.to("cpu")

    def sim(self) -> array:
        """Return a copy on the simulated device."""
        return self.to("sim")

    def cuda(self, index: int = 0) -> array:
        """Return a copy on the CUDA device with this index."""
        return self.to(f"cuda:{index}")

    def astype(self, dtype: Any) -> array:
        """Return a copy of another dtype: hs.float16, numpy.float16, torch.float16 or "f16"."""
        return ops.cast(self, to=dtype_name(dtype))

    def detach(self) -> array:
        """Return a copy that gradients do not pass through."""
        with no_grad():
            return ops.identity(self)

    # shapes

    def reshape(self, *dims: Any) -> array:
        """Return the elements with another shape.

        Args:
            *dims: The extents, or one list of them. -1 marks the one extent that follows from the others. None marks
                the dynamic dimension of a traced network.
        """
        dims = tuple(dims[0]) if len(dims) == 1 and isinstance(dims[0], (list, tuple)) else dims
        if None in dims and None in self.shape:
            at = dims.index(None)
            known = [0 if place == at else int(extent) for place, extent in enumerate(dims)]
            return ops.reshape_by(self, self, dims=known, at=at, axis=self.shape.index(None))
        return ops.reshape(self, dims=[int(extent) for extent in dims])

    def transpose(self, *axes: Any) -> array:
        """Permute the axes. Without arguments, reverse their order."""
        axes = tuple(axes[0]) if len(axes) == 1 and isinstance(axes[0], (list, tuple)) else axes
        return ops.transpose(self, perm=list(axes or reversed(range(self.ndim))))

    def flatten(self, axis: int = 0) -> array:
        """Join the axes from `axis` on. A dynamic dimension before them stays dynamic."""
        if None in self._extents:
            return self.reshape(*self._extents[:axis], -1)
        return ops.reshape(self, dims=[0] * axis + [-1])

    def expand(self, *dims: int) -> array:
        """Broadcast to these extents."""
        return ops.expand(self, dims=list(dims))

    # reductions over axes

    def sum(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> array:
        """Sum over axes.

        Args:
            axis: One axis, several, or None for all. Negative ones count from the last.
            keepdims: Whether the reduced axes stay, with extent 1.

        Raises:
            Error: An axis does not exist.
        """
        return ops.reduce_sum(self, axes=self._axes(axis), keep_dims=keepdims)

    def mean(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> array:
        """Mean over axes.

        Args:
            axis: One axis, several, or None for all. Negative ones count from the last.
            keepdims: Whether the reduced axes stay, with extent 1.

        Raises:
            Error: An axis does not exist.
        """
        return ops.reduce_mean(self, axes=self._axes(axis), keep_dims=keepdims)

    def max(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> array:
        """Maximum over axes.

        Args:
            axis: One axis, several, or None for all. Negative ones count from the last.
            keepdims: Whether the reduced axes stay, with extent 1.

        Raises:
            Error: An axis does not exist.
        """
        return ops.reduce_max(self, axes=self._axes(axis), keep_dims=keepdims)

    def min(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> array:
        """Minimum over axes.

        Args:
            axis: One axis, several, or None for all. Negative ones count from the last.
            keepdims: Whether the reduced axes stay, with extent 1.

        Raises:
            Error: An axis does not exist.
        """
        return ops.reduce_min(self, axes=self._axes(axis), keep_dims=keepdims)

    def argmax(self, axis: int = -1) -> array:
        """Index of the largest element along an axis, as i64. The first one of equals.

        Args:
            axis: The axis, which the result does not have. A negative one counts from the last.
        """
        return ops.arg_max(self, axis=from_first(axis, self), keep_dims=False)

    def _axes(self, axis: int | Sequence[int] | None) -> list[int]:
        if axis is None:
            return list(range(self.ndim))
        return [from_first(each, self) for each in ([axis] if isinstance(axis, int) else axis)]

    # elementwise functions

    def exp(self) -> array:
        """Elementwise e to the power x."""
        return ops.exp(self)

    def log(self) -> array:
        """Elementwise natural logarithm. NaN below zero."""
        return ops.log(self)

    def tanh(self) -> array:
        """Elementwise hyperbolic tangent."""
        return ops.tanh(self)

    def sigmoid(self) -> array:
        """Elementwise 1 / (1 + exp(-x))."""
        return ops.sigmoid(self)

    def relu(self) -> array:
        """Elementwise max(x, 0)."""
        return ops.relu(self)

    def sqrt(self) -> array:
        """Elementwise square root. NaN below zero."""
        return ops.sqrt(self)

    def clip(self, min: Number | None = None, max: Number | None = None) -> array:
        """Elementwise x, raised to at least `min` and then lowered to at most `max`. None is no limit."""
        low, high = (None if limit is None else filled((), limit, self.dtype) for limit in (min, max))
        return ops.clip(self, low, high)

    def __neg__(self) -> array:
        return ops.neg(self)

    def __abs__(self) -> array:
        return ops.abs(self)

    def __add__(self, other: Any) -> array:
        return binary(ops.add, self, other)

    def __radd__(self, other: Any) -> array:
        return binary(ops.add, other, self)

    def __sub__(self, other: Any) -> array:
        return binary(ops.sub, self, other)

    def __rsub__(self, other: Any) -> array:
        return binary(ops.sub, other, self)

    def __mul__(self, other: Any) -> array:
        return binary(ops.mul, self, other)

    def __rmul__(self, other: Any) -> array:
        return binary(ops.mul, other, self)

    def __truediv__(self, other: Any) -> array:
        return binary(ops.div, _real(self), other)

    def __rtruediv__(self, other: Any) -> array:
        return binary(ops.div, other, _real(self))

    def __mod__(self, other: Any) -> array:
        return binary(ops.modulo, self, other)

    def __pow__(self, other: Any) -> array:
        return binary(ops.power, self, other)

    def __rpow__(self, other: Any) -> array:
        return binary(ops.power, other, self)

    def __matmul__(self, other: Any) -> array:
        return matmul(self, other)

    def __rmatmul__(self, other: Any) -> array:
        return matmul(array(other), self)

    def __lt__(self, other: Any) -> array:
        return binary(ops.less, self, other)

    def __le__(self, other: Any) -> array:
        return binary(ops.less_or_equal, self, other)

    def __gt__(self, other: Any) -> array:
        return binary(ops.greater, self, other)

    def __ge__(self, other: Any) -> array:
        return binary(ops.greater_or_equal, self, other)

    def __eq__(self, other: object) -> array:  # type: ignore[override]
        return NotImplemented if other is None else binary(ops.equal, self, other)

    def __ne__(self, other: object) -> array:  # type: ignore[override]
        return NotImplemented if other is None else ops.logical_not(binary(ops.equal, self, other))

    def __and__(self, other: Any) -> array:
        return binary(ops.logical_and if self.dtype is bool_ else ops.bitwise_and, self, other)

    def __or__(self, other: Any) -> array:
        return binary(ops.logical_or if self.dtype is bool_ else ops.bitwise_or, self, other)

    def __xor__(self, other: Any) -> array:
        return binary(ops.logical_xor if self.dtype is bool_ else ops.bitwise_xor, self, other)

    def __invert__(self) -> array:
        return ops.logical_not(self) if self.dtype is bool_ else ops.bitwise_not(self)

    # In-place operators. Every reference to this array sees the assigned value.

    def _become(self, value: array) -> array:
        self.assign(value)
        return self

    def __iadd__(self, other: Any) -> array:
        return self._become(self + other)

    def __isub__(self, other: Any) -> array:
        return self._become(self - other)

    def __imul__(self, other: Any) -> array:
        return self._become(self * other)

    def __itruediv__(self, other: Any) -> array:
        return self._become(self / other)

    def __getitem__(self, key: Any) -> array:
        from halfstep.indexing import item

        return item(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        from halfstep.indexing import with_item

        self.assign(with_item(self, key, value))


_core.set_array_class(array)


def _unpickled(elements: Any, dtype: str, requires_grad: bool) -> array:
    made = array(elements, dtype)
    made.requires_grad = requires_grad
    return made


def _numbers(values: Any, dtype: str | None) -> tuple[Any, str | None]:
    """Return Python numbers, in lists or not, with their dtype: i64 for integers, else f32. Arrays among them are
    stacked.
    """
    import numpy

    if isinstance(values, (list, tuple)) and any(isinstance(value, array) for value in values):
        from halfstep.joining import stack

        return stack([array(value) for value in values]), dtype
    found = numpy.asarray(values)
    if found.dtype == numpy.float64:
        return found, dtype or "f32"
    if found.dtype == object:
        raise TypeError("array: found lists of unequal lengths, expected numbers in lists of one length")
    return found, dtype


def from_first(axis: int, of: array) -> int:
    """Return an axis counted from the first. The operator that takes it rejects one that does not exist."""
    return axis + of.ndim if -of.ndim <= axis < 0 else axis


def _real(value: array) -> array:
    return value.astype("f32") if value.dtype in _WHOLE_OR_BOOL else value


def binary(function: Callable[..., Any], a: Any, b: Any) -> array:
    """Apply `function`. Integers become floats if the other operand is float."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one, array) and one.dtype in _WHOLE_OR_BOOL:
            if isinstance(other, float) or (isinstance(other, array) and other.dtype in _REAL):
                made = one.astype(other.dtype if isinstance(other, array) else "f32")
                a, b = (made, b) if one is a else (a, made)
                break
    if isinstance(a, (bool, int, float)):
        a = filled((), a, b.dtype)
    elif not isinstance(a, array):
        a = array(a)
    result: array = function(a, b)
    return result


def matmul(a: array, b: array) -> array:
    """Multiply matrices as NumPy does. The last two axes are the matrices, and the others broadcast.

    Args:
        a: Matrices [..., m, k], or a vector [k], which is a row.
        b: Matrices [..., k, n], or a vector [k], which is a column.

    Returns:
        Products [..., m, n], without the axis of a vector.

    Raises:
        Error: The inner extents differ, or the others do not broadcast.
    """
    left = ops.unsqueeze(a, axes=[0]) if a.ndim == 1 else a
    right = ops.unsqueeze(b, axes=[1]) if b.ndim == 1 else b
    is_plain = left.ndim == right.ndim and left._extents[:-2] == right._extents[:-2]
    product = ops.matmul if is_plain or left.shape[:-2] == right.shape[:-2] else ops.matmul_broadcast
    result: array = product(left, right)
    gone = [-2] * (a.ndim == 1) + [-1] * (b.ndim == 1)
    return ops.squeeze(result, axes=gone) if gone else result


def filled(shape: Sequence[int], value: Number, dtype: str) -> array:
    made: array = _core.full(float(value), list(shape), dtype)
    return made
