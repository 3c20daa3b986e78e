"""JSON of `analyze`, `bits` and `report`."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from halfstep.report_rows import AssignmentRow, CostsRow, SensitivityRow, ValidationRow
from reports.common import Object
from reports.quantize import RepairReport
from reports.train import TrainingStages
from reports.verify import Proof, Validation


class _Analysis(TypedDict):
    network: str
    """the network"""
    platform: str
    """its platform"""
    samples: int
    """number of samples"""
    part: str
    """the part that they are from"""
    has_labels: bool
    """if false, `loss` is the distance to the float network, and `agreement` replaces `accuracy`"""
    in_float: ValidationRow
    """without quantizers"""
    rounded: ValidationRow
    """with all quantizers in float arithmetic"""
    on_codes: ValidationRow
    """on codes"""
    quantizers: list[SensitivityRow]
    """badly scaled quantizers first, then the most sensitive ones"""
    notes: list[str]
    """values that could not be computed, and the reason"""


class Analyze(Object, _Analysis):
    """`analyze`: the sensitivity of each quantizer."""


class Budget(TypedDict):
    """A budget."""

    of: Literal["latency", "size", "bitops"]
    """the cost"""
    most: float
    """milliseconds, bytes or operations"""


class Group(TypedDict):
    """Tensors that share one bit width."""

    tensor: str
    """the first tensor"""
    layer: str
    """its layer"""
    is_weight: bool
    """whether it is a weight"""
    bits: int
    """the chosen bit width"""
    before: int
    """the bit width before"""
    legal: list[int]
    """legal bit widths"""
    loss_alone: dict[str, float]
    """distance to the float network by bit width"""


class Bits(Object):
    """`bits`: the choice of bit widths."""

    network: str
    """the network"""
    platform: str
    """its platform"""
    samples: int
    """number of samples"""
    has_labels: bool
    """whether `accuracy` counts labels"""
    float_accuracy: NotRequired[float]
    """accuracy without quantizers"""
    float_agreement: NotRequired[float]
    """without labels"""
    budgets: list[Budget]
    """the limits"""
    groups: list[Group]
    """tensors that share one bit width"""
    before: AssignmentRow
    """the bit widths before"""
    chosen: AssignmentRow
    """the chosen bit widths"""
    measured: CostsRow
    """costs of the integer program; `latency_source` is the source of the times"""
    latency_source: str
    """the source of the times"""
    least_predicted_loss: float
    """the lowest predicted loss of legal bit widths within the budget"""
    gap: float
    """the distance of the chosen ones to it"""
    nodes: int
    """the nodes of the solver's search"""
    uniform: list[AssignmentRow]
    """the same bit width for all groups"""
    front: list[AssignmentRow]
    """the least predicted loss along the first budget"""
    notes: list[str]
    """notes"""
    repair: NotRequired[RepairReport]
    """if the network was corrected"""
    training: NotRequired[TrainingStages]
    """if the network was fine-tuned"""
    proof: NotRequired[Proof]
    """if the network was verified"""


class TriedBits(TypedDict):
    """An assignment of bit widths."""

    kind: Literal["front", "uniform", "chosen"]
    """its origin"""
    what: str
    """the assignment"""
    bytes: int | float
    """size of the weights"""
    loss: float
    """distance to the float network"""


class LayerTime(TypedDict):
    """Time of a layer in the integer program."""

    layer: str
    """the layer"""
    microseconds: float
    """time"""


class WorstSample(TypedDict):
    """A sample with a wrong answer, or far from the float network."""

    sample: int
    """its number"""
    label: str
    """its label"""
    in_float: str
    """answer of the float network"""
    on_codes: str
    """answer of the integer program"""


class Report(Object):
    """`report`: the data of the page."""

    network: str
    """the network"""
    platform: str
    """its platform"""
    verdict: str
    """a summary in one sentence"""
    validation: str
    """the accuracies in one line"""
    layers: list[str]
    """layers of the page"""
    analysis: Analyze
    """the report of `analyze`"""
    proof: Proof | None
    """the report of `verify`; `null` without an integer program"""
    training: NotRequired[Validation]
    """validation results of a training"""
    bit_widths: NotRequired[list[TriedBits]]
    """with `--bits-report`"""
    times: list[LayerTime]
    """times of the integer program"""
    wrong: int
    """number of wrong answers"""
    worst: list[WorstSample]
    """the worst samples"""
