"""Every argument of every verb, from its signature. An empty word and an invalid number are rejected."""

import inspect
import os
import sys

import pytest

import halfstep as hs
from raising import raises

VERBS = ("inspect", "quantize", "change_bits", "train", "convert", "verify", "bits", "analyze", "evaluate", "dump", "compare", "export")
WRONG_NUMBERS = {"int": (-1, 2**62, "x"), "float": (-1.0, float("nan"), float("inf"), "x")}


def arguments():
    """Yield (verb, argument, invalid value)."""
    for verb in VERBS:
        for argument in inspect.signature(getattr(hs, verb)).parameters.values():
            kinds = [kind.strip() for kind in str(argument.annotation).split("|")]
            for kind, values in WRONG_NUMBERS.items():
                if kind in kinds:
                    yield from ((verb, argument.name, value) for value in values)
            if "str" in kinds:
                yield verb, argument.name, ""


@pytest.fixture(scope="module")
def given(samples):
    """Return the required arguments of each verb."""
    layers = hs.nn.Sequential(hs.nn.Conv2d(1, 4, 3, padding=1), hs.nn.ReLU(), hs.nn.Flatten(), hs.nn.Linear(256, 4))
    net = hs.network(layers, x=(None, 1, 8, 8))
    prepared = hs.quantize(net, data=samples[0])
    program = hs.convert(prepared)
    on_samples = {"network": prepared, "data": samples}
    return {
        "inspect": {"network": net}, "quantize": {"network": net, "data": samples}, "change_bits": {"prepared": prepared, "layers": "*"},
        "train": {"network": net, "data": samples, "epochs": 1}, "convert": {"prepared": prepared}, "verify": {"prepared": prepared, "program": program, "data": samples},
        "bits": {**on_samples, "budget": "size<=60kB"}, "analyze": on_samples, "evaluate": on_samples, "dump": {**on_samples, "path": "dumped"},
        "compare": {"first": prepared, "second": "dumped", "data": samples}, "export": {"network": net, "path": "network.onnx"},
    }  # fmt: skip


@pytest.mark.parametrize(("verb", "argument", "value"), [pytest.param(*each, id="-".join(map(str, each))) for each in arguments()])
def test_what_no_option_takes_is_refused(given, tmp_path, monkeypatch, verb, argument, value):
    if (argument, value) == ("seed", 2**62):
        pytest.skip("a seed may be as large")
    monkeypatch.chdir(tmp_path)
    with pytest.raises((hs.Error, TypeError, ValueError)) as refused:
        getattr(hs, verb)(**{**given[verb], argument: value})
    if refused.type is hs.Error:
        message = str(refused.value)
        assert ("''" in message or '""' in message) if value == "" else argument in message, message
    assert not list(tmp_path.iterdir()), "nothing is written"


def test_zero_bits_are_not_the_bit_widths_of_the_platform(given, samples):
    for argument in ("weight_bits", "activation_bits", "first_last_bits"):
        with raises("number_out_of_range", match=f"{argument}.*0.*1 to 32"):
            hs.quantize(given["quantize"]["network"], data=samples[0], **{argument: 0})
    with raises("number_out_of_range", match="weight_bits.*0.*1 to 32"):
        hs.change_bits(given["change_bits"]["prepared"], "*", weight_bits=0)


def test_the_table_has_arguments_of_every_kind():
    found = list(arguments())
    assert len(found) > 150
    assert {verb for verb, _, _ in found} == set(VERBS) - {"convert"}  # convert has only a switch.


@pytest.mark.parametrize("verb", VERBS)
def test_a_value_of_options_spreads_into_the_call(verb):
    if verb == "change_bits":
        pytest.skip("it has no options")
    name = {"evaluate": "Eval"}.get(verb, verb.capitalize())
    options = getattr(hs.options, f"{name}Options")()
    arguments = inspect.signature(getattr(hs, verb)).parameters
    assert set(options.keys()) <= arguments.keys() and dict(options)
    others = {key for key, value in dict(options).items() if arguments[key].default not in (inspect.Parameter.empty, value)}
    assert others <= {"platform"}, "the function has a default platform where the command has none"


def test_onnxruntime_runs_in_the_python_that_calls(given, tmp_path, monkeypatch):
    monkeypatch.delenv("HALFSTEP_PYTHON", raising=False)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    program = given["verify"]["program"]
    before = dict(os.environ)
    calls = (
        lambda: hs.verify(**given["verify"], backend="onnxruntime"),
        lambda: hs.dump(program, tmp_path / "dumped", given["verify"]["data"], backend="onnxruntime"),
    )
    for call in calls:
        with pytest.raises(hs.UnsupportedError) as refused:
            call()
        assert refused.value.name == "processor_without_exact_sums" or "/nowhere/python" in str(refused.value)
    assert dict(os.environ) == before
