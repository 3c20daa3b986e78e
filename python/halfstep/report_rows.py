"""The rows of reports, with the keys of docs/reference/reports.md. Only type checkers import this module."""

from __future__ import annotations

from typing import Any, Literal, TypedDict


class QuantizerRow(TypedDict):
    """A quantizer of a prepared network."""

    kind: Literal["weight", "activation"]
    tensor: str
    layer: str | None
    op: str | None
    inside: str | None
    activation: str
    bits: int
    code_type: str
    code_min: int
    code_max: int
    symmetric: bool
    power_of_two: bool
    axis: int | None
    scale: list[float]
    zero_point: list[int]
    range: list[list[float]] | None
    shares: list[str]
    observer: str
    quantizer: str
    requantization: list[dict[str, Any]]
    reason: str


class FloatRow(TypedDict):
    """An operator that stays in float."""

    operator: str
    tensor: str
    reason: str


class ValidationRow(TypedDict, total=False):
    """Validation result of a network."""

    loss: float
    accuracy: float
    agreement: float


class AccumulatorRow(TypedDict):
    """The largest magnitude of a layer's sums, and the limit of the arithmetic."""

    layer: str
    accumulator_bound: int
    accumulator_limit: int


class DiagnosticRow(TypedDict):
    """A problem that prevents a network from running on a platform."""

    verb: str
    id: str
    name: str
    kind: str
    layer: str
    where: str
    problem: str
    found: str
    expected: str
    remedy: str
    file: str
    line: int | None
    node: str


class _LayerRow(TypedDict):
    name: str
    op: str
    weight_bits: int | None
    activation_bits: int
    scale: float
    sqnr_db: float | None
    compared: int
    differing: int
    parameters_compared: int
    parameters_differing: int


class LayerRow(_LayerRow, total=False):
    """A layer that was compared."""

    inside: str
    engine_compared: int
    engine_differing: int
    first_parameter: dict[str, Any]
    first_activation: dict[str, Any]
    first_engine: dict[str, Any]
    semantics: dict[str, Any]


class _DumpRow(TypedDict):
    name: str
    layer: str
    op: str
    what: str
    shape: list[int]
    type: str
    layout: dict[str, Any]
    file: str
    format: str
    bytes: int
    sha256: str
    md5: str


class DumpRow(_DumpRow, total=False):
    """A file of a dump. For codes it includes scale, zero point and code range."""

    scale: float | list[float]
    zero_point: int | list[int]
    code_min: int
    code_max: int


class GuessRow(TypedDict):
    """A possible cause of the first difference."""

    name: str
    sentence: str
    proof: Literal["exact", "place", "near", "partial"]
    differing: int
    compared: int


class _SensitivityRow(TypedDict):
    quantizer: str
    place: str
    tensor: str
    layer: str
    operator: str
    is_weight: bool
    bits: int
    observer: str
    scale: list[float]
    zero_point: list[int]
    elements: int
    low: float
    high: float
    code_low: float
    code_high: float
    sqnr_db: float | None
    cosine: float
    clipped: float
    is_badly_scaled: bool
    alone: dict[str, float]
    up_to: dict[str, float]
    without: dict[str, float]
    sensitivity: float
    channels: dict[str, Any]
    observers: list[dict[str, Any]]
    histogram: dict[str, Any]
    suggestions: list[str]


class SensitivityRow(_SensitivityRow, total=False):
    """The sensitivity of a quantizer."""

    unused_codes: float
    wasted_bits: float
    cumulative: dict[str, float | None]
    hessian_trace: dict[str, float]
    gradient_score: float


class _AssignmentRow(TypedDict):
    what: str
    bit_widths: list[int]
    costs: dict[str, float | None]
    predicted_loss: float
    loss: float


class AssignmentRow(_AssignmentRow, total=False):
    """Bit widths of all groups, with their cost and effect."""

    accuracy: float
    agreement: float
