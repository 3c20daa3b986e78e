"""Objects inside of reports. Only type checkers and tools/schemas.py import this module.

tools/schemas.py makes JSON Schemas and docs/reference/reports.md of these classes and of halfstep.report_objects.
"""

from __future__ import annotations

from typing import Literal, TypedDict


class RequantizationRow(TypedDict):
    """A requantization multiplier."""

    what: str
    """the value that is rescaled"""
    least: float
    """the least of all channels"""
    most: float
    """the largest of all channels"""
    words: str
    """the same as text"""


class QuantizerRow(TypedDict):
    """A quantizer of a prepared network."""

    kind: Literal["weight", "activation"]
    """the kind of tensor"""
    tensor: str
    """the tensor that has codes, with its name in the source file"""
    layer: str | None
    """the operation that computes the value or reads the weight; `null` for the network's inputs"""
    op: str | None
    """the operator of this operation"""
    inside: str | None
    """the enclosing branch or loop"""
    activation: str
    """the fused activation function, or `none`"""
    bits: int
    """bit width of the codes"""
    code_type: str
    """element type of the codes"""
    code_min: int
    """the least code"""
    code_max: int
    """the largest code"""
    symmetric: bool
    """whether zero points are 0 for any observed range"""
    power_of_two: bool
    """whether scales are powers of two for any observed range"""
    axis: int | None
    """the axis of the scales, `null` for one scale"""
    scale: list[float]
    """by channel; real = (code - zero point) * scale"""
    zero_point: list[int]
    """by channel"""
    range: list[list[float]] | None
    """the representable range by channel: the least and the largest real value of a code; `null` before calibration"""
    shares: list[str]
    """other tensors in the shared scale group"""
    observer: str
    """the observer that finds the range"""
    quantizer: str
    """the kind of quantizer, such as `fixed`, `lsq` or `pact` (section 2 of the arithmetic)"""
    requantization: list[RequantizationRow]
    """the multipliers of the operation that computes the value"""
    reason: str
    """the operation that requested this quantizer or, if the platform has rules (`insert:`), the rule"""


class FloatRow(TypedDict):
    """An operator that stays in float."""

    operator: str
    """the operator"""
    tensor: str
    """its result"""
    reason: str
    """why it has no codes"""


class DeviationRow(TypedDict):
    """A place where MQBench differs."""

    tensor: str
    """the tensor"""
    what: str
    """the difference"""


class _ValidationRow(TypedDict):
    loss: float
    """the loss, or without labels the distance to the float network"""


class ValidationRow(_ValidationRow, total=False):
    """Validation result of a network."""

    accuracy: float
    """share of right answers"""
    agreement: float
    """without labels, the share of answers that are those of the float network"""


class AccumulatorRow(TypedDict):
    """The largest magnitude of a layer's sums, and the limit of the arithmetic."""

    layer: str
    """the layer"""
    accumulator_bound: int
    """the largest magnitude that its sums can reach"""
    accumulator_limit: int
    """the limit of the arithmetic"""


class _ErrorRow(TypedDict):
    id: str
    """the id, for `halfstep explain`"""
    name: str
    """the name in the catalogue"""
    kind: Literal["bad_input", "unsupported", "interrupted", "internal"]
    """the kind, which decides the exit code"""
    layer: str
    """the layer; empty if it concerns the whole network"""
    where: str
    """file, line, node or option"""
    problem: str
    """the problem, where `found` and `expected` do not say it"""
    found: str
    """the value found"""
    expected: str
    """the values allowed"""
    remedy: str
    """the remedy; never empty in `inspect --platform`"""
    file: str
    """the file in `where`, if it names one"""
    line: int | None
    """the line of the file"""
    node: str
    """the node in `where`, if it names one"""


class ErrorRow(_ErrorRow):
    """An error, or a problem in a file. Absent parts are empty texts."""


