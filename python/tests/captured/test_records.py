"""Dataclass objects as arguments. Each call has other objects, and their fields are inspected as the elements of lists
and dicts are.
"""

from dataclasses import dataclass, field

import pytest
from captured.harness import World, array, compared

import halfstep as hs


@dataclass
class Batch:
    x: hs.array
    weights: list = field(default_factory=list)
    name: str = "batch"

    def scaled(self, by):
        return self.x * by


@dataclass
class Named(Batch):
    inner: Batch | None = None


@dataclass(frozen=True)
class Setting:
    rate: float
    offsets: tuple


@dataclass(slots=True)
class Slotted:
    x: hs.array


def changed(batch, k):
    batch.x = batch.x * 2
    batch.weights.append(batch.x)
    batch.count = k
    return batch, batch.weights[0] + k


def nested(named):
    named.inner.x += 1
    named.name = named.inner.name + "!"
    return named.inner, named.scaled(2.0) + named.inner.scaled(3.0)


def same_twice(a, b):
    a.x = a.x + 1
    return b.x * 2, a is b


def deleted(batch):
    del batch.name
    return batch.x


def by_setting(x, setting):
    return x * setting.rate + setting.offsets[0]


def call(make):
    """Return the arguments too, because the call may change them."""

    def run(f):
        arguments = make()
        return f(*arguments), arguments

    return run


CASES = {
    "changed": (changed, [lambda: (Batch(array(1.0)), 2), lambda: (Batch(array(3.0), [array(1.0)]), 2), lambda: (Batch(array(3.0), name="b"), 5)]),
    "nested": (nested, [lambda: (Named(array(1.0), inner=Batch(array(2.0))),), lambda: (Named(array(4.0), inner=Batch(array(-2.0), name="c")),)]),
    "same_twice": (same_twice, [lambda: (Batch(array(1.0)), Batch(array(2.0))), lambda: 2 * (Batch(array(3.0)),)]),
    "deleted": (deleted, [lambda: (Batch(array(1.0)),), lambda: (Batch(array(2.0)),)]),
    "by_setting": (by_setting, [lambda: (array(1.0), Setting(2.0, (1.0, 2.0))), lambda: (array(1.0), Setting(3.0, (1.0,)))]),
}


@pytest.mark.parametrize("name", CASES)
def test_is_as_python(name):
    function, arguments = CASES[name]
    outcome = compared(lambda: World(function, [call(make) for make in arguments]))
    assert not outcome.differences, "\n".join(outcome.differences)
    assert (outcome.served, outcome.captures) == (outcome.calls, 0), outcome.function.why_recaptured


def test_what_differs_is_another_kind():
    function = hs.jit(by_setting)
    for rate in (1.0, 2.0, 1.0):
        assert function(array(1.0), Setting(rate, (0.5,))).tolist() == [rate + 0.5]
    assert function.why_recaptured == ["an argument: found 2.0, expected 1.0"]


def test_slots_are_objects_of_their_own():
    function = hs.jit(lambda record: record.x * 2)
    one = Slotted(array(1.0))
    assert [function(one).tolist(), function(one).tolist(), function(Slotted(array(3.0))).tolist()] == [[2.0], [2.0], [6.0]]
