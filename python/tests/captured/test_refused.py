"""Code that no tracer can handle. Each error names the reason and a remedy."""

import random
import re
import sys
import time
from collections import deque

import numpy as np
import pytest
from captured.harness import array

import halfstep as hs

REFUSED = []
FULL = {"full_graph": True}


def refused(error, message, **settings):
    """Make a test function whose call is refused with this error. `settings` go to jit."""

    def register(make):
        REFUSED.append((make, error, message, settings))
        return make

    return register


@refused(hs.Error, r"test_refused.py:\d+.*'greater'.*bool\[\]", **FULL)
def if_in_one_program(jit):
    jit(lambda x: x if x.sum() > 0 else -x)(array(1.0))


@refused(hs.Error, r"test_refused.py:\d+.*'reduce_sum'.*f32\[\]", **FULL)
def item_in_one_program(jit):
    jit(lambda x: x * x.sum().item())(array(1.0))


@refused(hs.Error, r"test_refused.py:\d+", **FULL)
def for_over_a_value(jit):
    jit(lambda x, n: [x for _ in range(n)])(array(1.0), hs.array(3))


@refused(hs.Error, r"'mul' of the body of while_loop, .*py:\d+")
def value_of_a_region_is_kept(jit):
    kept = []

    def body(i, x):
        kept.append(x * 2)
        return i + 1, x

    jit(lambda x: hs.while_loop(lambda i, v: i < 2, body, hs.array(0), x)[1])(array(1.0))
    kept[0].numpy()


@refused(hs.Error, "")
def if_in_a_region(jit):
    jit(lambda x: hs.cond(x.sum() > 0, lambda v: v if v.max() > 1 else -v, lambda v: v, x))(array(1.0))


@refused(hs.Error, "")
def writing_in_a_region(jit):
    count = array(0.0)

    def then(v):
        count.assign(count + 1)
        return v

    jit(lambda x: hs.cond(x.sum() > 0, then, lambda v: v, x))(array(1.0))


@refused(hs.Error, "print_in_region")
def print_in_a_region(jit):
    jit(lambda x: hs.scan(lambda s, e: (print(s) or s + e, e), hs.zeros(()), x))(array(1.0))


@refused(hs.Error, "region_result_of_other_form")
def ways_of_other_forms(jit):
    jit(lambda x: hs.cond(x.sum() > 0, lambda v: (v, 1), lambda v: (v, 2), x))(array(1.0))


@refused(hs.Error, "region_result_of_other_form")
def number_as_a_state(jit):
    jit(lambda x: hs.while_loop(lambda i, v: v.sum() < 9, lambda i, v: (i + 1, v * 2), 0, x))(array(1.0))


@refused(hs.Error, "")
def random_numbers_in_a_region(jit):
    jit(lambda x: hs.scan(lambda s, e: (s + hs.uniform(()), e), hs.zeros(()), x))(array(1.0))


@refused(TypeError, r"found a call of random.Random.random \(.*test_refused.py:\d+\), which may behave differently in each call; call it outside", **FULL)
def random_numbers_of_python(jit):
    jit(lambda x: x * random.random())(array(1.0))


@refused(TypeError, r"found a call of time.time \(.*test_refused.py:\d+\), which may behave differently in each call; call it outside", **FULL)
def the_time(jit):
    jit(lambda x: x * time.time())(array(1.0))


@refused(TypeError, r"found a generator \(argument 0\), which can be read only once; pass a list or a tuple", **FULL)
def generator_as_an_argument(jit):
    jit(sum)(array(float(k)) for k in range(3))


@refused(TypeError, r"found a deque \('queue' of the function around 'f'\), whose state cannot be checked", **FULL)
def queue(jit):
    queue = deque([array(1.0)])

    def f(x):
        queue.append(x)
        return queue[0]

    jit(f)(array(1.0))


@refused(TypeError, "found that it changes 'held' of the function around 'f', which cannot be repeated in each call", **FULL)
def writing_to_numpy(jit):
    held = np.zeros(1)

    def f(x):
        held[0] = 3
        return x

    jit(f)(array(1.0))


@refused(TypeError, "found a value of type generator, which cannot be recreated for each call", **FULL)
def generator_as_a_result(jit):
    def f(x):
        yield x

    jit(f)(array(1.0))


@refused(TypeError, r"found io.open \(built-in 'open'\), which may behave differently", **FULL)
def files(jit):
    def f(x):
        with open("/dev/null") as file:
            return x, file.read()

    jit(f)(array(1.0))


@refused(TypeError, r"found a .* \(sys.stdout\), ", **FULL)
def writing_to_a_stream(jit):
    def f(x):
        sys.stdout.write("x")
        return x

    jit(f)(array(1.0))


@refused(hs.Error, "'mul'")
def gradient_of_what_ran_before(jit):
    w = array(2.0, grad=True)
    jit(lambda loss: loss.backward())((w * w).sum())


@refused(hs.Error, "seed_in_captured_function")
def seed(jit):
    def f(x):
        hs.seed(1)
        return x * hs.uniform((1,))

    jit(f)(array(1.0))


def test_twenty():
    assert len(REFUSED) == 20


@pytest.mark.parametrize(("make", "error", "message", "settings"), REFUSED, ids=lambda value: getattr(value, "__name__", ""))
def test_refused(make, error, message, settings):
    """The message is the name of an error in our catalogue, or holds values that an error of another folder names."""
    with pytest.raises(error) as raised:
        make(hs.jit(**settings))
    if re.fullmatch(r"\w+_\w+", message):
        assert raised.value.name == message
    else:
        assert re.search(message, str(raised.value))


@pytest.mark.parametrize("make", [each[0] for each in REFUSED if each[3] and each[1] is TypeError], ids=lambda make: make.__name__)
def test_without_full_graph_it_runs_step_by_step(make):
    with pytest.warns(UserWarning, match="runs step by step from now on: found"):
        make(hs.jit)


def test_a_decision_of_many_outcomes_runs_step_by_step_and_is_named():
    def f(x):
        return x * int(x.sum())

    captured = hs.jit(f)
    for value in range(9):
        captured(array(float(value)))
    assert captured.programs[0].programs == 9
    with pytest.warns(UserWarning, match=rf"step by step from now on: the decision at .*test_refused.py:{f.__code__.co_firstlineno + 1} has more than 8 outcomes"):
        assert captured(array(10.0)).tolist() == [100.0]
    assert captured(array(3.0)).tolist() == [9.0]