class DiagnosticRow(_ErrorRow):
    """A problem that prevents a network from running on a platform."""

    verb: str
    """the command that rejects it: `quantize`, `convert` or `train`"""


class PlaceRow(TypedDict, total=False):
    """The first difference of a layer. The two codes have the names of the sides that were compared."""

    what: str
    """the value that differs"""
    index: int
    """position in the order of elements"""
    nhwc_index: int
    """position with channels last"""
    sample: int
    """the sample"""
    position: list[int]
    """position in the axes of the network"""
    training: int | float
    """the code of the prepared network"""
    integer: int | float
    """the code of the integer program"""
    engine: int | float
    """the code of the other engine"""
    source: int | float
    """the code that follows from the source model"""
    real: float
    """the real number of the source model"""
    operator: str
    """the operation in the source model"""
    inside: str
    """the enclosing branch or loop"""


class _SemanticsRow(TypedDict):
    compared: int
    """number of codes"""
    near_ties: int
    """codes that differ by one, because the source model's value lies almost between two codes"""
    beyond: int
    """codes that differ otherwise"""
    largest: int
    """the largest difference"""


class SemanticsRow(_SemanticsRow, total=False):
    """The semantic check of a layer's codes against the source model."""

    first: PlaceRow
    """the first code in `beyond`"""


class _LayerRow(TypedDict):
    name: str
    """the layer"""
    op: str
    """the operator"""
    weight_bits: int | None
    """bit width of the weights"""
    activation_bits: int
    """bit width of the result"""
    scale: float
    """scale of the result"""
    sqnr_db: float | None
    """signal to quantization noise against float, at most 200"""
    compared: int
    """number of codes"""
    differing: int
    """number of codes that differ"""
    parameters_compared: int
    """number of stored codes"""
    parameters_differing: int
    """number of stored codes that differ"""


class LayerRow(_LayerRow, total=False):
    """A layer that was compared."""

    inside: str
    """the enclosing branch or loop"""
    engine_compared: int
    """number of codes of another engine"""
    engine_differing: int
    """number of codes of another engine that differ"""
    first_parameter: PlaceRow
    """the first stored code that differs"""
    first_activation: PlaceRow
    """the first code of the result that differs"""
    first_engine: PlaceRow
    """the first code of another engine that differs"""
    semantics: SemanticsRow
    """the semantic check against the source model"""


class LayoutRow(TypedDict):
    """The form of a dumped value."""

    order: str
    """order of the axes"""
    packing: str
    """how codes of fewer than 8 bits share bytes"""
    offset: bool
    """whether signed codes are stored with an offset"""
    border: list[int]
    """rows and columns around each image: top, bottom, left, right"""
    big_endian: bool
    """byte order"""


class _DumpRow(TypedDict):
    name: str
    """the value"""
    layer: str
    """its layer"""
    op: str
    """the operator that computes it"""
    what: str
    """`activation`, or the port of a parameter"""
    shape: list[int]
    """extents"""
    type: str
    """element type"""
    layout: LayoutRow
    """order, packing and border"""
    file: str
    """the file in the folder"""
    format: str
    """`bin`, `npy` or `txt`"""
    bytes: int
    """size of the file"""
    sha256: str
    """digest of the file"""
    md5: str
    """digest of the file"""


class DumpRow(_DumpRow, total=False):
    """A file of a dump. For codes it includes scale, zero point and code range."""

    scale: float | list[float] | None
    """scale of the codes, or one for each channel"""
    zero_point: int | list[int]
    """zero point, or one for each channel"""
    code_min: int
    """the least code"""
    code_max: int
    """the largest code"""


class GuessRow(TypedDict):
    """A possible cause of the first difference."""

    name: str
    """the hypothesis"""
    sentence: str
    """the same in words"""
    proof: Literal["exact", "place", "near", "partial"]
    """how much the hypothesis explains"""
    differing: int
    """elements that differ if it is applied"""
    compared: int
    """elements that were compared"""


