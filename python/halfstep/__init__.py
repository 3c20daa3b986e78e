"""Halfstep quantizes neural networks, and the integers on the device equal those of training, bit for bit.

    import halfstep as hs

    net = hs.load("resnet20.onnx")
    prepared = hs.quantize(net, "onnxruntime_int8", data=samples)
    fit = hs.train(prepared, samples, epochs=3)
    program = hs.convert(prepared)
    proof = hs.verify(prepared, program, samples)
    assert proof.equal
    hs.export(program, "resnet20_int8.onnx", format="qoperator")

The verbs are the commands of the command line and the functions of C++. They take and return networks in memory. The
functions of halfstep.ops are single operators. They take NumPy arrays and CPU tensors of any library that supports
DLPack.

Halfstep imports NumPy when it makes the first array. Without NumPy, arrays are objects that support DLPack and the
buffer protocol (`memoryview(y).tolist()`).
"""

import importlib
import operator
import sys
from typing import TYPE_CHECKING, Any

from halfstep import _core, datasets, losses, nn, ops, optim
from halfstep._core import (
    AbsentResultError,
    Error,
    InternalError,
    Results,
    UnsupportedError,
    __version__,
    explain,
    platforms,
    set_threads,
    threads,
)
from halfstep.arrays import array, matmul
from halfstep.calls import (
    argmax,
    clip,
    exp,
    expand_dims,
    log,
    maximum,
    minimum,
    relu,
    sigmoid,
    softmax,
    sqrt,
    squeeze,
    tanh,
)
from halfstep.creation import arange, full, normal, ones, seed, uniform, zeros, zeros_like
from halfstep.differentiation import grad, gradients, value_and_grad
from halfstep.dtypes import (
    bfloat16,
    bool_,
    dtype,
    float16,
    float32,
    float64,
    int2,
    int4,
    int8,
    int16,
    int32,
    int64,
    uint2,
    uint4,
    uint8,
    uint16,
    uint32,
    uint64,
)
from halfstep.datasets import Data, Dataset, inspect_data
from halfstep.functions import network
from halfstep.jit import Captured, Programs, cond, jit, scan, trace, while_loop
from halfstep.joining import concat, stack, where
from halfstep.model import Layer, Layers, Model, create_network, load
from halfstep.platform_record import Platform
from halfstep.quantizers import Quantizer
from halfstep.reports import (
    AnalyzeReport,
    AuditReport,
    BitAllocationReport,
    CompareReport,
    DataReport,
    Diagnostics,
    DumpReport,
    EvalResult,
    ExportResult,
    OverflowReport,
    TrainReport,
    VerifyReport,
)
from halfstep.switches import capture, device, enable_grad, is_training, no_grad, train_mode
from halfstep.torch_import import from_torch
from halfstep._run import change_bits, evaluate_metric
from halfstep.verbs import analyze, bits, compare, convert, dump, evaluate, export, inspect, quantize, train, verify

if TYPE_CHECKING:
    from halfstep import options

__all__ = [
    "AbsentResultError",
    "AnalyzeReport",
    "AuditReport",
    "BitAllocationReport",
    "Captured",
    "CompareReport",
    "Data",
    "DataReport",
    "Dataset",
    "Diagnostics",
    "DumpReport",
    "Error",
    "EvalResult",
    "ExportResult",
    "InternalError",
    "Layer",
    "Layers",
    "Model",
    "OverflowReport",
    "Platform",
    "Programs",
    "Quantizer",
    "Results",
    "TrainReport",
    "UnsupportedError",
    "VerifyReport",
    "__version__",
    "analyze",
    "arange",
    "argmax",
    "array",
    "bfloat16",
    "bits",
    "bool_",
    "capture",
    "change_bits",
    "clip",
    "compare",
    "concat",
    "cond",
    "convert",
    "create_network",
    "datasets",
    "device",
    "dtype",
    "dump",
    "enable_grad",
    "evaluate",
    "evaluate_metric",
    "exp",
    "expand_dims",
    "explain",
    "export",
    "float16",
    "float32",
    "float64",
    "from_torch",
    "full",
    "grad",
    "gradients",
    "inspect",
    "inspect_data",
    "int2",
    "int4",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_training",
    "jit",
    "load",
    "log",
    "losses",
    "matmul",
    "maximum",
    "minimum",
    "network",
    "nn",
    "no_grad",
    "normal",
    "ones",
    "ops",
    "optim",
    "options",
    "platforms",
    "quantize",
    "relu",
    "scan",
    "seed",
    "set_threads",
    "sigmoid",
    "softmax",
    "sqrt",
    "squeeze",
    "stack",
    "tanh",
    "threads",
    "trace",
    "train",
    "train_mode",
    "uint2",
    "uint4",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uniform",
    "value_and_grad",
    "verify",
    "where",
    "while_loop",
    "zeros",
    "zeros_like",
]


_core.set_package(__path__[0])


_RENAMED = {
    "Analysis": "AnalyzeReport",
    "Audit": "AuditReport",
    "Comparison": "CompareReport",
    "Dump": "DumpReport",
    "Exported": "ExportResult",
    "Fit": "TrainReport",
    "Objections": "Diagnostics",
    "Proof": "VerifyReport",
    "Proofs": "OverflowReport",
    "Score": "EvalResult",
    "Widths": "BitAllocationReport",
    "dataset": "datasets.load",
}


def __getattr__(name: str) -> Any:
    """halfstep.magik needs PyTorch, and halfstep.options needs dataclasses. Both are imported on first use."""
    if name in ("magik", "options"):
        return importlib.import_module(f"halfstep.{name}")
    if name in _RENAMED:
        from halfstep.renamed import warn

        warn(f"halfstep.{name} is now halfstep.{_RENAMED[name]}")
        return operator.attrgetter(_RENAMED[name])(sys.modules[__name__])
    raise AttributeError(f"module 'halfstep' has no attribute {name!r}")
