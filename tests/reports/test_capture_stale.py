"""Reported cases of captured functions that returned results of an earlier state. Each one now returns Python's result,
and a function that cannot be captured reports why."""

import collections
import configparser
import decimal
import functools
import math
import os
import sys
import threading
import types
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

hs = pytest.importorskip("halfstep")


def results(function, changes):
    """Results of the captured function for one element of 1 after each change, and the reason why it runs step by step.
    """
    captured = hs.jit(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [(change(), captured(hs.array([1.0])).tolist()[0])[1] for change in changes]
    reason = captured.why_recaptured[-1] if captured.why_recaptured else ""
    return found, reason if "step by step" in reason else ""


def setting(put):
    return [lambda value=value: put(value) for value in (1.0, 2.0, 3.0, 2.0)]


def test_arrays_of_another_thread():
    with ThreadPoolExecutor(1) as pool:
        function = hs.jit(lambda x: pool.submit(lambda: x * 3).result() + 1)
        with pytest.warns(UserWarning, match="runs step by step from now on"):
            assert [function(hs.array([value])).tolist() for value in (1.0, 2.0, 3.0)] == [[4.0], [7.0], [10.0]]


@pytest.mark.parametrize("end_of", [lambda box: box[0] + 1, lambda box: box[0]])
def test_arrays_of_a_thread_that_runs_already(end_of):
    """No call shows that the thread computes: the array does."""
    given, box = [], [None]
    begin, end = threading.Lock(), threading.Lock()
    begin.acquire(), end.acquire()

    def work():
        for _ in range(4):
            begin.acquire()
            box[0] = given[-1] * 3
            end.release()

    def function(x):
        begin.release()
        end.acquire()
        return end_of(box)

    thread = threading.Thread(target=work)
    thread.start()
    captured = hs.jit(function)
    found = []
    for value in (1.0, 2.0, 3.0, 4.0):
        given.append(hs.array([value]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found += captured(hs.array([value])).tolist()
    thread.join()
    assert found == [value * 3 + end_of([0]) for value in (1.0, 2.0, 3.0, 4.0)]
    assert "array that other code computed while it ran" in captured.why_recaptured[-1]


def test_a_configuration():
    settings = configparser.ConfigParser()
    settings["a"] = {"k": "1"}
    found, reason = results(lambda x: x * settings.getfloat("a", "k"), setting(lambda v: settings["a"].__setitem__("k", str(v))))
    assert found == [1.0, 2.0, 3.0, 2.0]
    assert "getfloat" in reason


@pytest.mark.parametrize("make", [lambda: collections.UserDict(k=1.0), lambda: collections.ChainMap({"k": 1.0}), lambda: collections.OrderedDict(k=1.0)])
def test_dictionaries_of_the_library(make):
    held = make()
    assert results(lambda x: x * held["k"], setting(lambda v: held.__setitem__("k", v))) == ([1.0, 2.0, 3.0, 2.0], "")


def test_a_cached_property():
    class Owner:
        inner = 1.0

        @functools.cached_property
        def k(self):
            return self.inner

    owner = Owner()

    def put(value):
        owner.inner = value
        vars(owner).pop("k", None)

    assert results(lambda x: x * owner.k, setting(put)) == ([1.0, 2.0, 3.0, 2.0], "")


def test_decimal_numbers():
    def put(value):
        decimal.getcontext().prec = int(value)

    found, reason = results(lambda x: x * float(decimal.Decimal(2) / decimal.Decimal(3)), setting(put))
    assert [round(each, 4) for each in found] == [0.7, 0.67, 0.667, 0.67]
    assert "decimal.Decimal" in reason
    decimal.getcontext().prec = 28


def test_attributes_of_modules(monkeypatch):
    module = types.ModuleType("settings")
    assert results(lambda x: x * module.k, setting(lambda v: setattr(module, "k", v))) == ([1.0, 2.0, 3.0, 2.0], "")
    assert results(lambda x: x * math.gain, setting(lambda v: monkeypatch.setattr(math, "gain", v, raising=False))) == ([1.0, 2.0, 3.0, 2.0], "")
    monkeypatch.setitem(sys.modules, "settings_of_test", module)
    found, reason = results(lambda x: x * sys.modules["settings_of_test"].k, setting(lambda v: setattr(module, "k", v)))
    assert found == [1.0, 2.0, 3.0, 2.0]


def test_a_file_that_comes_and_goes(tmp_path):
    path = str(tmp_path / "flag")

    def put(value):
        open(path, "w").close() if value > 1.5 else os.path.exists(path) and os.remove(path)

    found, reason = results(lambda x: x * 2 if os.path.exists(path) else x * 5, setting(put))
    assert found == [5.0, 2.0, 2.0, 2.0]
    assert "exists" in reason


class Meta(type):
    k = 1.0


class Asked(metaclass=Meta):
    def __init__(self):
        self.values = {"other": 1.0}

    def __getattr__(self, name):
        return self.__dict__["values"][name]


class First:
    k = 1.0


class Second:
    k = 2.0


def replaced_class(owner, value):
    owner.__class__ = First if value == 1.0 else Second


def test_what_is_found_in_roundabout_ways():
    asked, owner = Asked(), First()
    assert results(lambda x: x * asked.other, setting(lambda v: asked.values.__setitem__("other", v))) == ([1.0, 2.0, 3.0, 2.0], "")
    assert results(lambda x: x * Asked.k, setting(lambda v: setattr(Meta, "k", v))) == ([1.0, 2.0, 3.0, 2.0], "")
    assert results(lambda x: x * owner.k, setting(lambda v: replaced_class(owner, v))) == ([1.0, 2.0, 2.0, 2.0], "")


def test_functions_whose_parts_are_replaced():
    def scaled(x, k=1.0):
        return x * k

    def put(value):
        scaled.__defaults__ = (value,)

    def twice(x, k=1.0):
        return x * k * 2

    assert results(lambda x: scaled(x), setting(put)) == ([1.0, 2.0, 3.0, 2.0], "")
    codes = [scaled.__code__, twice.__code__]
    assert results(lambda x: scaled(x), [lambda code=code: setattr(scaled, "__code__", code) for code in (*codes, codes[0])]) == ([2.0, 4.0, 2.0], "")
