"""JSON of `run`, `explain` and errors."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from halfstep.report_rows import ErrorRow
from reports.common import Object


class RunComparison(TypedDict):
    """An output, compared with `--expect` or test data."""

    tensor: str
    """the output"""
    elements: int
    """number of elements"""
    differing: int
    """number of elements beyond the tolerance"""
    largest_difference: float | None
    """the largest difference"""


class Run(Object):
    """`run`: the outputs of a network."""

    outputs: dict[str, str]
    """types by name"""
    equal: bool
    """whether no comparison failed"""
    milliseconds: NotRequired[list[float]]
    """durations, with `--repeat`"""
    comparisons: NotRequired[list[RunComparison]]
    """with `--expect` or `--test-data`"""
    notes: NotRequired[list[str]]
    """notes"""


class TracedValue(TypedDict):
    """An operand or result. The port alone if there is no value."""

    port: str
    """the port"""
    name: str
    """the value"""
    type: NotRequired[str]
    """element type and extents"""
    place: NotRequired[str]
    """the device"""
    range: NotRequired[str]
    """the least and the largest element"""


class TraceArguments(TypedDict):
    """Details of an instruction, or the name of a device."""

    name: NotRequired[str]
    """the device"""
    id: NotRequired[int]
    """number of the instruction"""
    operator: NotRequired[str]
    """the operator"""
    kernel: NotRequired[str]
    """the kernel; empty for a copy"""
    inside: NotRequired[str]
    """the enclosing branch or loop, with the iteration"""
    location: NotRequired[str]
    """its place in the source file"""
    in_: NotRequired[list[TracedValue]]
    """operands"""
    out: NotRequired[list[TracedValue]]
    """results"""


class TraceEvent(TypedDict):
    """An event: `ph` is `X` for an instruction, `M` for the name of a device."""

    name: str
    """the value that the instruction computes"""
    cat: NotRequired[str]
    """the operator"""
    ph: Literal["X", "M"]
    """kind of event"""
    ts: NotRequired[float]
    """begin in microseconds"""
    dur: NotRequired[float]
    """duration in microseconds"""
    pid: int
    """number of the device"""
    tid: NotRequired[int]
    """number of the thread"""
    args: TraceArguments
    """details"""


class TraceInfo(TypedDict):
    """The run."""

    network: str
    """the network"""
    left_out: NotRequired[int]
    """number of instructions beyond the limit"""


class Trace(TypedDict):
    """`run --trace FILE.json`: the file, in the trace format of Chrome. It has no `schema`."""

    displayTimeUnit: Literal["ns"]
    """unit of the viewer"""
    otherData: TraceInfo
    """the run"""
    traceEvents: list[TraceEvent]
    """devices, then instructions"""

class CatalogueEntry(ErrorRow):
    """An entry of the catalogue. Names in braces stand for values."""

    title: str
    """the title"""
    message: str
    """the message"""
    explanation: str
    """the explanation"""


class Explain(Object, CatalogueEntry):
    """`explain ID`: an entry of the catalogue."""


class ExplainAll(Object):
    """`explain`: the catalogue."""

    errors: list[CatalogueEntry]
    """all entries"""


class Errors(Object):
    """Standard error of a command that fails with `--json`."""

    errors: list[ErrorRow]
    """all errors"""
