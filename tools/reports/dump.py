"""JSON of `dump` and `compare`."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from halfstep.report_rows import DumpRow, GuessRow
from reports.common import Object


class Dump(Object):
    """`dump`: the manifest. It has a version of its own."""

    network: str
    """the network"""
    stage: str
    """its stage"""
    path: str
    """the execution path"""
    samples: int
    """number of samples"""
    values: list[DumpRow]
    """in the order of execution"""
    graph: str
    """the graph as `.ir` text"""


class ComparedPlace(TypedDict):
    """The first element that differs."""

    position: list[int]
    """in the network's axes"""
    sample: int
    """the sample"""
    values: list[float | None]
    """both values"""
    index: NotRequired[dict[str, int]]
    """position in the file by layout"""


class ComparedValue(TypedDict):
    """A value of both sides."""

    name: str
    """the value"""
    layer: str
    """its layer"""
    op: str
    """its operator"""
    what: str
    """`activation`, or the port of a parameter"""
    state: Literal["equal", "differs", "other size", "missing", "extra"]
    """the result (`missing`, `extra`: on one side only)"""
    second_name: NotRequired[str]
    """if the other side uses another name"""
    elements: NotRequired[int]
    """number of elements"""
    differing: NotRequired[int]
    """number of elements that differ"""
    largest: NotRequired[float | None]
    """the largest difference"""
    sqnr_db: NotRequired[float | None]
    """SQNR; `null` if nothing differs"""
    first: NotRequired[ComparedPlace]
    """if it differs"""


class Compare(Object):
    """`compare`: two dumps, value by value."""

    equal: bool
    """whether the sides are equal"""
    verdict: str
    """a summary in one sentence"""
    first: str
    """the first side"""
    second: str
    """the second side"""
    network: str
    """the network"""
    differs: str | None
    """the first value that differs"""
    undiagnosed: NotRequired[str]
    """the reason why layers could not be recomputed"""
    guesses: list[GuessRow]
    """the hypotheses, best first"""
    notes: list[str]
    """notes"""
    values: list[ComparedValue]
    """in the order of execution"""
