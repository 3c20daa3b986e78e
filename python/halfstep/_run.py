"""Implementation of the verbs. `halfstep.verbs` has their options and docstrings."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, cast

from halfstep import _core
from halfstep.datasets import LABELS, Data, load
from halfstep.functions import network_for
from halfstep.model import Model
from halfstep.progress import Progress, callback
from halfstep.quantizers import Quantizer, check, put
from halfstep.renamed import renamed, users_level, warn
from halfstep.reports import (
    AnalyzeReport,
    AuditReport,
    BitAllocationReport,
    CompareReport,
    Diagnostics,
    DumpReport,
    EvalResult,
    ExportResult,
    OverflowReport,
    TrainReport,
    VerifyReport,
)

if TYPE_CHECKING:
    from halfstep import options as given


def _warn(notes: list[str]) -> None:
    for note in notes:
        warnings.warn(note, stacklevel=users_level())


def _path(name: str, path: str | os.PathLike[str]) -> str:
    text = os.fspath(path)
    if not text:
        raise _core.error("empty_argument", name)
    return text


def inspect(network: Model, options: given.InspectOptions, progress: Progress) -> Diagnostics:
    return Diagnostics(*_core.inspect(network.core, options, callback(progress)))


def quantize(
    network: Model | Callable[..., Any],
    data: Data,
    quantizers: Mapping[str, Quantizer] | None,
    options: given.QuantizeOptions,
    progress: Progress,
) -> Model:
    check(quantizers or {})
    if not isinstance(network, Model):
        data = load(data)
        network = network_for(network, data)
    samples = load(data, network)
    prepared, text, values = _core.quantize(network.core, samples, options, callback(progress))
    audit = AuditReport(text, values)
    _warn(audit.values["notes"])
    if quantizers:
        prepared, text, values = put(prepared, quantizers)
        audit = AuditReport(text, values)
    return Model(prepared, audit)


@renamed(weights="weight_bits", features="activation_bits")
def change_bits(prepared: Model, layers: str, *, weight_bits: int | None = None, activation_bits: int | None = None) -> Model:
    """Change the bit widths of some layers of a prepared network. The observed ranges do not change.

    Args:
        prepared: A prepared network. It is not modified.
        layers: Pattern of layer names, with `*` and `?` as in file names.
        weight_bits: Bit width of the weights. Range: 1 to 32. None leaves it as it is.
        activation_bits: Bit width of the activations. Range: 1 to 32. None leaves it as it is.

    Returns:
        The changed network. Its `report` is an AuditReport.

    Raises:
        UnsupportedError: The platform does not allow the bit width. The message names every operator.

    Example:
        mixed = hs.change_bits(prepared, "conv*", weight_bits=4)
    """
    changed, text, values = _core.change_bits(prepared.core, _path("layers", layers), weight_bits, activation_bits)
    return Model(changed, AuditReport(text, values))


def train(network: Model, data: Data, teacher: Model | Sequence[Model], options: given.TrainOptions, progress: Progress) -> TrainReport:
    samples = load(data, network)
    teachers = [one.core for one in ([teacher] if isinstance(teacher, Model) else teacher)]
    name, make = "", None
    if callable(options.loss):
        from halfstep.given_loss import without_function  # Imported here because it loads twenty modules.

        name, make, options = without_function(options)
    text, values = _core.train(network.core, samples, teachers, name, make, options, callback(progress))
    fit = TrainReport(text, values)
    _warn(fit.values["notes"])
    return fit


def convert(prepared: Model, options: given.ConvertOptions, progress: Progress) -> Model:
    integer, text, values = _core.convert(prepared.core, options, callback(progress))
    return Model(integer, OverflowReport(text, values))


def verify(prepared: Model, program: Model, data: Data, options: given.VerifyOptions, progress: Progress) -> VerifyReport:
    samples = load(data, prepared)
    equal, text, values = _core.verify(prepared.core, program.core, samples, options, callback(progress))
    proof = VerifyReport(equal, text, values)
    _warn(proof.values["notes"])
    return proof


def bits(network: Model, data: Data, options: given.BitsOptions, progress: Progress) -> Model:
    chosen, text, values = _core.bits(network.core, load(data, network), options, callback(progress))
    report = BitAllocationReport(text, values)
    _warn(report.values["notes"])
    return Model(chosen, report)


def analyze(network: Model, data: Data, options: given.AnalyzeOptions, progress: Progress) -> AnalyzeReport:
    analysis = AnalyzeReport(*_core.analyze(network.core, load(data, network), options, callback(progress)))
    _warn(analysis.values["notes"])
    return analysis


def evaluate(
    network: Model, data: Data, metric: Callable[[Any, Any], float] | None, options: given.EvalOptions, progress: Progress
) -> EvalResult:
    if metric is not None:
        warn("evaluate: for your own metric, call evaluate_metric(network, batches, metric)")
        if options.preprocess is not None:
            raise TypeError("evaluate: preprocess applies to raw samples; a metric receives batches in the form that the network takes")
        return evaluate_metric(network, cast("Iterable[Any]", data), metric)
    found = _core.evaluate(network.core, load(data, network), options, callback(progress))
    _warn(found.notes)
    return EvalResult(found.accuracy, found.samples, found.top, found.tested, found.loss)


def evaluate_metric(network: Model, batches: Iterable[Any], metric: Callable[[Any, Any], float]) -> EvalResult:
    """Compute the mean of a user-defined metric over batches, weighted by the number of samples.

    Args:
        network: A network of any stage.
        batches: Batches in the form that the network takes, without preprocessing or a split. A batch is a pair (x,
            labels), a dict of arrays by input name (optionally with "labels"), or an array. A single batch is also
            accepted.
        metric: Called with the outputs of a batch (an array, or a dict of arrays) and its labels (None without labels).

    Returns:
        The mean as an EvalResult.

    Raises:
        Error: There is no batch.

    Example:
        hs.evaluate_metric(net, (x, y), lambda outputs, labels: (outputs.argmax(1) == labels).mean())
    """
    total, samples = 0.0, 0
    for arrays, labels, count in _pairs(batches):
        total += count * float(metric(network(**arrays) if isinstance(arrays, dict) else network(arrays), labels))
        samples += count
    if samples == 0:
        raise _core.error("no_batch", "evaluate_metric")
    return EvalResult(total / samples, samples)


def _pairs(data: Any) -> Iterator[tuple[Any, Any, int]]:
    """Yield inputs, labels and the number of samples of each batch."""
    whole = isinstance(data, (Mapping, tuple)) or hasattr(data, "__dlpack__")
    for item in cast("Iterable[Any]", [data] if whole else data):
        if isinstance(item, Mapping):
            arrays = dict(cast("Mapping[str, Any]", item))
            labels = arrays.pop(LABELS, None)
            yield arrays, labels, len(next(iter(arrays.values())))
        elif isinstance(item, (tuple, list)):
            parts = list(cast("Sequence[Any]", item))
            yield parts[0], parts[1] if len(parts) > 1 else None, len(parts[0])
        else:
            yield item, None, len(item)


def dump(network: Model, path: str | os.PathLike[str], data: Data, options: given.DumpOptions, progress: Progress) -> DumpReport:
    path = _path("path", path)
    return DumpReport(path, *_core.dump(network.core, load(data, network), path, options, callback(progress)))


def compare(
    first: Model | str | os.PathLike[str], second: str | os.PathLike[str], data: Data, options: given.CompareOptions, progress: Progress
) -> CompareReport:
    second = _path("second", second)
    if isinstance(first, Model):
        return CompareReport(*_core.compare(first.core, "", second, load(data, first), options, callback(progress)))
    samples = None if data is None else load(data)
    return CompareReport(*_core.compare(None, _path("first", first), second, samples, options, callback(progress)))


def export(network: Model, path: str | os.PathLike[str], data: Data, options: given.ExportOptions, progress: Progress) -> ExportResult:
    path = _path("path", path)
    samples = None if data is None else load(data, network)
    if options.format == "c":
        files, memory, constants, fallbacks = _core.export_c(network.core, path, samples, options, callback(progress))
        return ExportResult(path, 0, fallbacks, files, memory, constants)
    if options.format == "deploy":
        return ExportResult(path, 0, [], _core.export_deploy(network.core, path, options.overwrite))
    return ExportResult(path, *_core.export(network.core, path, options, callback(progress)))
