"""Elements and slices of arrays by index, with NumPy's notation."""

from __future__ import annotations

from typing import Any

from halfstep import ops
from halfstep.arrays import array
from halfstep.creation import full
from halfstep.joining import where


def _keys(x: array, key: Any) -> list[Any]:
    """Return one key for each axis of x, and None for each new axis."""
    keys = list(key) if isinstance(key, tuple) else [key]
    count = sum(1 for each in keys if each is not None and each is not Ellipsis)
    if count > x.ndim:
        raise IndexError(f"index: found {count} indices, expected at most {x.ndim}, as {list(x.shape)} has axes")
    rest = [slice(None)] * (x.ndim - count)
    for place, each in enumerate(keys):
        if each is Ellipsis:
            return keys[:place] + rest + keys[place + 1 :]
    return keys + rest


_END = 2**63 - 1


def _place(index: int, x: array, axis: int) -> int:
    """Return the index if it is valid for the axis. If it is not, a captured function depends on the extent."""
    extent = x._extents[axis]
    if extent is None:
        raise TypeError(f"index: found {index} for axis {axis}, whose extent is dynamic while a network is traced, expected all of it")
    if not -extent <= index < extent:
        raise IndexError(f"index {index} of axis {axis}, which has {x.shape[axis]}")
    return index


def _is_array(key: Any) -> bool:
    return isinstance(key, (array, list)) or hasattr(key, "__array__")


def _bounds(key: slice, x: array, axis: int) -> tuple[int, int, int]:
    """Return the start, end and step of a slice in the form that the operator takes."""
    if x._extents[axis] is None:
        raise TypeError(f"index: found a slice of axis {axis}, whose extent is dynamic while a network is traced, expected all of it")
    step = 1 if key.step is None else key.step.__index__()
    if step == 0:
        raise ValueError("index: found a slice of step 0, expected another")
    start = (0 if step > 0 else _END) if key.start is None else key.start.__index__()
    stop = (_END if step > 0 else -_END) if key.stop is None else key.stop.__index__()
    if step < 0 and start < -1 and start < -x.shape[axis]:
        return 0, 0, step  # empty; the operator would begin at the first element
    return start, stop, step


def item(x: array, key: Any) -> array:
    """Return x[key]. The key may hold integers, slices, None, ... and one array or list of integers."""
    if _is_array(key) and array(key).dtype == "bool":
        raise TypeError("index: found a mask, whose result has as many elements as are true; expected where(mask, a, b)")
    starts, ends, axes, steps = [], [], [], []
    gone, new = [], []  # axes of x, axes of the result
    gathered: list[tuple[int, array]] = []
    axis = place = 0  # position in x, position in the result
    for each in _keys(x, key):
        if each is None:
            new.append(place)
            place += 1
            continue
        if isinstance(each, slice):
            if each != slice(None):
                bounds = _bounds(each, x, axis)
                axes.append(axis)
                for values, value in zip((starts, ends, steps), bounds):
                    values.append(value)
            place += 1
        elif _is_array(each):
            indices = array(each)
            gathered.append((axis - len(gone), indices if indices.dtype == "i64" else indices.astype("i64")))
            place += indices.ndim
        else:
            index = _place(each.__index__(), x, axis)
            axes.append(axis)
            starts.append(index)
            ends.append(index + 1 or _END)
            steps.append(1)
            gone.append(axis)
        axis += 1
    if len(gathered) > 1:
        raise TypeError(f"index: found {len(gathered)} arrays of indices, expected one")
    out = ops.slice(x, starts=starts, ends=ends, axes=axes, steps=steps) if axes else x
    if gone:
        out = ops.squeeze(out, axes=gone)
    for at, indices in gathered:
        out = ops.gather(out, indices, axis=at)
    if new:
        out = ops.unsqueeze(out, axes=new)
    return ops.identity(x) if out is x else out


def with_item(x: array, key: Any, value: Any) -> array:
    """Return x with `value` at x[key]. The key holds integers and slices of step 1, or is a mask."""
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
            raise TypeError("index: found None or an array in an assignment, expected integers and slices, or a mask")
        else:
            start = _place(each.__index__(), x, axis) % extent
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
