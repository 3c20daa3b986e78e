"""What is done to networks: the words of the command line and of C++."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Callable, Union, cast

from halfstep import _core
from halfstep.data import LABELS, Data, dataset
from halfstep.functions import network_for
from halfstep.model import Model
from halfstep.progress import Progress, callback
from halfstep.reports import Analysis, Audit, Comparison, Dump, Exported, Fit, Objections, Proof, Proofs, Score, Widths

Preprocess = Union[str, Mapping[str, Any]]
"""From raw values to what a network takes, the words of the command line: "imagenet", "cifar10" or "unit", or a dict.

Pictures: resize (of the short side), size (height, width), crop (of the middle), ignore_orientation. Values:
x = (value * scale - mean) / std, by channel; preset gives the three by name. And bgr, channels_last. What is said
travels with the network; what is not said stays as it was.
"""

_KEYS = ("preset", "scale", "mean", "std", "bgr", "channels_last", "resize", "crop", "size", "ignore_orientation")
_LISTS = ("mean", "std")


def _preprocess_text(preprocess: Preprocess | None) -> str | None:
    if preprocess is None:
        return None
    given = {"preset": preprocess} if isinstance(preprocess, str) else preprocess
    unknown = sorted(given.keys() - set(_KEYS))
    if unknown:
        raise TypeError(f"preprocess: found {unknown[0]!r}, expected one of {', '.join(_KEYS)}")
    return json.dumps({key: _by_channel(value) if key in _LISTS else value for key, value in given.items()})


def _warn(notes: list[str]) -> None:
    for note in notes:
        warnings.warn(note, stacklevel=3)


def _by_channel(value: Any) -> list[float]:
    return [float(number) for number in cast("Iterable[Any]", value)] if isinstance(value, Iterable) else [float(value)]


def _word(name: str, word: str | os.PathLike[str] | None) -> str:
    """The word that is given, "" for None. An empty one is none: who does not want one leaves the argument out."""
    if word is None:
        return ""
    text = os.fspath(word)
    if not text:
        raise _core.error("empty_argument", name)
    return text


def inspect(
    network: Model,
    platform: str | os.PathLike[str] = "generic_int8",
    *,
    weights: int | None = None,
    features: int | None = None,
    edges: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    in_float: str | Sequence[str] = (),
    also: str | Sequence[str] = (),
    regions: str | Sequence[str] = (),
    pad_channels: bool = False,
    float_islands: bool = False,
) -> Objections:
    """What `quantize`, `convert` and `train` would refuse on the way of a float or prepared network to a platform.

    All of it at once, each with what to do about it; true where nothing is. The arguments are those of these verbs.
    What only samples show is known of a calibrated network alone. Raises Error for an integer program.
    """
    return Objections(
        *_core.inspect(
            network.core, os.fspath(platform), _fields(overrides), weights, features, edges, _patterns("in_float", in_float), _patterns("also", also),
            pad_channels, float_islands, _patterns("regions", regions),
        )  # fmt: skip
    )


def quantize(
    network: Model | Callable[..., Any],
    platform: str | os.PathLike[str] = "generic_int8",
    *,
    calibrate: Data = None,
    weights: int | None = None,
    features: int | None = None,
    edges: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    bits: Mapping[str, tuple[int | None, int | None]] | None = None,
    in_float: str | Sequence[str] = (),
    also: str | Sequence[str] = (),
    regions: str | Sequence[str] = (),
    pad_channels: bool = False,
    batch_norm: str = "folded",
    shared_weights: str = "tie",
    preprocess: Preprocess | None = None,
    calibration_batch: int = 64,
    calibration_batches: int = 8,
    max_length: int | None = None,
    keep_samples: int = 8,
    repair: str | Sequence[str] = (),
    repair_steps: int = 1000,
    repair_folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    seed: int = 0,
    progress: Progress = None,
) -> Model:
    """A prepared network: quantizers where the platform has them, calibrated.

    network: a float network, or a function of arrays or a module of halfstep.nn, which `network` makes one of for samples
    like those of `calibrate`; a prepared network is only repaired. platform: the name of a record (`platforms()` lists them) or the path of one.
    calibrate: samples whose ranges are observed. weights, features: bits, except of the first and last layer, whose
    bits are `edges`; without them the platform's. overrides: other values for fields of the record, by their dotted
    names. bits: for layers that match a pattern, bits of weights and of features. in_float: patterns of layers that
    stay in float ("op:add" fits operators); `convert` then needs float_islands. also: patterns of layers whose inputs
    get quantizers although the platform asks for none there. regions: "A:B" quantizes what lies between these layers or
    inputs (patterns; either may be missing) and leaves the rest in float, as halfstep.magik's markers in a module do;
    `convert` needs no float_islands for that. pad_channels: channels of zeros where convolutions miss the multiples that
    the platform asks for; inputs and outputs stay. batch_norm: how training sees batch norms behind layers: "folded" into
    their weights, or beside them, "frozen" (by their running statistics) or "live" (by those of each batch); integers have
    them folded. shared_weights: of layers that share a weight, as a module that is called twice, "tie" trains one for all,
    "duplicate" one for each. calibration_batch, calibration_batches: samples of a step of an observer,
    and steps at most; ranges that follow steps depend on both. max_length: the largest open extent of the inputs beside
    their batch; ranges that depend on it are calibrated on samples that are repeated up to it. keep_samples: how many of the samples travel
    with the network, for `verify`; 0: none. repair: what mends the calibrated network without training it, "auto" for
    all that helps or names of methods (docs/repair.md); repair_steps: of each block that learns. repair_folder: takes
    each block as it is learned, so that a call with resume goes on where one was interrupted.

    The result's `report` is an Audit. Raises UnsupportedError, naming every layer and what to do, for what the platform
    cannot do; Error where samples are not what the network takes.
    """
    if not isinstance(network, Model):
        calibrate = dataset(calibrate)
        network = network_for(network, calibrate)
    samples = dataset(calibrate, network)
    prepared, text, values = _core.quantize(
        network.core, os.fspath(platform), _fields(overrides), samples, weights, features, edges,
        [(layers, *widths) for layers, widths in (bits or {}).items()], _patterns("in_float", in_float), _patterns("also", also),
        _patterns("regions", regions), pad_channels, (batch_norm, shared_weights), _preprocess_text(preprocess),
        (calibration_batch, calibration_batches, max_length), keep_samples,
        (_patterns("repair", repair), repair_steps, _word("repair_folder", repair_folder), resume), seed, callback(progress),
    )  # fmt: skip
    audit = Audit(text, values)
    _warn(audit.values["notes"])
    return Model(prepared, audit)


def _fields(overrides: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    return [(key, value if isinstance(value, str) else json.dumps(value)) for key, value in (overrides or {}).items()]


def _patterns(name: str, patterns: str | Sequence[str]) -> list[str]:
    return [_word(name, pattern) for pattern in ([patterns] if isinstance(patterns, str) else patterns)]


def change_bits(prepared: Model, layers: str, *, weights: int | None = None, features: int | None = None) -> Model:
    """A prepared network with other bits for the layers that match a pattern (`*` and `?` as in file names).

    Ranges stay as they were observed. Raises UnsupportedError where the platform forbids it, naming every operator.
    """
    changed, text, values = _core.change_bits(prepared.core, _word("layers", layers), weights, features)
    return Model(changed, Audit(text, values))


def train(
    network: Model,
    data: Data = None,
    *,
    epochs: int = 20,
    batch: int = 32,
    learning_rate: float | None = None,
    ema: float = 0.99,
    weight_decay: float = 1e-4,
    bits_schedule: Sequence[int | str] = (),
    platform: str | os.PathLike[str] | None = None,
    edges: int | None = None,
    regions: str | Sequence[str] = (),
    in_float: str | Sequence[str] = (),
    also: str | Sequence[str] = (),
    pad_channels: bool = False,
    batch_norm: str = "folded",
    shared_weights: str = "tie",
    overrides: Mapping[str, Any] | None = None,
    flip: bool = False,
    shift: int = 0,
    distill: bool = False,
    teacher: Model | Sequence[Model] = (),
    teacher_weight: float = 1,
    schedule: str = "cosine",
    label_smoothing: float = 0,
    mixup: float = 0,
    distill_features: str | Sequence[str] = (),
    scale_rate: float = 1,
    freeze_oscillating: float = 0,
    renormalize: int = 0,
    max_iterations: int = 0,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    preprocess: Preprocess | None = None,
    seed: int = 0,
    progress: Progress = None,
) -> Fit:
    """Trains a float or prepared network in place.

    data: samples; without labels, or with `distill`, a network learns from a teacher alone. teacher: a better network of
    the same samples, or several, whose mean counts: its outputs are learned beside labels, counting `teacher_weight`
    times; a prepared network without one has its own float form.
    learning_rate: the peak of the schedule; 0.05 for float networks, 0.001 for prepared ones without one. ema: the decay
    of the moving average of weights, which is what is evaluated and kept; 0: none. weight_decay: the share of each
    parameter that a step takes away, times the learning rate. flip, shift: images are mirrored, and moved by at most
    this many pixels, in training. schedule: "cosine", "steps" or "steps:0.5,0.75".
    label_smoothing: the share of a label that all classes have alike. mixup: the parameter of the beta distribution that
    pairs of samples are mixed by. distill_features: layers of a prepared network that are to give what they give in
    float. scale_rate: learned scales move at so many times the learning rate. freeze_oscillating: weights whose code goes
    back and forth in a larger share of steps are frozen. renormalize: running statistics of batch norms are taken anew
    from so many batches at the end. max_iterations: a loop that goes on after so many iterations is an error; 0: none
    is. out: a folder for a checkpoint after each epoch, from which `resume` goes on; an earlier run there is refused, or
    replaced by `overwrite`. preprocess: from raw values to what the network takes; it travels with the network.

    bits_schedule: widths one after the other, `epochs` at each: [8, 4], or ["float", 8, "4/8"] (4-bit weights, 8-bit
    features). The ends of the network keep theirs; weights and observed ranges go from stage to stage, the optimizer and
    the moving average begin anew. A float network is quantized for `platform` on the way, which edges, overrides,
    in_float, also, regions, pad_channels, batch_norm and shared_weights are for, as in `quantize`.

    Samples are held back, and the network becomes its best state on them, which may be what it was. An interruption
    (Ctrl-C, or an exception of `progress`) leaves the network as it was. Raises Error where another thread trains it.
    """
    samples = dataset(data, network)
    recipe = _core.recipe(
        schedule, label_smoothing, mixup, scale_rate, freeze_oscillating, _patterns("distill_features", distill_features),
        teacher_weight, renormalize,
    )  # fmt: skip
    widths = bits_schedule if isinstance(bits_schedule, str) else [str(stage) for stage in bits_schedule]
    stages = _core.bits_schedule(
        _patterns("bits_schedule", widths), None if platform is None else os.fspath(platform), _fields(overrides),
        edges, _patterns("in_float", in_float), _patterns("also", also), _patterns("regions", regions), pad_channels, (batch_norm, shared_weights),
    )  # fmt: skip
    text, values = _core.train(
        network.core, samples, epochs, batch, learning_rate, ema, weight_decay, stages, flip, shift, distill,
        [one.core for one in ([teacher] if isinstance(teacher, Model) else teacher)], recipe, max_iterations, _word("out", out), resume, overwrite, _preprocess_text(preprocess), seed, callback(progress),
    )  # fmt: skip
    fit = Fit(text, values)
    _warn(fit.values["notes"])
    return fit


def convert(prepared: Model, *, float_islands: bool = False) -> Model:
    """The integer program of a prepared network: stored codes, and integers derived from scales.

    float_islands: operators that have no form on codes stay in float, between dequantize and quantize.

    The result's `report` has the proof of each accumulator. Raises UnsupportedError, naming layer and channel, where an
    accumulator could overflow or a factor has no multiplier; Error for a network that was not calibrated.
    """
    integer, text, values = _core.convert(prepared.core, float_islands)
    return Model(integer, Proofs(text, values))


def verify(
    prepared: Model,
    program: Model,
    data: Data = None,
    *,
    with_: str | None = None,
    exported: str | os.PathLike[str] | None = None,
    variants: bool = False,
    cc: str = "cc -O2",
    run: str | None = None,
    c: str | os.PathLike[str] | None = None,
    time_limit: float = 1200.0,
    meaning: str = "sampled",
    batch: int | None = None,
    preprocess: Preprocess | None = None,
    seed: int = 0,
    progress: Progress = None,
) -> Proof:
    """Compares a prepared network and its integer program, code for code, and both with the network that came in.

    with_: "onnxruntime" for that engine as a third road, on an ONNX file that was `exported` or on a new one; variants:
    also with its optimizations, which is never a failure. "c" for a program in C, that of the folder `c` (which `export`
    wrote with dump) or a new one: cc is the compiler's command, run what runs the program ("qemu-arm"), time_limit the
    seconds for the compiler and for each batch. meaning: "sampled" or "all", how many elements are held
    against the network that came in. batch: samples that run at once; without it 64, or as many as memory allows.
    """
    if meaning not in ("sampled", "all"):
        raise _core.error("not_a_choice", "meaning", meaning, "sampled or all")
    samples = dataset(data, prepared)
    if with_ == "onnxruntime":
        os.environ.setdefault("HALFSTEP_PYTHON", sys.executable)  # which runs the engine
    equal, text, values = _core.verify(
        prepared.core, program.core, samples, _word("with_", with_), _word("exported", exported),
        variants, (_word("cc", cc), _word("run", run), _word("c", c), time_limit), meaning == "all", batch, _preprocess_text(preprocess), seed, callback(progress),
    )  # fmt: skip
    proof = Proof(equal, text, values)
    _warn(proof.values["notes"])
    return proof


def bits(
    network: Model,
    budget: str,
    data: Data = None,
    *,
    table: str | os.PathLike[str] | None = None,
    samples: int = 256,
    front: int = 8,
    choose_edges: bool = False,
    repair: str | Sequence[str] = (),
    repair_steps: int = 1000,
    repair_folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    epochs: int = 0,
    batch: int = 32,
    learning_rate: float | None = None,
    prove: bool = False,
    float_islands: bool = False,
    platform: str | os.PathLike[str] | None = None,
    overrides: Mapping[str, Any] | None = None,
    weights: int | None = None,
    features: int | None = None,
    edges: int | None = None,
    preprocess: Preprocess | None = None,
    seed: int = 0,
    progress: Progress = None,
) -> Model:
    """A prepared network with the bits of every layer that do the least harm within a budget; its `report` is Widths.

    budget: "latency<=3ms, size<=200kB, bitops<=1.5G", one or several. data: of which the training part is looked at. table:
    a csv of a board, layer,weights,features,milliseconds; without it latency is measured on this machine. samples: that
    measure what a width costs, at most; 0: all. front: points between the cheapest widths and the best. choose_edges: also
    of the first and last layers, which keep their own without it. Once bits are chosen the network is repaired (repair,
    repair_steps, repair_folder and resume as `quantize` takes them), fine-tuned for `epochs` (0: not; batch and learning_rate
    as `train` takes them), and with `prove` converted (float_islands as `convert` takes it) and verified: what came of it is in
    the report. platform, with overrides, weights, features and edges as
    `quantize` takes them: a float network is quantized for it first.

    Raises UnsupportedError, naming the nearest, where no legal widths meet the budget.
    """
    chosen, text, values = _core.bits(
        network.core, dataset(data, network), (budget, _word("table", table), samples, front, choose_edges),
        ((_patterns("repair", repair), repair_steps, _word("repair_folder", repair_folder), resume), epochs, batch, learning_rate, prove, float_islands),
        None if platform is None else os.fspath(platform), _fields(overrides), weights, features, edges, _preprocess_text(preprocess),
        seed, callback(progress),
    )  # fmt: skip
    report = Widths(text, values)
    _warn(report.values["notes"])
    return Model(chosen, report)


def analyze(
    network: Model,
    data: Data = None,
    *,
    samples: int = 1000,
    part: str = "test",
    directions: int = 8,
    observers: bool = True,
    tries: int = 8,
    platform: str | os.PathLike[str] | None = None,
    overrides: Mapping[str, Any] | None = None,
    weights: int | None = None,
    features: int | None = None,
    edges: int | None = None,
    preprocess: Preprocess | None = None,
    seed: int = 0,
    progress: Progress = None,
) -> Analysis:
    """Where a prepared network loses: every quantizer alone, all up to it, and all but it, with what may be done.

    samples: how many are looked at, at most; 0: all. part: of the data, "test" or "train". directions: that the trace of the
    Hessian is estimated along; 0: no gradients. observers: also the ranges that other observers would choose. tries: how
    many options of `quantize` are tried, at most, before they are suggested. platform, with overrides, weights, features
    and edges as `quantize` takes them: a float network is quantized for it first, in memory.

    Without labels the loss is the distance to the float network. Raises Error where a layer gives NaN, naming all.
    """
    analysis = Analysis(
        *_core.analyze(
            network.core, dataset(data, network), (samples, part, directions, observers, tries), None if platform is None else os.fspath(platform),
            _fields(overrides), weights, features, edges, _preprocess_text(preprocess), seed, callback(progress),
        )  # fmt: skip
    )
    _warn(analysis.values["notes"])
    return analysis


def evaluate(
    network: Model,
    data: Data = None,
    *,
    metric: Callable[[Any, Any], float] | None = None,
    preprocess: Preprocess | None = None,
    top: int = 1,
) -> Score:
    """The accuracy of a network of any stage on the test part of labelled samples, or what a metric says.

    top: more than 1 also counts a label among this many largest outputs (the score's `top`).

    metric: called with the outputs of a batch (an array, or a dict of them) and its labels (None where batches have
    none); the score is the mean of its results, weighted by samples. `data` then iterates over batches as the network
    takes them, and every one counts.
    """
    if metric is None:
        accuracy, samples, among, tested, notes, loss = _core.evaluate(
            network.core, dataset(data, network), _preprocess_text(preprocess), top
        )
        _warn(notes)
        return Score(accuracy, samples, among, tested, loss)
    if preprocess is not None:
        raise TypeError("evaluate: preprocess is for raw samples; a metric gets batches as the network takes them")
    total, samples = 0.0, 0
    for arrays, labels, count in _pairs(data):
        total += count * float(metric(network(**arrays) if isinstance(arrays, dict) else network(arrays), labels))
        samples += count
    if samples == 0:
        raise _core.error("no_batch", "evaluate")
    return Score(total / samples, samples)


def _pairs(data: Any) -> Iterator[tuple[Any, Any, int]]:
    """Inputs, labels and the number of samples of each batch."""
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


def dump(
    network: Model,
    path: str | os.PathLike[str],
    data: Data = None,
    *,
    layers: str | Sequence[str] = (),
    layout: str | None = None,
    packing: str | None = None,
    offset: bool | None = None,
    border: Sequence[int] | None = None,
    format: str = "bin",
    reals: bool = False,
    parameters: bool = True,
    with_: str | None = None,
    overwrite: bool = False,
    preprocess: Preprocess | None = None,
    progress: Progress = None,
) -> Dump:
    """Writes the values of a network of any stage on samples into a folder, with manifest.json.

    data: samples, of which the test part is run. layers: patterns of layers; all without them. layout: "nchw", "nhwc" or
    "ndhwc32" (blocks of 32 channels); packing of codes of at most 4 bits: "none", "low_first" or "high_first"; offset: the
    top bit of codes flipped; border: rows above and below, columns left and right. Without these as the network's platform
    says (`dump` of its record), else NHWC. format: "bin", "npy" or "txt". reals: what codes stand for. parameters: also
    weights, biases, multipliers and shifts. with_: "onnxruntime" for that engine's codes of an integer program.
    """
    path = _word("path", path)
    words = (
        _patterns("layers", layers), layout, packing, offset, None if border is None else list(border), format, reals, parameters, _word("with_", with_),
    )  # fmt: skip
    samples = dataset(data, network)
    return Dump(
        path,
        *_core.dump(network.core, samples, path, words, overwrite, _preprocess_text(preprocess), callback(progress)),
    )


def compare(
    first: Model | str | os.PathLike[str],
    second: str | os.PathLike[str],
    data: Data = None,
    *,
    like: str | None = None,
    rtol: float = 0.0,
    atol: float = 0.0,
    preprocess: Preprocess | None = None,
    progress: Progress = None,
) -> Comparison:
    """Says which value differs first between two sides, where, and what is most likely wrong.

    first: a network, or a path as second: a folder of dumps, one of bare files called as values are, a bare file (`like`
    names the value that it is), or arrays of another framework (npz, safetensors). data: samples for a network. rtol, atol:
    how far reals may be off; codes are equal or not.
    """
    tolerance = (rtol, atol)
    called = _word("like", like)
    if isinstance(first, Model):
        samples = dataset(data, first)
        return Comparison(
            *_core.compare(first.core, "", _word("second", second), samples, called, tolerance, _preprocess_text(preprocess), callback(progress))
        )
    samples = None if data is None else dataset(data)
    return Comparison(
        *_core.compare(
            None, _word("first", first), _word("second", second), samples, called, tolerance, _preprocess_text(preprocess), callback(progress)
        )
    )


def export(
    network: Model,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    opset: int = 21,
    approximate: bool = False,
    name: str | None = None,
    main: bool = False,
    data: Data = None,
    dump: bool = False,
    float_islands: bool = False,
    overwrite: bool = False,
) -> Exported:
    """Writes an ONNX file, a program in C, or the files that the tools of a chip read.

    format: float, qdq or qoperator; without one float for a network that is not an integer program, else qoperator.
    approximate: instead of refusing what the form has no arithmetic for. Of format "deploy" `path` is a folder, and the
    platform of the prepared network says which files; those of these names are refused, or replaced with overwrite.

    Of format "c" `path` is a folder too, for NAME.h and NAME.c of a prepared network or an integer program. main: also a
    program that runs samples, of `data` or those that a prepared network keeps, and compares. dump: a function that shows
    every layer. float_islands: operators that have no form on codes are float operations.
    """
    path, called = _word("path", path), _word("name", name)
    if format == "c":
        samples = None if data is None else dataset(data, network)
        files, memory, constants, islands = _core.export_c(
            network.core, path, called, main, samples, dump, float_islands, overwrite
        )
        return Exported(path, 0, islands, files, memory, constants)
    if format == "deploy":
        return Exported(path, 0, [], _core.export_deploy(network.core, path, overwrite))
    written = _core.export(network.core, path, _word("format", format), opset, approximate)
    return Exported(path, *written)
