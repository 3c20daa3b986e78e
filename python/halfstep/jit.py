"""Captured functions: Python that becomes programs as it runs."""

from __future__ import annotations

import builtins
import contextlib
import functools
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from halfstep import _core
from halfstep.rebuilding import Arrays, Make, NotRebuilt, changes, taken_apart
from halfstep.reads import reads


@dataclass
class Programs:
    """What was captured of a function for calls of one kind."""

    inputs: list[str]
    """Types of the arrays that go in: arguments, then those found outside of them."""
    guards: list[str]
    """What else has to be as it was."""
    training: bool
    device: str
    calls: int
    """How many calls it served."""
    programs: int
    """One, and one more for each outcome of each decision that was met."""
    text: str = field(repr=False)
    """The programs in text form."""


@dataclass
class _Outcome:
    """What a way through a function gives and does besides arrays."""

    result: Make
    changes: list[Callable[[Arrays], None]]


class Captured:
    """A function whose calls run what was captured of it: see jit."""

    def __init__(self, function: Callable[..., Any], full_graph: bool, cache: int) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._name = getattr(function, "__qualname__", repr(function))
        self._full_graph = full_graph
        self._outcomes: dict[int, list[_Outcome]] = {}
        self._effects: dict[int, list[Callable[[Arrays], None]]] = {}
        self._lock = threading.RLock()
        self._eager = ""
        self._cache = cache
        self._core = self._new_core()
        self.why_recaptured: list[str] = []
        """For each call that no program fitted, in order: what was found, and what was expected."""

    def _new_core(self) -> Any:
        return _core.CapturedFunction(self._function, self._capture, self._finish, self._show, self._cache)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._eager:
            return self._function(*args, **kwargs)
        return self._core(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<captured function {self._name}: {len(self.programs)} kinds of calls>"

    @property
    def programs(self) -> list[Programs]:
        """The last that ran first."""
        return [Programs(**{name: value for name, value in each.items() if name != "number"}) for each in self._core.describe()]

    def clear(self) -> None:
        """Forgets everything that was captured."""
        with self._lock:
            self._core = self._new_core()
            self._outcomes.clear()
            self._effects.clear()
            self._eager = ""

    def _capture(self, args: Any, kwargs: dict[str, Any], number: int, shown: int, reason: str) -> Any:
        """Runs the function and keeps what it does; `shown` effects of it took place already."""
        with self._lock:
            if reason == "too many outcomes":
                return self._give_up(f"a decision in it has more than {_core.most_outcomes()} outcomes", args, kwargs)
            if reason:
                self.why_recaptured.append(reason)
            found = reads(self._function, args, kwargs)
            is_new = number < 0
            if is_new:
                number = self._core.begin(args, kwargs, found.guards)
                self._outcomes[number], self._effects[number] = [], []
            try:
                return self._trace(args, kwargs, number, shown, found)
            except BaseException:
                if is_new:
                    self._core.forget(number)
                raise

    def _trace(self, args: Any, kwargs: dict[str, Any], number: int, shown: int, found: Any) -> Any:
        inputs = self._core.inputs(number, args, kwargs)
        effects = self._effects[number]
        tracing = _core.trace_begin(f"captured function '{self._name}'", inputs, self._full_graph)
        try:
            with _printing(effects, shown):
                result = self._function(*args, **kwargs)
            arrays: Arrays = []
            there = dict(found.reached)
            for value in (*args, *kwargs.values()):
                there[id(value)] = value
            try:
                outcome = _Outcome(taken_apart(result, arrays, there), changes(found.guards, arrays, there))
            except NotRebuilt as problem:
                if self._full_graph:
                    raise TypeError(f"captured function '{self._name}': found {problem}") from None
                self._core.forget(number)
                return self._give_up(f"found {problem}", args, kwargs, result)
        finally:
            tracing.leave()
        is_simple = isinstance(result, _core.Array) and not outcome.changes
        if self._core.end(number, tracing.trace, inputs, arrays, is_simple):
            self._outcomes[number].append(outcome)
        return result

    def _give_up(self, reason: str, args: Any, kwargs: dict[str, Any], *result: Any) -> Any:
        """From here on it runs step by step."""
        self._eager = reason
        code = getattr(self._function, "__code__", None)
        where = f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""
        warnings.warn(f"captured function '{self._name}'{where} runs step by step from here on: {reason}", stacklevel=4)
        return result[0] if result else self._function(*args, **kwargs)

    def _finish(self, number: int, tag: int, arrays: Arrays) -> Any:
        outcome = self._outcomes[number][tag]
        result = outcome.result(arrays)
        for change in outcome.changes:
            change(arrays)
        return result

    def _show(self, number: int, effect: int, arrays: Arrays) -> None:
        self._effects[number][effect](arrays)


_print_lock = threading.Lock()
_prints = 0
_print = builtins.print
_recorder = threading.local()


def _recorded_print(*values: Any, **settings: Any) -> None:
    effects = getattr(_recorder, "effects", None)
    if effects is None or not _core.is_tracing():
        _print(*values, **settings)
        return
    if _core.is_in_region():
        raise _core.Error("print: found in a region that is traced, expected outside of it; give what is to be printed as a result")
    arrays: Arrays = []
    make = taken_apart((values, settings), arrays, {id(value): value for value in settings.values()})

    def show(given: Arrays) -> None:
        now, how = make(given)
        _print(*now, **how)

    _core.note_effect(len(effects), arrays)
    effects.append(show)
    if _recorder.shown > 0:
        _recorder.shown -= 1
    else:
        _core.untraced(lambda: show(arrays))


@contextlib.contextmanager
def _printing(effects: list[Callable[[Arrays], None]], shown: int) -> Iterator[None]:
    """Within it what this thread prints becomes part of what is captured."""
    global _prints
    with _print_lock:
        _prints += 1
        builtins.print = _recorded_print
    before = getattr(_recorder, "effects", None), getattr(_recorder, "shown", 0)
    _recorder.effects, _recorder.shown = effects, shown
    try:
        yield
    finally:
        _recorder.effects, _recorder.shown = before
        with _print_lock:
            _prints -= 1
            if _prints == 0:
                builtins.print = _print


def jit(function: Callable[..., Any] | None = None, *, full_graph: bool = False, cache: int = 8) -> Any:
    """The function, captured: its first call of a kind runs it step by step and keeps a program of what it did with
    arrays; further calls run the program, and give the same bits.

    A call is of another kind where anything differs that the program depends on: types and extents of arrays, values of
    Python among arguments, closures, globals and attributes, training mode, gradients, the device. `programs` and
    `why_recaptured` of the captured function tell of it; the last `cache` kinds are kept.

    Where the language needs the value of an array (`if x > 0:`, `int(x)`, `x.item()`), the program ends there and goes on
    by what it is; each outcome is captured when it first occurs. After many outcomes of one the function runs step by
    step, with a warning. With full_graph such a value is an error that names the line: use cond, while_loop, scan.

    What is assigned to arrays in place, to attributes, globals and containers is done again at each call, and what is
    printed is printed at each call. Calls of captured functions in others become a part of them.

        @hs.jit
        def step(x):
            return (x * x).sum()
    """
    if function is None:
        return functools.partial(jit, full_graph=full_graph, cache=cache)
    return Captured(function, full_graph, cache)


def trace(function: Callable[..., Any], *examples: Any, full_graph: bool = False) -> Captured:
    """The function, captured at once for calls like that with `examples`, which it runs on."""
    captured = function if isinstance(function, Captured) else Captured(function, full_graph, 8)
    captured(*examples)
    return captured


# regions


def cond(condition: Any, then: Callable[..., Any], otherwise: Callable[..., Any], *operands: Any) -> Any:
    """then(*operands) where the condition, one element of bool, is true, otherwise(*operands) where it is not.

    Both are traced into one operator, so that a captured function has both ways in one program. They compute with
    operators alone and give values of equal number and types; arrays that they read besides are captured.
    """
    arrays: Arrays = []
    make = taken_apart(operands, arrays, {})
    shapes: list[Make] = []

    def branch(function: Callable[..., Any]) -> Callable[[Arrays], Arrays]:
        def run(given: Arrays) -> Arrays:
            found: Arrays = []
            shapes.append(taken_apart(function(*make(given)), found, {}))
            return found

        return run

    results = _core.cond(condition, branch(then), branch(otherwise), arrays)
    return shapes[0](results)


def while_loop(condition: Callable[..., Any], body: Callable[..., Any], *states: Any, at_most: int = 0) -> Any:
    """States after body(*states), which gives the next ones, as often as condition(*states) is true.

    One operator, whose number of iterations the values decide. `at_most` ends it after so many; 0: never. Gives one value
    for one state, a tuple for several.
    """
    arrays: Arrays = []
    make = taken_apart(states, arrays, {})

    def decide(given: Arrays) -> Arrays:
        return [condition(*make(given))]

    def run(given: Arrays) -> Arrays:
        found: Arrays = []
        result = body(*make(given))
        taken_apart((result,) if len(states) == 1 else result, found, {})
        return found

    last = make(_core.while_loop(decide, run, arrays, at_most))
    return last[0] if len(states) == 1 else last


def scan(body: Callable[..., Any], state: Any, elements: Any) -> Any:
    """body(state, element) gives (next state, output) for each element of the first axis of `elements`, in order.

    One operator. Gives (last state, outputs along a new first axis); states, elements and outputs may be containers.
    """
    states: Arrays = []
    scanned: Arrays = []
    make_state, make_element = taken_apart(state, states, {}), taken_apart(elements, scanned, {})
    shapes: list[Make] = []

    def run(now: Arrays, given: Arrays) -> tuple[Arrays, Arrays]:
        following: Arrays = []
        outputs: Arrays = []
        next_state, output = body(make_state(now), make_element(given))
        taken_apart(next_state, following, {})
        shapes.append(taken_apart(output, outputs, {}))
        return following, outputs

    last, stacked = _core.scan(run, states, scanned)
    return make_state(last), shapes[0](stacked)
