"""Captured functions: Python functions that become programs when they run."""

from __future__ import annotations

import functools
import itertools
import threading
import types
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from halfstep import _core
from halfstep.printing import recorded_prints, skipping_prints
from halfstep.purity import Judge, NotGuarded
from halfstep.reads import Reads, containers, contents, reads
from halfstep.rebuilding import Apart, Arrays, Change, Form, Given, Make, NotRebuilt, changes


class Programs(NamedTuple):
    """The programs captured for one kind of call."""

    inputs: list[str]
    """Types of the input arrays: arguments first, then arrays found elsewhere. ? marks a dynamic dimension."""
    guards: list[str]
    """Other conditions that a call must meet."""
    training: bool
    device: str
    calls: int
    """Number of calls that these programs served."""
    programs: int
    """One, plus one for each outcome of each decision that occurred."""
    text: str
    """The programs in text form."""

    def __repr__(self) -> str:
        return f"Programs({', '.join(f'{name}={value!r}' for name, value in self._asdict().items() if name != 'text')})"


class _Outcome(NamedTuple):
    """Result and side effects of one path through a function, besides its arrays."""

    result: Make
    changes: list[Change]


class _Kept:
    """State of the programs for one kind of call: outcomes by tag, and visible effects by number."""

    def __init__(self) -> None:
        self.outcomes: list[_Outcome] = []
        self.effects: dict[int, Callable[[Arrays], None]] = {}


_MOST_CAPTURES = 64  # Limit for one function. Each capture serves another kind of call.