class OutlierRow(TypedDict):
    """A channel with far larger values than the others."""

    channel: int
    """the channel"""
    ratio: float
    """its largest value, relative to that of the median channel"""


class ChannelsRow(TypedDict):
    """The channels of a value."""

    spread: float
    """the largest range, relative to that of the median channel"""
    outliers: list[OutlierRow]
    """channels far above the median"""


class ObserverRow(TypedDict):
    """The range that an observer would choose."""

    observer: str
    """the observer"""
    low: float
    """lower end"""
    high: float
    """upper end"""
    sqnr_db: float | None
    """SQNR with this range"""


class HistogramRow(TypedDict):
    """A histogram of equal bins."""

    low: float
    """lower end"""
    high: float
    """upper end"""
    counts: list[int]
    """number of values in each bin"""


class _SensitivityRow(TypedDict):
    quantizer: str
    """its name in the graph"""
    place: str
    """its position in words"""
    tensor: str
    """its tensor"""
    layer: str
    """its operation"""
    operator: str
    """the operator of this operation"""
    is_weight: bool
    """whether the tensor is a weight"""
    bits: int
    """bit width"""
    observer: str
    """the observer that found the range"""
    scale: list[float]
    """scales by channel"""
    zero_point: list[int]
    """zero points by channel"""
    elements: int
    """number of values of the float network that were read"""
    low: float
    """the least value"""
    high: float
    """the largest value"""
    code_low: float
    """lower end of the representable range"""
    code_high: float
    """upper end of the representable range"""
    sqnr_db: float | None
    """SQNR of the float network's values, at most 200"""
    cosine: float
    """cosine of the float network's values"""
    clipped: float
    """share of clipped values"""
    is_badly_scaled: bool
    """whether it is badly scaled"""
    alone: ValidationRow
    """change with this quantizer alone"""
    up_to: ValidationRow
    """change with all quantizers up to this one"""
    without: ValidationRow
    """change with all quantizers except this one"""
    sensitivity: float
    """the sensitivity"""
    channels: ChannelsRow
    """spread and outliers of the channels"""
    observers: list[ObserverRow]
    """other observers"""
    histogram: HistogramRow
    """the float network's values"""
    suggestions: list[str]
    """findings, each with the options that were tried and help"""


class CumulativeRow(TypedDict):
    """Values of the network with all quantizers, compared with the float network."""

    sqnr_db: float | None
    """SQNR, at most 200"""
    cosine: float
    """cosine"""


class TraceOfHessianRow(TypedDict):
    """Trace of the Hessian by random directions."""

    mean: float
    """mean"""
    error: float
    """standard error"""


class SensitivityRow(_SensitivityRow, total=False):
    """The sensitivity of a quantizer."""

    unused_codes: float
    """share of unused codes; absent with uneven levels"""
    wasted_bits: float
    """bits that the median channel never uses; absent with uneven levels"""
    cumulative: CumulativeRow
    """for activations, `sqnr_db` and `cosine` in the network with all quantizers"""
    hessian_trace: TraceOfHessianRow
    """present if gradients exist"""
    gradient_score: float
    """the score; present if gradients exist"""


class CostsRow(TypedDict):
    """Costs of an assignment of bit widths."""

    size: float
    """bytes"""
    bitops: float
    """products of bits"""
    latency_ms: float | None
    """milliseconds; `null` if latency is no budget"""


class _AssignmentRow(TypedDict):
    what: str
    """the origin of the assignment"""
    bit_widths: list[int]
    """in the order of the groups"""
    costs: CostsRow
    """size, operations and latency"""
    predicted_loss: float
    """the predicted loss"""
    loss: float
    """distance to the float network, measured"""


class AssignmentRow(_AssignmentRow, total=False):
    """Bit widths of all groups, with their cost and effect."""

    accuracy: float
    """share of right answers"""
    agreement: float
    """without labels, the share of answers that are those of the float network"""
