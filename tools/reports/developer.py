"""JSON of `op`, `pass` and `fuzz`."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from reports.common import Object


class OperatorRow(TypedDict):
    """An operator that was checked."""

    operator: str
    """the operator"""
    cases: int
    """number of cases"""
    checked: int
    """cases that ran"""
    failed: int
    """cases that failed"""
    skipped: int
    """cases that could not run"""


class OperatorFailure(TypedDict):
    """A case that failed."""

    what: str
    """the difference"""
    reproduce: str
    """the command that repeats it"""


class Speed(TypedDict):
    """The time of a kernel."""

    problem: str
    """operands and attributes"""
    kernel: str
    """the kernel"""
    microseconds: float
    """time of a call"""
    gigabytes_per_second: float
    """bytes of operands and results in this time"""


class Op(Object):
    """`op check` and its other kinds: operators against their references."""

    passed: bool
    """whether nothing failed"""
    operators: list[OperatorRow]
    """by operator"""
    failures: list[OperatorFailure]
    """cases that failed"""
    skips: dict[str, int]
    """number of skipped cases by reason"""
    speeds: NotRequired[list[Speed]]
    """only of `op speed`"""


class GoldenRow(TypedDict):
    """An operator, compared with an original framework."""

    operator: str
    """the operator"""
    cases: int
    """number of cases"""
    elements: int
    """elements compared"""
    differing_bits: int
    """elements with other bits, within the tolerance"""
    errors_expected: int
    """cases that the original rejects"""
    errors_met: int
    """of these, cases that Halfstep rejects"""
    deliberate: int
    """cases that differ on purpose"""
    failed: int
    """cases that failed"""


class GoldenFailure(TypedDict):
    """A case that failed."""

    case: str
    """the id of the case"""
    what: str
    """the difference"""


class OpGolden(Object):
    """`op golden`: operators against results of original frameworks."""

    passed: bool
    """whether nothing failed"""
    operators: list[GoldenRow]
    """by operator"""
    failures: list[GoldenFailure]
    """cases that failed"""
    deliberate: dict[str, int]
    """deliberate differences by reason"""


class PassStep(TypedDict):
    """A pass that ran."""

    name: str
    """the pass"""
    before: int
    """number of operations before"""
    after: int
    """number of operations after"""
    changed: bool
    """whether it changed the graph"""
    seconds: float
    """duration"""
    network: NotRequired[str]
    """the graph after it, with `--print-after`"""


class Pass(Object):
    """`pass`: the passes that ran."""

    passes: list[PassStep]
    """the passes in order"""


class PassName(TypedDict):
    """A pass."""

    name: str
    """the pass"""
    doc: str
    """its description"""


class PassList(Object):
    """`pass --list`: all passes."""

    passes: list[PassName]
    """the passes in order"""


class Finding(TypedDict):
    """A network on which a check failed."""

    seed: int
    """the seed of the network"""
    check: str
    """the check"""
    what: str
    """the difference"""
    target: str
    """the platform"""
    files: str
    """path of the written files without extension"""
    nodes: int
    """number of nodes of the smallest network that fails"""


class Quality(TypedDict):
    """SQNR of networks with an operator."""

    graphs: int
    """number of networks"""
    sqnr_db: float | None
    """median SQNR"""
    excess_db: float | None
    """noise beyond the expected one"""
    most_excess_db: float | None
    """the largest of it"""


class Fuzz(Object):
    """`fuzz`: random networks."""

    graphs: int
    """number of networks"""
    plain: int
    """networks of operators that platforms have on codes"""
    converted: int
    """networks that became integer programs"""
    without_fallbacks: int
    """of these, programs without operators in float"""
    operators: dict[str, int]
    """networks by operator"""
    on_codes: dict[str, int]
    """networks by operator on codes"""
    outcomes: dict[str, dict[str, int]]
    """outcomes by check"""
    fallbacks: dict[str, int]
    """operators in float by reason"""
    quality: dict[str, Quality]
    """SQNR by operator"""
    refusals: dict[str, int]
    """networks that were rejected, by error"""
    skips: dict[str, int]
    """checks that could not run, by reason"""
    findings: list[Finding]
    """networks on which a check failed"""
    seconds: float
    """duration"""
