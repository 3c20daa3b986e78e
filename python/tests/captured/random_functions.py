"""Random functions of Python state. Each is made twice, one of them is captured, and both see the same changes between
calls.
"""

import abc
import array as arrays
import asyncio
import builtins
import collections
import concurrent.futures as futures
import configparser
import contextlib
import contextvars
import copy
import ctypes
import dataclasses
import decimal
import enum
import functools
import gc
import heapq
import importlib
import inspect
import io
import itertools
import json
import logging
import math
import operator
import os
import pathlib
import pickle
import random
import re
import sys
import tempfile
import threading
import time
import types
import typing
import warnings
import weakref
from typing import NamedTuple

import numpy as np
from captured.harness import array, seen
from captured.kinds import GUARDED, STRANGE

import halfstep as hs

_SCOPE = {
    each.__name__.split(".")[-1]: each
    for each in (
        abc, asyncio, builtins, collections, configparser, contextlib, contextvars, copy, ctypes, dataclasses, decimal, enum, functools, futures,
        gc, heapq, importlib, inspect, io, itertools, json, logging, math, operator, os, pathlib, pickle, random, re, sys, threading, time,
        types, typing, weakref,
    )
} | {"np": np, "hs": hs, "array": array, "arrays": arrays, "futures": futures}  # fmt: skip

_WAYS = [  # ways to read the expression E
    "{e}",
    "(lambda: {e})()",
    "sum([{e} for _ in range(2)])",
    "next(each for each in [{e}])",
    "(lambda v={e}: v)()",
    "{{'a': {e}}}['a']",
    "functools.reduce(lambda a, b: a, [{e}, 1.0])",
    "max([({e}, 1)], key=lambda pair: pair[1])[0]",
]
_BODIES = [
    "return x * ({a}) + ({b})",
    "y = (x + ({a})).tanh()\n    return y * ({b})",
    "y = x * ({a})\n    if y.sum() > 1:\n        return y + ({b})\n    return y - 1",
    "total = x\n    for each in ({a}, {b}):\n        total = total * 0.5 + each\n    return total",
    "try:\n        y = x * ({a})\n    finally:\n        x = x + 1\n    return [y, {{'x': x, 'b': x * ({b})}}]",
    "return hs.where(x > 0, x * ({a}), x - ({b}))",
]
_NUMBERS = ("1.0", "2.0", "3.0", "2.0")


class Case(NamedTuple):
    """Source text of a module, the changes between calls of its `function` (empty: no change), and the kinds of state
    in it.
    """

    text: str
    changes: list
    kinds: list


def numbered(text, number, value=None):
    """Append a number to names that end with `_`, so that several states do not collide."""
    text = re.sub(r'(?<=[A-Za-z"])_(?![A-Za-z0-9_])', f"_{number}", text)
    return text if value is None else re.sub(r"\bV\b", value, text)


def random_case(number):
    draw = random.Random(number)
    strange = draw.random() < 0.3
    kinds = [draw.choice(GUARDED) for _ in range(draw.choice([1, 1, 2, 3]))]
    if strange:
        kinds[draw.randrange(len(kinds))] = draw.choice(STRANGE)
    reads = []
    for place, kind in enumerate(kinds):
        way = draw.choice(_WAYS if "x" not in kind.read.split("(")[-1] and "w_" not in kind.read else _WAYS[:1])
        reads.append("(" + way.format(e=numbered(kind.read, place)) + ")")
    first, rest = reads[0], " + ".join(reads[1:]) or "1.0"
    body = draw.choice(_BODIES).format(a=first, b=rest)
    text = "\n".join(numbered(kind.make, place) for place, kind in enumerate(kinds)) + f"\ndef function(x):\n    {body}\n"
    changes = ["", ""]
    for _ in range(6):
        place = draw.randrange(len(kinds))
        change = draw.choice(kinds[place].changes)
        changes.append(numbered(change, place, draw.choice(_NUMBERS)) if draw.random() < 0.6 else "")
    return Case(text, [*changes, "", ""], [kind.name for kind in kinds])


def _scope(case, number, folder):
    random.seed(0)
    np.random.seed(0)
    hs.seed(0)
    scope = {**_SCOPE, "folder": folder, "__name__": "random_functions_world"}
    exec(compile(case.text, f"<random function {number}>", "exec"), scope)
    return scope


def _called(function, scope, change, x):
    """Return the effects of a change and of the call after it."""
    try:
        exec(change, scope)
    except Exception as error:
        return "change", type(error).__name__
    try:
        return "gives", seen(function(array(x, -2.0, 0.5)))
    except Exception as error:
        return "raises", type(error).__name__


@contextlib.contextmanager
def _restored():
    """Context that restores the state of libraries."""
    kept = [(each, dict(vars(each))) for each in (math, builtins, collections, hs)]
    recursion, precision = sys.getrecursionlimit(), decimal.getcontext().prec
    with tempfile.TemporaryDirectory() as folder:
        try:
            yield folder
        finally:
            for module, scope in kept:
                for name in vars(module).keys() - scope.keys():
                    delattr(module, name)
            for name in [name for name in vars(hs.array) if name.startswith("gain_")]:
                delattr(hs.array, name)
            for name in [name for name in vars(collections.UserDict) if name.startswith("gain_")]:
                delattr(collections.UserDict, name)
            for name in [name for name in sys.modules if name.startswith("halfstep_random")]:
                del sys.modules[name]
            sys.setrecursionlimit(recursion)
            decimal.getcontext().prec = precision


def _run(case, number, is_captured):
    with _restored() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scope = _scope(case, number, folder)
        function = hs.jit(scope["function"]) if is_captured else scope["function"]
        steps = [_called(function, scope, change, float(place % 2)) for place, change in enumerate(case.changes)]
        return steps, function


class Found(NamedTuple):
    stale: str  # empty: every call returned the same bits
    served: int  # calls that programs served
    eager: str  # reason why it runs step by step


def compared_at_random(number):
    case = random_case(number)
    expected, _ = _run(case, number, False)
    found, function = _run(case, number, True)
    differs = next((place for place in range(len(expected)) if found[place] != expected[place]), None)
    stale = ""
    if differs is not None:
        changes = [change for change in case.changes[: differs + 1] if change]
        stale = f"function {number} {case.kinds}, call {differs}: found {found[differs]}, expected {expected[differs]}\n{case.text}\nchanges: {changes}"
    return Found(stale, sum(each.calls for each in function.programs), function._eager)


def served_alone(kind):
    """Count the calls that programs serve for a function that reads one state, which does not change."""
    case = Case(f"{numbered(kind.make, 0)}\ndef function(x):\n    return x * ({numbered(kind.read, 0)})\n", [""] * 5, [kind.name])
    return sum(each.calls for each in _run(case, kind.name, True)[1].programs)
