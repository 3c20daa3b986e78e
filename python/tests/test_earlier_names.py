"""Renamed functions and arguments accept their old names until 0.3, with a warning at the user's line."""

import contextlib
import inspect
import sys
import types
import warnings

import pytest

import halfstep as hs

REPORTS = {
    "Analysis": "AnalyzeReport", "Audit": "AuditReport", "Comparison": "CompareReport", "Dump": "DumpReport",
    "Exported": "ExportResult", "Fit": "TrainReport", "Objections": "Diagnostics", "Proof": "VerifyReport",
    "Proofs": "OverflowReport", "Score": "EvalResult", "Widths": "BitAllocationReport",
}  # fmt: skip


@pytest.fixture(scope="module")
def network(samples):
    layers = hs.nn.Sequential(hs.nn.Flatten(), hs.nn.Linear(64, 10))
    return hs.network(layers, x=(None, 1, 8, 8))


@pytest.fixture(scope="module")
def prepared(network, samples):
    return hs.quantize(network, data=samples)


def warned(text):
    return pytest.warns(FutureWarning, match=f"{text}.*halfstep 0.3 removes the old form")


@pytest.mark.parametrize("old", REPORTS)
def test_reports(old):
    with warned(f"halfstep.{old} is now halfstep.{REPORTS[old]}"):
        assert getattr(hs, old) is getattr(hs, REPORTS[old])
    assert old not in hs.__all__ and REPORTS[old] in hs.__all__


def test_every_report_says_what_it_is(network, prepared, samples):
    assert repr(prepared.report).startswith("<halfstep.AuditReport: ")
    assert isinstance(hs.inspect(network), hs.Diagnostics)
    assert repr(hs.evaluate(network, samples)).startswith("<halfstep.EvalResult: ")
    for report in (prepared.report, hs.inspect(network)):
        assert type(report).__name__ in hs.__all__


def test_a_report_is_a_data_frame(prepared, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=list))
    assert prepared.report.to_dataframe() == prepared.report.quantizers
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pandas"):
        prepared.report.to_dataframe()


def renamed_arguments():
    """Yield (object to call, qualified name, old argument, new argument)."""
    for module in (hs, hs.nn):
        for name in dir(module):
            value = getattr(module, name) if not name.startswith("_") else None
            function = value.__init__ if isinstance(value, type) else value
            if inspect.isfunction(function) and function.__code__.co_filename.endswith("renamed.py"):
                for old, new in inspect.getclosurevars(function).nonlocals["names"].items():
                    yield value, name, old, new


@pytest.mark.parametrize(("function", "name", "old", "new"), [pytest.param(*each, id="-".join(each[1:3])) for each in renamed_arguments()])
def test_a_renamed_argument_gives_one_warning(function, name, old, new):
    """The call may fail after the warning, because other arguments are missing."""
    with warnings.catch_warnings(record=True) as noted, contextlib.suppress(TypeError, ValueError, hs.Error):
        warnings.simplefilter("always")
        function(**{old: 1})
    texts = [(each.category, str(each.message)) for each in noted]
    assert texts == [(FutureWarning, f"{name}: the argument '{old}' is now '{new}'; halfstep 0.3 removes the old form")]


def test_the_list_of_renamed_arguments_is_whole():
    assert len(list(renamed_arguments())) > 60


def test_data_sets(samples):
    with warned("halfstep.dataset is now halfstep.datasets.load"):
        assert len(hs.dataset(samples)) == 400
    digits = hs.datasets.digits()
    assert len(digits) == 1797 and digits.arrays()["x"].shape == (1797, 1, 8, 8) and "20 train, 20 test" in repr(hs.datasets.digits(samples=20))
    with pytest.raises(AttributeError, match="no attribute 'datasett'"):
        hs.datasett


def test_without_data_the_digits_are_used(network):
    named = hs.quantize(network, data="digits")
    with warned('without data the built-in digits are used: pass data="digits"') as noted:
        assert hs.quantize(network) == named
    assert [each.filename for each in noted if each.category is FutureWarning] == [__file__]


def test_a_metric_of_ones_own(network, samples, prepared):
    def right(outputs, labels):
        return (outputs.argmax(1) == labels).mean()

    score = hs.evaluate_metric(network, samples, right)
    assert score.samples == 400 and float(score) == pytest.approx(hs.evaluate(network, hs.datasets.load(samples, all=True)))
    with warned("evaluate: for your own metric, call evaluate_metric"):
        assert hs.evaluate(network, samples, metric=right) == score
    with warned("evaluate"), pytest.raises(TypeError, match="a metric receives batches"):
        hs.evaluate(network, samples, metric=right, preprocess="unit")


def test_training_is_in_place_and_says_so(network, samples):
    before = network.copy()
    after = network.copy()
    assert hs.train(after, samples, epochs=1).digest == after.digest != before.digest == network.digest
    assert "network.copy()" in hs.train.__doc__


def test_only_verbs_that_draw_numbers_take_a_seed():
    taken = {verb for verb in hs.__all__ if "seed" in getattr(getattr(hs, verb), "__annotations__", {}) and callable(getattr(hs, verb))}
    assert taken == {"analyze", "bits", "create_network", "quantize", "train", "verify"}


def test_properties_of_reports(prepared):
    program = hs.convert(prepared)
    with warned("float_islands is now float_fallback"):
        assert program.report.float_islands == program.report.float_fallback
    with pytest.raises(AttributeError, match="no attribute 'held_back'"):
        program.report.held_back  # noqa: B018
