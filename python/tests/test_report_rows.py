"""Rows of reports have the keys and value types of halfstep.report_rows."""

import builtins
import types
import typing

import numpy as np
import pytest

import halfstep as hs
from halfstep import report_rows as rows


@pytest.fixture(scope="module")
def reports(samples, tmp_path_factory):
    """Return the rows and their kind, by property."""
    folder = tmp_path_factory.mktemp("rows")
    net = hs.create_network("digits", samples)
    fit = hs.train(net, samples, epochs=1)
    unlabelled = hs.train(net.copy(), samples[0], epochs=1, teacher=net)
    prepared = hs.quantize(net, data=samples, weight_bits=4, activation_bits=4)
    program = hs.convert(prepared)
    dump = hs.dump(program, folder / "ours", samples)
    board = hs.dump(program, folder / "board", samples)
    file = folder / "board" / next(entry["file"] for entry in board.entries if entry["name"] == "conv4")
    file.write_bytes((np.fromfile(file, np.uint8) ^ 128).tobytes())
    analysis = hs.analyze(prepared, samples, samples=50, directions=1)
    mixed = hs.bits(prepared, "size<=60kB", samples, samples=50, front=2)
    fallbacks = hs.quantize(net, data=samples, skip_layers="conv3")
    return {
        "quantizers": (prepared.report.quantizers, rows.QuantizerRow),
        "in_float": (fallbacks.report.in_float, rows.FloatRow),
        "validation_results": (fit.validation_results + unlabelled.validation_results, rows.ValidationRow),
        "accumulators": (program.report.accumulators, rows.AccumulatorRow),
        "float_fallback": (hs.convert(fallbacks, float_fallback=True).report.float_fallback, rows.FloatRow),
        "objections": (hs.inspect(net, "magik_t02").objections, rows.DiagnosticRow),
        "layers": (hs.verify(prepared, program, samples).layers, rows.LayerRow),
        "entries": (dump.entries, rows.DumpRow),
        "guesses": (hs.compare(folder / "ours", folder / "board").guesses, rows.GuessRow),
        "sensitivities": (analysis.quantizers, rows.SensitivityRow),
        "front": (mixed.report.front, rows.AssignmentRow),
    }


def wrong_keys(row, kind):
    """Return the keys of a row that its class lacks, or requires, or that have another type."""
    expected = typing.get_type_hints(kind, localns={"list": list})
    surplus = row.keys() - expected.keys()
    return [*(kind.__required_keys__ - row.keys()), *surplus, *(key for key in row.keys() - surplus if not is_of(row[key], expected[key]))]


def is_of(value, kind):
    """Return whether a JSON value has the type of an annotation."""
    if typing.is_typeddict(kind):
        return isinstance(value, dict) and not wrong_keys(value, kind)
    parts, origin = typing.get_args(kind), typing.get_origin(kind)
    if origin is typing.Literal:
        return value in parts
    if origin in (types.UnionType, typing.Union):
        return any(is_of(value, part) for part in parts)
    if origin is builtins.list:
        return isinstance(value, list) and all(is_of(each, parts[0]) for each in value)
    if origin is builtins.dict:
        return isinstance(value, dict) and all(is_of(each, parts[1]) for each in value.values())
    return kind is typing.Any or isinstance(value, (int, float) if kind is float else kind)


@pytest.mark.parametrize(
    "of", ["quantizers", "in_float", "validation_results", "accumulators", "float_fallback", "objections", "layers", "entries", "guesses", "sensitivities", "front"]
)
def test_rows(reports, of):
    found, kind = reports[of]
    assert found, "there is no row"
    for row in found:
        assert wrong_keys(row, kind) == []


def test_a_training_is_a_table(samples):
    shown = hs.train(hs.create_network("digits", samples), samples, epochs=1)._repr_html_()
    assert "<th>accuracy</th><th>loss</th>" in shown
