"""Reports that the verbs return: attributes for programs, text for a terminal, a table for a notebook."""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from halfstep.renamed import warn

if TYPE_CHECKING:
    from halfstep.report_rows import AccumulatorRow, AssignmentRow, DiagnosticRow, DumpRow, FloatRow, GuessRow
    from halfstep.report_rows import LayerRow, QuantizerRow, SensitivityRow, ValidationRow


def table(rows: Sequence[Mapping[str, Any]], columns: list[str], caption: str = "") -> str:
    """Return an HTML table."""
    from html import escape  # Imported on use, to keep the import of halfstep fast.

    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_text(row.get(column)))}</td>" for column in columns) + "</tr>" for row in rows
    )
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


_EARLIER = {"held_back": "validation_results", "float_islands": "float_fallback"}
"""Properties of reports by their deprecated names."""

Table = tuple[Sequence[Mapping[str, Any]], list[str]]
"""Rows, and the columns that a notebook shows of them."""


class Report:
    """A report. `str` is the text of the command line, and `values` holds its JSON."""

    def __init__(self, text: str, values: str) -> None:
        self._text = text
        self._json = values

    @functools.cached_property
    def values(self) -> dict[str, Any]:
        """The report in the form of the command line's JSON."""
        return json.loads(self._json)

    def __getattr__(self, name: str) -> Any:
        new = _EARLIER.get(name)
        if new is None or not hasattr(type(self), new):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)
        warn(f"{type(self).__name__}.{name} is now {new}")
        return getattr(self, new)

    def __str__(self) -> str:
        return self._text.rstrip("\n")

    def __repr__(self) -> str:
        return f"<halfstep.{type(self).__name__}: {self.verdict}>"

    @property
    def verdict(self) -> str:
        """The report in one line."""
        raise NotImplementedError

    def _table(self) -> Table:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return table(*self._table(), self.verdict)

    def to_dataframe(self) -> Any:
        """Return the table of the report as a pandas.DataFrame, with all values of each row. pandas must be installed.
        """
        return importlib.import_module("pandas").DataFrame(self._table()[0])


class DataReport(Report):
    """Description of a data set."""

    @property
    def classes(self) -> dict[str, int]:
        """Number of samples of each class. Empty without labels."""
        return {row["name"]: row["samples"] for row in self.values["classes"]}

    @property
    def sizes(self) -> dict[str, int]:
        """Number of pictures of each size ("640 x 480"), the most frequent first."""
        return {row["pixels"]: row["samples"] for row in self.values["sizes"]}

    @property
    def verdict(self) -> str:
        values, parts = self.values, self.values["parts"]
        shown = f"{len(self.classes)} classes" if self.classes else "no labels"
        split = f"{parts['train']} train, {parts['test']} test ({parts['tested']})"
        return f"{values['name']}, {values['form']}, {values['samples']} samples, {shown}, {split}"

    def _table(self) -> Table:
        rows = [{"class": name, "samples": count} for name, count in self.classes.items()]
        return rows, ["class", "samples"]


class Diagnostics(Report):
    """Problems that prevent a network from running on a platform. The report is true if there are none."""

    @property
    def objections(self) -> list[DiagnosticRow]:
        """The problems, each with verb, layer, where, what, found, expected, remedy."""
        return self.values["objections"]

    @property
    def verdict(self) -> str:
        count = len(self.objections)
        return f"{count} objection{'' if count == 1 else 's'} for {self.values['platform']}"

    def __bool__(self) -> bool:
        return self.values["holds"]

    def _table(self) -> Table:
        return self.objections, ["verb", "where", "problem", "found", "expected", "remedy"]


class AuditReport(Report):
    """Quantization report: every quantizer with its numbers and its reason, and the operators that stay in float."""

    @property
    def quantizers(self) -> list[QuantizerRow]:
        """The quantizers in the order of the network. The keys are those of docs/reference/reports.md."""
        return self.values["quantizers"]

    @property
    def in_float(self) -> list[FloatRow]:
        """Operators without an implementation on codes: operator, tensor, reason. `convert` needs an option to accept
        them.
        """
        return self.values["float"]

    @property
    def repair(self) -> dict[str, Any] | None:
        """The corrections that repair tried and kept. None without repair. Keys: docs/reference/reports.md."""
        return self.values.get("repair")

    @property
    def verdict(self) -> str:
        weights = sum(quantizer["kind"] == "weight" for quantizer in self.quantizers)
        activations = len(self.quantizers) - weights
        return f"{weights} weights and {activations} activations on codes, {len(self.in_float)} operators in float"

    def _table(self) -> Table:
        columns = ["kind", "tensor", "op", "activation", "bits", "code_min", "code_max", "scale", "zero_point", "reason"]
        return self.quantizers, columns


