"""What the verbs say of their work: attributes for programs, text for a terminal, a table for a notebook."""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halfstep.report_rows import AccumulatorRow, AssignmentRow, DiagnosticRow, DumpRow, FloatRow, GuessRow
    from halfstep.report_rows import LayerRow, QuantizerRow, SensitivityRow, StandingRow


def table(rows: Sequence[Mapping[str, Any]], columns: list[str], caption: str = "") -> str:
    """An HTML table."""
    from html import escape  # when somebody asks for it: importing halfstep takes little

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


Table = tuple[Sequence[Mapping[str, Any]], list[str]]
"""Rows, and the columns that a notebook shows of them."""


class Report:
    """A report: `str` is what the command line prints, `values` what its --json prints."""

    def __init__(self, text: str, values: str) -> None:
        self._text = text
        self._json = values

    @functools.cached_property
    def values(self) -> dict[str, Any]:
        """The report as the command line's JSON has it."""
        return json.loads(self._json)

    def __str__(self) -> str:
        return self._text.rstrip("\n")

    def __repr__(self) -> str:
        return f"<halfstep.{type(self).__name__}: {self.verdict}>"

    @property
    def verdict(self) -> str:
        """The report in a line."""
        raise NotImplementedError

    def _table(self) -> Table:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return table(*self._table(), self.verdict)

    def to_dataframe(self) -> Any:
        """The table of the report as a pandas.DataFrame, with all that is known of each row. pandas must be installed."""
        return importlib.import_module("pandas").DataFrame(self._table()[0])


class DataReport(Report):
    """What is understood of a data set."""

    @property
    def classes(self) -> dict[str, int]:
        """How many samples each has; empty without labels."""
        return {row["name"]: row["samples"] for row in self.values["classes"]}

    @property
    def sizes(self) -> dict[str, int]:
        """Of pictures ("640 x 480"), the most frequent first."""
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
    """What stands between a network and a platform: true where nothing does."""

    @property
    def objections(self) -> list[DiagnosticRow]:
        """Each with verb, layer, where, what, found, expected, remedy."""
        return self.values["objections"]

    @property
    def verdict(self) -> str:
        count = len(self.objections)
        return f"{count} objection{'' if count == 1 else 's'} on the way to {self.values['platform']}"

    def __bool__(self) -> bool:
        return self.values["holds"]

    def _table(self) -> Table:
        return self.objections, ["verb", "where", "problem", "found", "expected", "remedy"]


class AuditReport(Report):
    """Every quantizer with its numbers and why it is there, and what stays in float."""

    @property
    def quantizers(self) -> list[QuantizerRow]:
        """In the order of the network; the keys are those of docs/reports.md."""
        return self.values["quantizers"]

    @property
    def in_float(self) -> list[FloatRow]:
        """Operators that have no form on codes: operator, tensor, reason. `convert` must be told to leave them."""
        return self.values["float"]

    @property
    def repair(self) -> dict[str, Any] | None:
        """What repair tried and kept; None where none was asked for. The keys are those of docs/reports.md."""
        return self.values.get("repair")

    @property
    def verdict(self) -> str:
        weights = sum(quantizer["kind"] == "weight" for quantizer in self.quantizers)
        features = len(self.quantizers) - weights
        return f"{weights} weights and {features} features on codes, {len(self.in_float)} operators in float"

    def _table(self) -> Table:
        columns = ["kind", "tensor", "op", "activation", "bits", "code_min", "code_max", "scale", "zero_point", "reason"]
        return self.quantizers, columns


class TrainReport(Report):
    """How a training went."""

    @property
    def loss(self) -> float:
        """Of the last epoch."""
        return self.values["loss"]

    @property
    def accuracy(self) -> float | None:
        """On the test part; None without labels."""
        return self.values["accuracy"]

    @property
    def digest(self) -> str:
        """Of the trained weights."""
        return self.values["digest"]

    @property
    def held_back(self) -> list[StandingRow]:
        """How the network did on the samples that it did not learn from: before training, then after each epoch."""
        return self.values.get("held_back", {}).get("standings", [])

    @property
    def verdict(self) -> str:
        shown = "no labels" if self.accuracy is None else f"accuracy {100 * self.accuracy:.2f} %"
        return f"{shown}, loss {self.loss:.4f} after {self.values['epochs']} epochs"

    def _table(self) -> Table:
        rows = [{"epoch": epoch, **standing} for epoch, standing in enumerate(self.held_back)]
        columns = ["epoch", *(key for key in ("accuracy", "agreement", "loss") if any(key in row for row in rows))]
        return rows, columns


class OverflowReport(Report):
    """What bounds each accumulator of an integer program."""

    @property
    def accumulators(self) -> list[AccumulatorRow]:
        return self.values["accumulators"]

    @property
    def float_islands(self) -> list[FloatRow]:
        return self.values["float"]

    @property
    def verdict(self) -> str:
        return f"{len(self.accumulators)} accumulators proved, {len(self.float_islands)} operators in float"

    def _table(self) -> Table:
        return self.accumulators, ["layer", "accumulator_bound", "accumulator_limit"]


