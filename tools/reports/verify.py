"""JSON of `verify` and `quickstart`."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from halfstep.report_rows import DeviationRow, FloatRow, LayerRow, QuantizerRow, ValidationRow
from reports.common import Number, Object


class Part(TypedDict):
    """The part of an output with the lowest SQNR."""

    sqnr_db: float | None
    """SQNR"""
    cosine: float | None
    """cosine"""
    axis: int
    """the axis of the part, -1 for the whole output"""
    index: int
    """its index on the axis"""


class OutputRow(TypedDict):
    """An output, compared with the float network."""

    sqnr_db: float | None
    """SQNR of all its elements"""
    cosine: float | None
    """cosine of all its elements"""
    name: str
    """the output"""
    worst: NotRequired[Part]
    """`worst`: the same for the part with the lowest SQNR, with its `axis` and `index`"""


class Accuracies(TypedDict):
    """Accuracy on the same samples."""

    float: Number
    """of the float network"""
    integer: Number
    """of the integer program"""


class FloatFault(TypedDict):
    """A value of the rewritten float network that differs."""

    value: str
    """the value"""
    index: int
    """position of the element"""
    prepared: float
    """the element after rewriting"""
    source: float
    """the element of the source model"""


class Floats(TypedDict):
    """Comparison of the source model with the rewritten float network, in float64."""

    values: int
    """number of values"""
    compared: int
    """number of elements"""
    faults: list[FloatFault]
    """differences"""
    structure: str
    """the part of the graphs that differs, or an empty text"""
    trained: bool
    """whether training changed the weights, so that values differ"""


class FirstInteger(TypedDict):
    """An integer that differs from the source model."""

    value: str
    """the value"""
    index: int
    """position of the element"""
    integer: int
    """the integer program's"""
    source: int
    """the source model's"""


class FirstMoved(TypedDict):
    """An output that depends on the batch."""

    output: str
    """the output"""
    sample: int
    """the sample"""
    difference: float
    """relative distance to the output of the sample alone"""


class WholeNetwork(TypedDict):
    """Comparison of the integer program with the source model on a whole batch."""

    holds: bool
    """whether nothing differs"""
    batch: int
    """number of samples"""
    integers: int
    """number of integers, such as indices"""
    differing: int
    """number of integers that differ"""
    moved: int
    """samples whose output depends on the batch"""
    first_integer: NotRequired[FirstInteger]
    """the first integer that differs"""
    first_moved: NotRequired[FirstMoved]
    """the first sample that depends on the batch"""


class VariantBegin(TypedDict):
    """A layer in which differences begin."""

    layer: str
    """the layer"""
    samples: int
    """number of samples"""


class Variant(TypedDict):
    """A form of an engine that may differ."""

    name: str
    """the form"""
    compared: int
    """number of codes"""
    differing: int
    """number of codes that differ"""
    largest: int
    """the largest difference"""
    begins: list[VariantBegin]
    """layers in which differences begin"""


class _Proof(TypedDict):
    equal: bool
    """whether no code differs"""
    samples: int
    """number of samples"""
    cosine: float | None
    """outputs compared with the float network"""
    outputs: list[OutputRow]
    """by output"""
    agreement: NotRequired[float]
    """share of answers that are those of the float network"""
    verdict: str
    """the last line of the text, a summary in one sentence"""
    semantics_unchecked: NotRequired[list[str]]
    """layers without a semantic check, because the source model has no value to compare"""
    notes: list[str]
    """notes on the samples, and values within a few steps"""
    floats: NotRequired[Floats]
    """the float network before and after rewriting"""
    whole_network: NotRequired[WholeNetwork]
    """the outputs of a whole batch"""
    layers: list[LayerRow]
    """by layer"""
    variants: NotRequired[list[Variant]]
    """forms of an engine that may differ"""


class Proof(_Proof):
    """The proof of an integer program."""

    accuracy: NotRequired[Accuracies]
    """if samples have labels"""


class Verify(Object, Proof):
    """`verify`: the comparison of prepared network, integer program and source model."""


class AllAccuracies(Accuracies):
    """Accuracy of each stage on the test split."""

    calibrated: Number
    """of the network after calibration"""
    finetuned: Number
    """of the network after fine-tuning"""


class Validation(TypedDict):
    """Validation results of a training."""

    samples: int
    """number of samples"""
    has_labels: bool
    """whether `accuracy` counts labels"""
    results: list[ValidationRow]
    """before training, then after each epoch"""
    teacher: NotRequired[ValidationRow]
    """the teacher's"""
    best_epoch: int
    """the epoch that was kept"""
    ended_below: bool
    """whether the last epoch is worse than the start"""


class ModelBytes(TypedDict):
    """Sizes of files."""

    float: int
    """the float network"""
    integer: int
    """the integer program"""


class Audit(TypedDict):
    """The quantizers, as of `quantize`."""

    quantizers: list[QuantizerRow]
    """one for each quantizer"""
    float: list[FloatRow]
    """operations in float"""
    deviations: list[DeviationRow]
    """places where MQBench differs"""


class Quickstart(Object, _Proof):
    """`quickstart`: the report of `verify` and of the steps before it."""

    platform: str
    """the platform"""
    data: str
    """the data set"""
    tested: str
    """the part that was tested"""
    accuracy: NotRequired[AllAccuracies]
    """the `accuracy` of the `calibrated` and `finetuned` networks beside the others"""
    validation: NotRequired[Validation]
    """validation results of fine-tuning"""
    seconds: dict[str, float]
    """duration by stage"""
    peak_rss_bytes: int
    """largest memory of the process"""
    model_bytes: ModelBytes
    """sizes of the networks"""
    weights_digest: str
    """digest of the trained weights"""
    audit: Audit
    """the quantizers"""