class TrainReport(Report):
    """Result of a training."""

    @property
    def loss(self) -> float:
        """Loss of the last epoch."""
        return self.values["loss"]

    @property
    def accuracy(self) -> float | None:
        """Accuracy on the test part. None without labels."""
        return self.values["accuracy"]

    @property
    def tested_loss(self) -> float | None:
        """Loss on the test part. None without the option `loss`."""
        return self.values.get("tested_loss")

    @property
    def digest(self) -> str:
        """Digest of the trained weights."""
        return self.values["digest"]

    @property
    def validation_results(self) -> list[ValidationRow]:
        """Validation results on the held-out samples: before training, then after each epoch."""
        return self.values.get("validation", {}).get("results", [])

    @property
    def verdict(self) -> str:
        shown = "no labels" if self.accuracy is None else f"accuracy {100 * self.accuracy:.2f} %"
        if self.tested_loss is not None:
            shown = f"tested loss {self.tested_loss:.4f}"
        return f"{shown}, loss {self.loss:.4f} after {self.values['epochs']} epochs"

    def _table(self) -> Table:
        rows = [{"epoch": epoch, **validation_result} for epoch, validation_result in enumerate(self.validation_results)]
        columns = ["epoch", *(key for key in ("accuracy", "agreement", "loss") if any(key in row for row in rows))]
        return rows, columns


class OverflowReport(Report):
    """Overflow proof of each accumulator of an integer program."""

    @property
    def accumulators(self) -> list[AccumulatorRow]:
        """The accumulators, each with its largest magnitude and the limit."""
        return self.values["accumulators"]

    @property
    def float_fallback(self) -> list[FloatRow]:
        """Operators that stay in float."""
        return self.values["float"]

    @property
    def verdict(self) -> str:
        return f"{len(self.accumulators)} accumulators proved, {len(self.float_fallback)} operators in float"

    def _table(self) -> Table:
        return self.accumulators, ["layer", "accumulator_bound", "accumulator_limit"]


class Judgement(Report):
    """A comparison. It is true if both sides are equal."""

    def __init__(self, equal: bool, text: str, values: str) -> None:
        super().__init__(text, values)
        self._equal = equal

    @property
    def equal(self) -> bool:
        """Whether both sides are equal."""
        return self._equal

    @property
    def verdict(self) -> str:
        return self.values["verdict"]

    def __bool__(self) -> bool:
        return self.equal


class VerifyReport(Judgement):
    """Comparison of prepared network, integer program and source model, layer by layer. `equal` requires that no code
    differs and that every layer passes the semantic check.
    """

    @property
    def layers(self) -> list[LayerRow]:
        """The layers that were compared."""
        return self.values["layers"]

    def _table(self) -> Table:
        return self.layers, ["name", "op", "weight_bits", "activation_bits", "scale", "compared", "differing", "sqnr_db"]


class DumpReport(Report):
    """A folder of dumps. `values` is its manifest."""

    def __init__(self, path: str, text: str, values: str) -> None:
        super().__init__(text, values)
        self.path = path

    @property
    def entries(self) -> list[DumpRow]:
        """Properties of each file, in the order of execution."""
        return self.values["values"]

    @property
    def verdict(self) -> str:
        return f"{self.path}, {len(self.entries)} values of {self.values['network']} on {self.values['samples']} samples"

    def _table(self) -> Table:
        return self.entries, ["name", "op", "what", "shape", "type", "bytes", "file"]


class CompareReport(Judgement):
    """Comparison of two dumps, value by value, with the most likely cause of the first difference. `equal` requires
    equal values and the same set of values on both sides.
    """

    def __init__(self, equal: bool, text: str, values: str, page: str) -> None:
        super().__init__(equal, text, values)
        self.html = page
        """HTML page with a strip of values and a map of the first one that differs."""

    @property
    def differs(self) -> str | None:
        """Name of the first value that differs. None if there is none."""
        return self.values["differs"]

    @property
    def guesses(self) -> list[GuessRow]:
        """Possible causes, the best first, each with the number of elements that it does not explain."""
        return self.values["guesses"]

    def _table(self) -> Table:
        return self.values["values"], ["name", "op", "state", "elements", "differing", "largest"]


