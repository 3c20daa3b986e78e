"""JSON of `quantize` and `inspect`."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from halfstep.report_rows import DeviationRow, DiagnosticRow, FloatRow, QuantizerRow
from reports.common import Object


class BatchNorms(TypedDict):
    """Batch norms of a prepared network."""

    folded: int
    """number of batch norms that are folded into the preceding layers (0 in `inspect --audit`)"""
    training: str
    """how training computes them: folded, frozen or live"""
    difference: float
    """change of a float layer by folding and other rewriting, relative to its largest value"""


class Distance(TypedDict):
    """A network beside the float one, on the samples for validation."""

    distance: float
    """distance of the outputs"""
    accuracy: NotRequired[float]
    """share of right answers"""
    agreement: NotRequired[float]
    """without labels, the share of answers that are those of the float network"""


class RepairStep(TypedDict):
    """A method of repair."""

    method: str
    """the method"""
    outcome: Literal["kept", "undone", "nothing"]
    """whether its result was kept"""
    what: str
    """the change"""
    before: Distance
    """before the method"""
    after: Distance
    """after it"""
    seconds: float
    """duration"""


class RepairReport(TypedDict):
    """The methods that `--repair` tried."""

    learned: int
    """number of samples for learning"""
    validation: int
    """number of samples for validation"""
    before: Distance
    """before all methods"""
    after: Distance
    """after all methods"""
    steps: list[RepairStep]
    """one for each method"""


class Quantize(Object):
    """`quantize`, `inspect --audit`: the quantizers of a prepared network."""

    platform: str
    """the platform's name"""
    record: str
    """the platform's record with all overrides"""
    quantizers: list[QuantizerRow]
    """one object for each quantizer, in the order of the network"""
    float: list[FloatRow]
    """operations in float; `convert` needs permission to keep them"""
    deviations: list[DeviationRow]
    """places where MQBench differs because of its quirks (`insert.quirks`)"""
    padded: list[str]
    """convolutions that got channels of zeros for the platform (`--pad-channels`)"""
    batch_norms: BatchNorms
    """folded batch norms"""
    samples: int
    """number of samples behind the ranges (0 if only bits were changed)"""
    preprocess: str
    """preprocessing of raw values"""
    notes: list[str]
    """notes on the samples, and values within a few steps"""
    repair: NotRequired[RepairReport]
    """with `--repair`"""


class InspectWhy(Object):
    """`inspect --why`: the reason why a value has a quantizer or none."""

    tensor: str
    """the tensor"""
    quantizers: list[QuantizerRow]
    """its quantizers"""
    float: str | None
    """the reason why its operation runs in float"""
    has_codes_of: str | None
    """the value with the same codes in another order"""
    goes_to: list[str]
    """the readers"""


class Target(TypedDict):
    """The network on a platform, with `--platform`. In Python, `inspect` returns it."""

    platform: str
    """the platform's name"""
    holds: bool
    """whether no command rejects the network"""
    objections: list[DiagnosticRow]
    """one for each place"""
    padded: list[str]
    """convolutions that `--pad-channels` would pad"""
    notes: list[str]
    """notes that `quantize` will add without rejecting the network"""
    float: list[FloatRow]
    """operations in float"""


class TargetReport(Object, Target):
    """`hs.inspect` in Python: the key `target` of `inspect --platform`."""


class Memory(TypedDict):
    """Bytes between the layers of a program."""

    planned: int
    """with shared memory"""
    naive: int
    """without sharing"""
    tensors: int
    """of stored tensors"""


class Instruction(TypedDict):
    """An instruction of a program."""

    name: str
    """the value that it computes"""
    op: str
    """the operator"""
    location: str
    """its place in the source file"""
    place: str
    """the device"""
    kernel: str
    """the kernel that runs"""
    refused: dict[str, str]
    """the reason of each kernel that was not chosen"""
    in_: dict[str, list[str]]
    """operands by port"""
    out: dict[str, list[str]]
    """results by port"""
    reads_results_of: list[int]
    """instructions that compute its operands"""
    waits_for_memory_of: list[int]
    """instructions that use its memory before"""


class ProgramValue(TypedDict):
    """A value of a program."""

    name: str
    """the value"""
    type: str
    """element type and extents"""
    place: str
    """the device"""
    bytes: int
    """size"""


class Inspect(Object):
    """`inspect MODEL`: the graph and the compiled program of a Model."""

    stage: Literal["float", "prepared", "integer"]
    """the stage"""
    name: str
    """the network"""
    graph: str
    """the graph as `.ir` text"""
    memory: Memory
    """memory of the program"""
    instructions: list[Instruction]
    """in the order of execution"""
    values: list[ProgramValue]
    """values between the instructions"""
    target: NotRequired[Target]
    """with `--platform`"""


class FilePort(TypedDict):
    """An input or output of a file."""

    name: str
    """the name"""
    type: str
    """element type and extents in the file"""
    taken_as: NotRequired[list[int]]
    """the extents that `inspect` compiled it for"""


class FileNode(TypedDict):
    """A node of a file."""

    op: str
    """the operator"""
    name: str
    """the name"""
    inputs: list[str]
    """inputs by name"""
    outputs: list[str]
    """outputs by name"""


class Unsupported(TypedDict):
    """An operator that cannot be imported."""

    operator: str
    """the operator"""
    reason: str
    """the reason"""
    count: int
    """number of nodes"""
    nodes: list[str]
    """their names"""
    nearest: str
    """the most similar operator that can be imported"""
    remedy: str
    """the remedy"""
    needs_values: bool
    """whether samples would decide it"""


class InspectFile(Object):
    """`inspect FILE`: an ONNX or Paddle file."""

    format: str
    """the format"""
    producer: str
    """the program that wrote it"""
    ir_version: NotRequired[int]
    """ONNX: version of the format"""
    program_version: NotRequired[int]
    """Paddle: version of the format"""
    opsets: NotRequired[dict[str, int]]
    """ONNX: version of each operator set"""
    inputs: list[FilePort]
    """inputs without stored values"""
    outputs: list[FilePort]
    """outputs"""
    parameters: int
    """number of stored numbers"""
    parameter_bytes: int
    """their size"""
    nodes: int
    """number of nodes"""
    operators: dict[str, int]
    """number of nodes of each operator"""
    graph: NotRequired[list[FileNode]]
    """with `--nodes`"""
    supported: bool
    """whether it can be imported"""
    unsupported: list[Unsupported]
    """operators that cannot be imported"""
    unchecked: int
    """nodes behind them, whose types are unknown"""
    flops: NotRequired[int | float]
    """operations of a sample, if it can be imported"""
    memory: NotRequired[Memory]
    """memory of the program, if it can be imported"""
    seconds: dict[str, float]
    """duration of each step"""
    target: NotRequired[Target]
    """with `--platform`"""