class Captured:
    """A function whose calls run captured programs. See jit."""

    def __init__(self, function: Callable[..., Any], full_graph: bool, cache: int) -> None:
        functools.update_wrapper(self, function, updated=())
        self._function = function
        self._name = getattr(function, "__qualname__", type(function).__name__)
        self._full_graph = full_graph
        self._lock = threading.Lock()  # never held while the function runs
        self._cache = cache
        self.clear()

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
        """The captured programs, most recently used first."""
        return [Programs(**{name: value for name, value in each.items() if name != "number"}) for each in self._core.describe()]

    def clear(self) -> None:
        """Remove all captured programs."""
        with self._lock:
            self._numbers = itertools.count()
            self._eager = ""
            self.why_recaptured: list[str] = []
            """For each call that no program served, in order: the value found, and the value expected."""
            self._core = _core.CapturedFunction(self._function, self._capture, self._finish, self._show, self._cache)

    def _capture(self, args: Any, kwargs: dict[str, Any], number: int, shown: int, reason: str, gives_up: bool) -> Any:
        """Run the function and capture it. The first `shown` effects already happened."""
        if gives_up:
            return self._give_up(reason, args, kwargs, shown)
        if reason:
            self.why_recaptured.append(reason)
        if number < 0 and len(self.why_recaptured) > _MOST_CAPTURES:
            return self._give_up(f"it was captured {_MOST_CAPTURES} times, the last time for {reason}", args, kwargs, shown)
        try:
            found = reads(self._function, args, kwargs)
        except NotGuarded as problem:
            return self._refuse(problem, args, kwargs, shown)
        with self._lock:
            core = self._core
            is_new = number < 0 or core.kept(number) is None
            if is_new:
                number = core.begin(args, kwargs, found.guards, _Kept())
            inputs = core.inputs(number, args, kwargs)
        try:
            return self._trace(core, args, kwargs, number, shown, found, inputs)
        except BaseException:
            if is_new:
                core.forget(number)
            raise

    def _trace(self, core: Any, args: Any, kwargs: dict[str, Any], number: int, shown: int, found: Reads, inputs: Any) -> Any:
        given = containers(args, kwargs)
        before = [*found.before, *((contents(each), contents(each).copy()) for each in given)]
        effects: list[tuple[int, Callable[[Arrays], None]]] = []
        judge = Judge(found.codes)
        tracing = _core.trace_begin(f"captured function '{self._name}'", inputs, self._full_graph, judge)
        try:
            with recorded_prints(effects, shown, self._numbers):
                result = self._function(*args, **kwargs)
            tracing.leave_calls()
            if judge.imports:
                core.forget(number)
                self.why_recaptured.append(f"module '{judge.imports}' was imported while it ran")
                return result
            there = {**found.reached, **{id(container): container for container, _ in found.before}}
            apart = Apart(there, given)
            try:
                lost = core.changed(number)
                if tracing.doubts or lost:
                    raise NotRebuilt(tracing.doubts or f"that it changes {lost}, which cannot be repeated in each call")
                outcome = _Outcome(apart.take(result), changes(before, found.guards, apart))
            except NotRebuilt as problem:
                core.forget(number)
                return self._refuse(problem, args, kwargs, shown, result)
        finally:
            tracing.leave()
        is_simple = isinstance(result, _core.Array) and not outcome.changes
        with self._lock:
            kept = core.kept(number) or _Kept()
            kept.effects.update(effects)  # Publish before the end, because from there on another thread may run it.
            kept.outcomes.append(outcome)
            if not core.end(number, tracing.trace, inputs, apart.arrays, is_simple):
                kept.outcomes.pop()
        if tracing.doubts:  # doubts about its result or its writes
            core.forget(number)
            return self._refuse(NotRebuilt(tracing.doubts), args, kwargs, shown, result)
        return result

    def _refuse(self, problem: Exception, args: Any, kwargs: dict[str, Any], shown: int, *result: Any) -> Any:
        if self._full_graph:
            raise TypeError(f"captured function '{self._name}': found {problem}") from None
        return self._give_up(f"found {problem}", args, kwargs, shown, *result)

    def _give_up(self, reason: str, args: Any, kwargs: dict[str, Any], shown: int, *result: Any) -> Any:
        """Run the function step by step from now on."""
        self._eager = reason
        self.why_recaptured.append(f"it runs step by step from now on: {reason}")
        code = getattr(self._function, "__code__", None)
        where = f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""
        warnings.warn(f"captured function '{self._name}'{where} runs step by step from now on: {reason}", stacklevel=4)
        if result:
            return result[0]
        with skipping_prints(shown):
            return self._function(*args, **kwargs)

    def _finish(self, kept: _Kept, tag: int, arrays: Arrays, args: Any, kwargs: dict[str, Any]) -> Any:
        outcome = kept.outcomes[tag]
        given = Given(arrays, containers(args, kwargs))
        result = outcome.result(given)
        for change in outcome.changes:
            change(given)
        return result

    def _show(self, kept: _Kept, effect: int, arrays: Arrays) -> None:
        kept.effects[effect](arrays)


def jit(function: Callable[..., Any] | None = None, *, full_graph: bool = False, cache: int = 8) -> Any:
    """Capture a function. The first call of a kind runs step by step, and its operations are kept as a program. Later
    calls run the program, and results are equal to the bit.

    A call is of another kind if anything differs that the program depends on: types of arrays, extents that the
    function may have read, Python values among arguments, closures, globals and attributes, training mode, gradients,
    or the device. See `programs` and `why_recaptured` of the captured function.

    If Python needs the value of an array (`if x > 0:`, `int(x)`, `x.item()`), the program ends there and continues
    according to the value. Each outcome is captured when it first occurs. If one decision has too many outcomes, the
    function runs step by step, with a warning.

    Assignments to arrays in place, to attributes, globals and containers are repeated at each call. So are prints. A
    captured function that another one calls becomes part of it.

    Args:
        function: The function. Without it, jit returns a decorator.
        full_graph: Report an error with the line if Python needs the value of an array. Use cond, while_loop or scan
            there.
        cache: Number of kinds of calls to keep. The most recent ones are kept.

    Returns:
        The captured function. `clear()` removes its programs.

    Raises:
        Error: (with full_graph, when called) Python needs the value of an array.
        TypeError: (with full_graph, when called) The function depends on a value that cannot be checked, or does
            something that cannot be repeated.

    Example:
        @hs.jit
        def step(x):
            return (x * x).sum()
    """
    if function is None:
        return functools.partial(jit, full_graph=full_graph, cache=cache)
    return Captured(function, full_graph, cache)


