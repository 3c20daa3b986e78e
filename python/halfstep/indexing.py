"""Elements and parts of arrays by index, as NumPy writes it."""

from __future__ import annotations

from typing import Any

from halfstep import ops
from halfstep.arrays import array, full, where


def _keys(x: array, key: Any) -> list[Any]:
    """One for each axis of x, and None for each new one."""
    keys = list(key) if isinstance(key, tuple) else [key]
    count = sum(1 for each in keys if each is not None and each is not Ellipsis)
    if count > x.ndim:
        raise IndexError(f"index: found {count} indices, expected at most {x.ndim}, as {list(x.shape)} has axes")
    rest = [slice(None)] * (x.ndim - count)
    for place, each in enumerate(keys):
        if each is Ellipsis:
            return keys[:place] + rest + keys[place + 1 :]
    return keys + rest


def _place(index: int, extent: int, axis: int) -> int:
    if not -extent <= index < extent:
        raise IndexError(f"index {index} of axis {axis}, which has {extent}")
    return index % extent


def _is_array(key: Any) -> bool:
    return isinstance(key, (array, list)) or hasattr(key, "__array__")


def item(x: array, key: Any) -> array:
    """x[key]: whole numbers, slices, None, ... and one array or list of whole numbers."""
    if _is_array(key) and array(key).dtype == "bool":
        raise TypeError("index: found a mask, whose result has as many elements as are true; expected where(mask, a, b)")
    axis, dims, out = 0, list(x.shape), x
    starts, ends, axes, steps, gathered = [], [], [], [], []
    shape: list[int | None] = []
    for each in _keys(x, key):
        if each is None:
            shape.append(1)
            continue
        if isinstance(each, slice) and dims[axis] is None:
            if each != slice(None):
                raise TypeError(f"index: found a slice of axis {axis}, whose extent is open while a network is traced, expected all of it")
            shape.append(None)
        elif isinstance(each, slice):
            start, stop, step = each.indices(dims[axis])
            count = len(range(start, stop, step))
            if (start, stop, step) != (0, dims[axis], 1):
                starts.append(start)
                ends.append(stop if stop >= 0 else -dims[axis] - 1)
                axes.append(axis)
                steps.append(step)
            shape.append(count)
        elif _is_array(each):
            indices = array(each)
            gathered.append((axis, len(shape), indices))
            shape.append(-1)
        else:
            index = _place(each.__index__(), dims[axis], axis)
            starts.append(index)
            ends.append(index + 1)
            axes.append(axis)
            steps.append(1)
        axis += 1
    if len(gathered) > 1:
        raise TypeError(f"index: found {len(gathered)} arrays of indices, expected one")
    if axes:
        out = ops.slice(out, starts=starts, ends=ends, axes=axes, steps=steps)
    for at, place, indices in gathered:
        indices = indices.astype("i64") if indices.dtype != "i64" else indices
        out = ops.gather(out, indices, axis=at)
        shape[place : place + 1] = list(indices.shape)
    return out if tuple(shape) == out.shape else out.reshape(*shape)


def with_item(x: array, key: Any, value: Any) -> array:
    """x with `value` at x[key]: whole numbers, slices of step 1, or a mask."""
    if isinstance(key, array) and key.dtype == "bool":
        return where(key, value, x)
    pads_before, pads_after, extents = [], [], []
    for axis, each in enumerate(_keys(x, key)):
        extent = x.shape[axis]
        if isinstance(each, slice):
            start, stop, step = each.indices(extent)
            if step != 1:
                raise TypeError(f"index: found step {step} in an assignment, expected 1")
        elif each is None or _is_array(each):
            raise TypeError("index: found None or an array in an assignment, expected whole numbers and slices, or a mask")
        else:
            start = _place(each.__index__(), extent, axis)
            stop = start + 1
        stop = max(stop, start)
        pads_before.append(start)
        pads_after.append(extent - stop)
        extents.append(stop - start)
    part = value if isinstance(value, array) else array(value, x.dtype)
    dims = [extent for extent, each in zip(extents, _keys(x, key)) if isinstance(each, slice)]
    part = ops.expand(part.astype(x.dtype) if part.dtype != x.dtype else part, dims=dims).reshape(*extents)
    pads = pads_before + pads_after
    mask = ops.pad(full(extents, 1, "bool"), full((), 0, "bool"), pads=pads)
    return where(mask, ops.pad(part, full((), 0, x.dtype), pads=pads), x)
