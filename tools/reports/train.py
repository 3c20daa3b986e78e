"""JSON of `train`, `eval` and `data`."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from reports.common import Object
from reports.verify import Validation


class OperatorTime(TypedDict):
    """An operator of a training step."""

    operator: str
    """the operator"""
    kernel: str
    """its kernel"""
    calls: float
    """calls per step"""
    milliseconds: float
    """time per step"""


class Training(TypedDict):
    """A training."""

    digest: str
    """digest of the saved network"""
    accuracy: float | None
    """accuracy of the saved network; `null` without labels"""
    loss: float
    """loss of the last epoch"""
    samples: int
    """number of samples for training"""
    tested: str
    """the part that was tested"""
    notes: list[str]
    """notes"""
    first_epoch: int
    """the epoch that the run began with"""
    epochs: int
    """number of epochs"""
    was_finished: bool
    """whether an earlier run had already finished"""
    step_milliseconds: float
    """time of a step"""
    frozen_weights: int
    """number of weights that are frozen because they oscillated"""
    renormalized: str
    """result of `--renormalize`"""
    tested_loss: NotRequired[float]
    """only with `--loss`: this loss on the part that was tested"""
    validation: NotRequired[Validation]
    """the validation results"""
    operators: NotRequired[list[OperatorTime]]
    """only with `--profile`"""
    bits: NotRequired[str]
    """bit widths of this stage, with `--bits-schedule`"""


class TrainingStages(Training):
    """A training with all its stages."""

    stages: NotRequired[list[Training]]
    """each stage, with `--bits-schedule`"""


class Train(Object, TrainingStages):
    """`train`: the saved network and its results."""


class ClassCount(TypedDict):
    """A class of a data set."""

    name: str
    """the class"""
    samples: int
    """number of samples"""


class SizeCount(TypedDict):
    """A size of pictures."""

    pixels: str
    """width and height"""
    samples: int
    """number of samples"""


class DataParts(TypedDict):
    """Numbers of samples of the parts."""

    train: int
    """training"""
    val: int
    """validation"""
    test: int
    """test"""
    tested: str
    """the part that commands test"""


class Data(Object):
    """`data`: a data set."""

    name: str
    """the data set"""
    form: str
    """its layout"""
    samples: int
    """number of samples"""
    classes: list[ClassCount]
    """empty without labels"""
    parts: DataParts
    """the split"""
    sample: list[int]
    """extents of a sample"""
    sizes: list[SizeCount]
    """sizes of pictures, the most frequent first"""
    raw: bool
    """whether values are bytes, which preprocessing scales"""
    measured: int
    """number of samples behind the statistics"""
    inputs: NotRequired[dict[str, str]]
    """types of several inputs by name"""
    targets: NotRequired[dict[str, str]]
    """types of targets by name"""
    least: NotRequired[float]
    """the least value, if samples were measured"""
    most: NotRequired[float]
    """the largest value"""
    mean: NotRequired[list[float]]
    """mean by channel"""
    std: NotRequired[list[float]]
    """standard deviation by channel"""
    skipped: list[str]
    """files that could not be read"""


class Top(TypedDict):
    """Result of `--top`."""

    outputs: int
    """number of largest outputs"""
    accuracy: float
    """share of labels among them"""


class Eval(Object):
    """`eval`: the accuracy of a network."""

    stage: Literal["float", "prepared", "integer"]
    """the stage"""
    accuracy: float
    """share of labels with the largest output"""
    loss: float
    """mean cross entropy in nats"""
    samples: int
    """number of samples"""
    tested: str
    """the part that was tested"""
    notes: list[str]
    """notes on the samples"""
    top: NotRequired[Top]
    """with `--top`"""