class Judgement(Report):
    """Two things that ought to be the same: true where they are."""

    def __init__(self, equal: bool, text: str, values: str) -> None:
        super().__init__(text, values)
        self._equal = equal

    @property
    def equal(self) -> bool:
        return self._equal

    @property
    def verdict(self) -> str:
        return self.values["verdict"]

    def __bool__(self) -> bool:
        return self.equal


class VerifyReport(Judgement):
    """Training network, integer program and the network that came in, layer by layer: `equal` where no code differs, and
    none is other than the network that came in allows."""

    @property
    def layers(self) -> list[LayerRow]:
        return self.values["layers"]

    def _table(self) -> Table:
        return self.layers, ["name", "op", "weight_bits", "activation_bits", "scale", "compared", "differing", "sqnr_db"]


class DumpReport(Report):
    """A folder of dumps: `values` is its manifest."""

    def __init__(self, path: str, text: str, values: str) -> None:
        super().__init__(text, values)
        self.path = path

    @property
    def entries(self) -> list[DumpRow]:
        """What is known of each file, in the order of execution."""
        return self.values["values"]

    @property
    def verdict(self) -> str:
        return f"{self.path}, {len(self.entries)} values of {self.values['network']} on {self.values['samples']} samples"

    def _table(self) -> Table:
        return self.entries, ["name", "op", "what", "shape", "type", "bytes", "file"]


class CompareReport(Judgement):
    """Two sides, value by value, and what is most likely wrong with the first that differs: `equal` where nothing
    differs, and either side has all that the other one has."""

    def __init__(self, equal: bool, text: str, values: str, page: str) -> None:
        super().__init__(equal, text, values)
        self.html = page
        """A page with a strip of values and a map of the first that differs."""

    @property
    def differs(self) -> str | None:
        """The first value that differs."""
        return self.values["differs"]

    @property
    def guesses(self) -> list[GuessRow]:
        """What may be wrong, the best first, each with how many elements it leaves unexplained."""
        return self.values["guesses"]

    def _table(self) -> Table:
        return self.values["values"], ["name", "op", "state", "elements", "differing", "largest"]


class AnalyzeReport(Report):
    """Where a quantized network loses, quantizer by quantizer."""

    @property
    def quantizers(self) -> list[SensitivityRow]:
        """Misfits first, then the most harmful; the keys are those of docs/reports.md."""
        return self.values["quantizers"]

    @property
    def suggestions(self) -> list[tuple[str, str]]:
        """Where, and what may be done: options of `halfstep quantize`, in the order of the quantizers."""
        return [(one["place"], text) for one in self.quantizers for text in one["suggestions"]]

    @property
    def verdict(self) -> str:
        values = self.values
        right = "accuracy" if values["has_labels"] else "agreement"
        shown = [f"{name} {100 * values[key][right]:.2f} %" if right in values[key] else f"{name} loss {values[key]['loss']:.4f}"
                 for name, key in (("float", "in_float"), ("codes", "on_codes"))]  # fmt: skip
        first = self.quantizers[0] if self.quantizers else None
        worst = f", {'misfit' if first['is_misfit'] else 'most harm'}: {first['place']}" if first else ""
        return f"{right} on {values['samples']} samples: {', '.join(shown)}{worst}"

    def _table(self) -> Table:
        rows = [{**one, "alone": one["alone"]["loss"], "without": one["without"]["loss"]} for one in self.quantizers]
        return rows, ["place", "bits", "sqnr_db", "cosine", "clipped", "unused_codes", "alone", "without", "harm"]


class BitAllocationReport(Report):
    """The bits of every layer, what they cost and what they do."""

    @property
    def bits(self) -> dict[str, int]:
        """By tensor."""
        return {group["tensor"]: group["bits"] for group in self.values["groups"]}

    @property
    def front(self) -> list[AssignmentRow]:
        """The least predicted loss along the first budget, the cheapest first."""
        return self.values["front"]

    @property
    def repair(self) -> dict[str, Any] | None:
        """What repair tried and kept once the bits were chosen; None where none was asked for."""
        return self.values.get("repair")

    @property
    def training(self) -> dict[str, Any] | None:
        """How the fine-tuning went; None where there was none."""
        return self.values.get("training")

    @property
    def proof(self) -> dict[str, Any] | None:
        """What `verify` found; None where no proof was asked for."""
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
    """An accuracy, or what a metric gave, and on how many samples."""

    samples: int
    top: float | None
    """The share of samples whose label is among the `top` largest outputs; None where nobody asked."""
    tested: str
    """Which samples: "val/", "a fifth of each class", "all samples"."""
    loss: float | None
    """The mean cross entropy of a label in nats, the outputs being logits; None of a metric."""

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
    """A file that was written, or a folder of them."""

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
        """Names of the files in a folder, for the tools of a chip or of a program in C."""
        self.nodes = nodes
        self.approximated = approximated
        """Layers whose codes may differ from the Model's; of a program in C those that stay in float."""
        self.memory = memory
        """Of a program in C: bytes between layers."""
        self.constants = constants
        """Of a program in C: bytes of weights and other constants."""

    def __repr__(self) -> str:
        if self.memory is not None:
            return f"<halfstep.ExportResult: {self.path}, {self.constants} bytes of constants, {self.memory} of memory>"
        return f"<halfstep.ExportResult: {self.path}, {self.nodes} nodes, {len(self.approximated)} approximated>"