class AnalyzeReport(Report):
    """Quantization sensitivity, quantizer by quantizer."""

    @property
    def quantizers(self) -> list[SensitivityRow]:
        """Badly scaled quantizers first, then by decreasing sensitivity. Keys: docs/reference/reports.md."""
        return self.values["quantizers"]

    @property
    def suggestions(self) -> list[tuple[str, str]]:
        """Pairs (quantizer in words, remedy). A remedy is an option of `halfstep quantize`. Pairs follow the order of
        the quantizers.
        """
        return [(one["place"], text) for one in self.quantizers for text in one["suggestions"]]

    @property
    def verdict(self) -> str:
        values = self.values
        right = "accuracy" if values["has_labels"] else "agreement"
        shown = [f"{name} {100 * values[key][right]:.2f} %" if right in values[key] else f"{name} loss {values[key]['loss']:.4f}"
                 for name, key in (("float", "in_float"), ("codes", "on_codes"))]  # fmt: skip
        first = self.quantizers[0] if self.quantizers else None
        worst = f", {'badly scaled' if first['is_badly_scaled'] else 'most sensitivity'}: {first['place']}" if first else ""
        return f"{right} on {values['samples']} samples: {', '.join(shown)}{worst}"

    def _table(self) -> Table:
        rows = [{**one, "alone": one["alone"]["loss"], "without": one["without"]["loss"]} for one in self.quantizers]
        return rows, ["place", "bits", "sqnr_db", "cosine", "clipped", "unused_codes", "alone", "without", "sensitivity"]


class BitAllocationReport(Report):
    """Bit widths of every layer, with their cost and effect."""

    @property
    def bits(self) -> dict[str, int]:
        """Bit width by tensor."""
        return {group["tensor"]: group["bits"] for group in self.values["groups"]}

    @property
    def front(self) -> list[AssignmentRow]:
        """Assignments with the least predicted loss along the first budget, the cheapest first."""
        return self.values["front"]

    @property
    def repair(self) -> dict[str, Any] | None:
        """The corrections that repair tried and kept after the choice of bit widths. None without repair."""
        return self.values.get("repair")

    @property
    def training(self) -> dict[str, Any] | None:
        """Result of fine-tuning. None without it."""
        return self.values.get("training")

    @property
    def proof(self) -> dict[str, Any] | None:
        """Result of `verify`. None without it."""
        return self.values.get("proof")

    @property
    def verdict(self) -> str:
        chosen, budgets = self.values["chosen"], self.values["budgets"]
        costs = chosen["costs"] | {"latency": chosen["costs"]["latency_ms"]}
        shown = ", ".join(f"{one['of']} {costs[one['of']]:.4g} of {one['most']:.4g}" for one in budgets)
        proven = f"; {self.proof['verdict']}" if self.proof else ""
        return f"{shown}; loss {chosen['loss']:.4f}, gap {self.values['gap']:.2g}{proven}"

    def _table(self) -> Table:
        return self.values["groups"], ["tensor", "layer", "bits", "before", "legal"]


class EvalResult(float):
    """An accuracy or the result of a metric, with the number of samples."""

    samples: int
    top: float | None
    """Share of samples whose label is among the `top` largest outputs. None unless requested."""
    tested: str
    """The samples that were used: "val/", "a fifth of each class", "all samples"."""
    loss: float | None
    """Mean cross entropy of the labels in nats, with the outputs as logits. None for a metric."""

    def __new__(
        cls,
        value: float,
        samples: int,
        top: float | None = None,
        tested: str = "all samples",
        loss: float | None = None,
    ) -> EvalResult:
        score = super().__new__(cls, value)
        score.samples = samples
        score.top = top
        score.tested = tested
        score.loss = loss
        return score

    def __repr__(self) -> str:
        return f"<halfstep.EvalResult: {float(self):.4f} on {self.samples} samples ({self.tested})>"


class ExportResult:
    """The written file, or folder of files."""

    def __init__(
        self,
        path: str,
        nodes: int,
        approximated: list[str],
        files: list[str] | None = None,
        memory: int | None = None,
        constants: int | None = None,
    ) -> None:
        self.path = path
        self.files = files or []
        """Names of the files in a folder, for the tools of a chip or for a program in C."""
        self.nodes = nodes
        self.approximated = approximated
        """Layers whose codes may differ from the Model's. For a program in C: the layers that stay in float."""
        self.memory = memory
        """For a program in C: bytes of memory between layers."""
        self.constants = constants
        """For a program in C: bytes of weights and other constants."""

    def __repr__(self) -> str:
        if self.memory is not None:
            return f"<halfstep.ExportResult: {self.path}, {self.constants} bytes of constants, {self.memory} of memory>"
        return f"<halfstep.ExportResult: {self.path}, {self.nodes} nodes, {len(self.approximated)} approximated>"