def trace(function: Callable[..., Any], *examples: Any, full_graph: bool = False) -> Captured:
    """Capture a function immediately, for calls with arguments like `examples`. It runs once on them."""
    captured = function if isinstance(function, Captured) else Captured(function, full_graph, 8)
    captured(*examples)
    return captured


# regions


def cond(condition: Any, then: Callable[..., Any], otherwise: Callable[..., Any], *operands: Any) -> Any:
    """Return then(*operands) if the condition is true, else otherwise(*operands).

    Both functions are traced into one operator, so a captured function holds both branches in one program. They may use
    operators only, and must return equal numbers and types of values. Other arrays that they read are captured.

    Args:
        condition: One element of bool.

    Raises:
        Error: The condition is not one bool, the branches return results of other forms or types, or a branch writes an
            outer array, draws random numbers or reads contents.

    Example:
        y = hs.cond(x.sum() > 0, lambda x: x * 2, lambda x: -x, x)
    """
    given = Form(operands)
    forms: list[Form] = []

    def branch(function: Callable[..., Any]) -> Callable[[Arrays], Arrays]:
        def run(arrays: Arrays) -> Arrays:
            forms.append(Form(function(*given.make(arrays))))
            forms[-1].expect(forms[0], "cond", "the result of otherwise()")
            return forms[-1].arrays

        return run

    results = _core.cond(condition, branch(then), branch(otherwise), given.arrays)
    return forms[0].make(results)


def while_loop(condition: Callable[..., Any], body: Callable[..., Any], *states: Any, at_most: int = 0) -> Any:
    """Repeat states = body(*states) while condition(*states) is true, and return the final states.

    This is one operator. The values decide the number of iterations.

    Args:
        condition: Returns one element of bool.
        body: Returns the next states, with the same element types and numbers of dimensions.
        *states: Initial states, at least one.
        at_most: Maximum number of iterations. 0 means no limit.

    Returns:
        One value for one state, a tuple for several.

    Raises:
        Error: There is no state, the condition is not one bool, or the body returns states of another form or type.

    Example:
        i, total = hs.while_loop(lambda i, total: i < 10.0, lambda i, total: (i + 1, total + x), hs.array(0.0), x)
    """
    first = Form(states)

    def decide(given: Arrays) -> Arrays:
        return [condition(*first.make(given))]

    def run(given: Arrays) -> Arrays:
        result = body(*first.make(given))
        following = Form((result,) if len(states) == 1 else tuple(result))
        following.expect(first, "while_loop", "the result of the body")
        return following.arrays

    last = first.make(_core.while_loop(decide, run, first.arrays, at_most))
    return last[0] if len(states) == 1 else last


def scan(body: Callable[..., Any], state: Any, elements: Any) -> Any:
    """Call body(state, element) for each element of the first axis of `elements`, in order.

    This is one operator. States, elements and outputs may be containers.

    Args:
        body: Returns (next state, output).

    Returns:
        (last state, outputs along a new first axis).

    Raises:
        Error: There is nothing to scan, an array has no axis, or the body returns a state of another form or type.

    Example:
        last, sums = hs.scan(lambda total, x: (total + x, total + x), hs.array(0.0), xs)
    """
    first, scanned = Form(state), Form(elements)
    outputs: list[Form] = []

    def run(now: Arrays, given: Arrays) -> tuple[Arrays, Arrays]:
        next_state, output = body(first.make(now), scanned.make(given))
        following = Form(next_state)
        following.expect(first, "scan", "the next state")
        outputs.append(Form(output))
        return following.arrays, outputs[-1].arrays

    last, stacked = _core.scan(run, first.arrays, scanned.arrays)
    return first.make(last), outputs[0].make(stacked)
