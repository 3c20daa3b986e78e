"""With HALFSTEP_CAPTURE=1, operators on NumPy arrays run as programs of captured functions in all tests."""

import functools

import numpy as np

import halfstep as hs

LEAST = 0.95  # minimum share of calls
counts = {"captured": 0, "others": 0}
functions = {}


def arrays_of(value):
    if isinstance(value, np.ndarray):
        return hs.array(value)
    return type(value)(map(arrays_of, value)) if isinstance(value, (list, tuple)) else value


def numpy_of(result):
    if isinstance(result, hs.Results):
        return result.with_items(tuple(map(numpy_of, result)))
    return result.numpy() if isinstance(result, hs.array) else result


def kind(value):
    if isinstance(value, hs.array):
        return value.dtype, value.shape
    return tuple(map(kind, value)) if isinstance(value, (list, tuple)) else repr(value)


def tensors_of(value):
    if isinstance(value, (list, tuple)):
        return [each for part in value for each in tensors_of(part)]
    return [value] if hasattr(value, "__dlpack__") else []


def through_programs(operator):
    @functools.wraps(operator)
    def call(*args, **kwargs):
        if hs._core.is_tracing():  # counts as a function of the package, unlike those below
            return operator(*args, **kwargs)
        tensors = tensors_of((*args, *kwargs.values()))
        if not tensors or not all(isinstance(each, np.ndarray) for each in tensors):
            return operator(*args, **kwargs)
        try:
            args_, kwargs_ = arrays_of(args), {name: arrays_of(value) for name, value in kwargs.items()}
            key = operator.__name__, kind(args_), tuple((name, kind(value)) for name, value in kwargs_.items())
            if key not in functions:
                functions[key] = hs.jit(operator)
                functions[key](*args_, **kwargs_)
            function = functions[key]
            served = sum(each.calls for each in function.programs)
            result = function(*args_, **kwargs_)
            is_captured = sum(each.calls for each in function.programs) == served + 1 and not function._eager
        except Exception:
            result = operator(*args, **kwargs)  # If this raises, the call is wrong and not counted.
            counts["others"] += 1
            return result
        counts["captured" if is_captured else "others"] += 1
        return numpy_of(result)

    call.__code__ = call.__code__.replace(co_filename=hs.ops.__file__)  # Messages name the caller's lines.
    return call


for name in hs.ops.__all__:
    setattr(hs.ops, name, through_programs(getattr(hs.ops, name)))


def share():
    return counts["captured"] / max(1, sum(counts.values()))


def pytest_terminal_summary(terminalreporter):
    total = sum(counts.values())
    terminalreporter.write_line(f"captured: {counts['captured']} of {total} calls of operators ({100 * share():.1f} %, at least {100 * LEAST:.0f} %)")


def pytest_sessionfinish(session, exitstatus):
    if exitstatus == 0 and counts["captured"] + counts["others"] > 0 and share() < LEAST:
        session.exitstatus = 1
