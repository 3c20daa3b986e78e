"""JSON of `convert` and `export`."""

from __future__ import annotations

from halfstep.report_rows import AccumulatorRow, FloatRow
from reports.common import Object


class Convert(Object):
    """`convert`: the overflow proof of an integer program."""

    accumulators: list[AccumulatorRow]
    """each layer with sums: the largest magnitude (`accumulator_bound`) and the limit of the arithmetic (`accumulator_limit`)"""
    float: list[FloatRow]
    """operations in float"""


class Export(Object):
    """`export` to ONNX: the written file."""

    nodes: int
    """number of nodes"""
    approximated: list[str]
    """layers whose codes may differ"""


class ExportDeploy(Object):
    """`export --format deploy`: the written files."""

    files: list[str]
    """names in the folder"""


class ExportC(Object):
    """`export --format c`: the written program."""

    files: list[str]
    """names in the folder"""
    samples: int
    """samples in the test program"""
    weight_bytes: int
    """bytes of weights"""
    other_constant_bytes: int
    """bytes of other constants"""
    arena_bytes: int
    """bytes between layers"""
    uses_floats: bool
    """whether a run uses floating point"""
    float: list[str]
    """the layers that stay in float"""
