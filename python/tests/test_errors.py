"""Rejected inputs: type and fields of each exception."""

import numpy as np
import pytest
from raising import raises

import halfstep

X = np.arange(4, dtype=np.float32)
SCALE, ZERO_POINT = np.ones(1, np.float32), np.zeros(1, np.int32)


def refused(exception, call):
    with pytest.raises(exception) as caught:
        call()
    return str(caught.value)


def test_error_is_a_value_error():
    assert issubclass(halfstep.Error, ValueError)
    assert issubclass(halfstep.UnsupportedError, halfstep.Error)
    assert issubclass(halfstep.InternalError, RuntimeError)
    assert issubclass(halfstep.AbsentResultError, AttributeError)


def test_fields_of_an_error():
    with raises("not_a_dtype") as raised:
        halfstep.array([1.0], dtype="f33")
    error = raised.value
    assert (error.id, error.layer, error.where, error.problem) == ("HS9101", "", "array", "")
    assert (error.found, error.remedy) == ("dtype 'f33'", "")
    assert error.kind == "bad_input"
    assert error.expected
    names = ("id", "name", "kind", "layer", "where", "problem", "found", "expected", "remedy", "file", "line", "node")
    assert (error.file, error.line, error.node) == ("", None, "")
    assert error.diagnostics == [{name: getattr(error, name) for name in names}]


def test_all_that_is_wrong_is_in_the_diagnostics(tmp_path):
    with raises("no_such_side") as raised:
        halfstep.compare(tmp_path / "one", tmp_path / "two")
    assert [one["where"] for one in raised.value.diagnostics] == [str(tmp_path / "one"), str(tmp_path / "two")]


def test_file_line_and_node_are_fields(tmp_path):
    with pytest.raises(halfstep.Error) as raised:
        halfstep.load(tmp_path / "none.safetensors")
    assert (raised.value.file, raised.value.line) == (str(tmp_path / "none.safetensors"), None)
    for where, parts in {
        "digits.ir:12: node 'conv'": ("digits.ir", 12, "conv"),
        "net.onnx: node 'conv4'": ("net.onnx", None, "conv4"),
        "node 'conv4'": ("", None, "conv4"),
        "network 'digits': node 'conv4'": ("", None, "conv4"),
        "run.yaml:3: epochs": ("run.yaml", 3, ""),
        "train: --epochs": ("", None, ""),
        "layer 'a node ': b": ("", None, ""),
    }.items():
        error = halfstep._core.error("not_a_choice", where, "", "")
        assert (error.where, error.file, error.line, error.node) == (where, *parts)


def test_a_defect_is_no_wrong_input():
    error = halfstep._core.error("defect", "here", "1 == 2")
    assert type(error) is halfstep.InternalError and (error.id, error.name) == ("HS1000", "defect")
    with pytest.raises(TypeError):
        halfstep._core.error("defect", "here")


def test_unsupported_has_fields_too():
    error = halfstep._core.error("too_many_dynamic_dimensions", "relu", 9, 8)
    assert type(error) is halfstep.UnsupportedError
    assert (error.where, error.found, error.expected) == ("relu", "9 dynamic dimensions", "at most 8")
    assert halfstep._core.error("unknown_result_dimension", "relu").id == "HS9114"


def test_explain():
    text = halfstep.explain("HS9117")
    assert text == halfstep.explain("hs9117") == halfstep.explain("9117") == halfstep.explain("empty_argument")
    assert "HS9117" in text and "empty_argument" in text and "{argument}" in text
    with raises("unknown_error", found="'empty_argumet'") as raised:
        halfstep.explain("empty_argumet")
    assert "'empty_argument'" in raised.value.expected


def loads(state):
    return lambda: halfstep.nn.Linear(3, 2).load_state_dict(state)


def nested():
    values = []
    values.append(values)
    return halfstep.jit(lambda x: X)(values)


@pytest.mark.parametrize(
    "name, call",
    [
        ("not_a_choice", lambda: halfstep.device("moon").__enter__()),
        ("not_a_dtype", lambda: halfstep.full((1,), 2.0, "f33")),
        ("attribute_beyond_64_bits", lambda: halfstep.ops.concat([X], axis=2**63)),
        ("containers_too_deep", nested),
        ("parameters_without_gradient", lambda: halfstep.optim.SGD([], 0.1)),
        ("no_batch", lambda: halfstep.datasets.load([])),
        ("empty_argument", lambda: halfstep.datasets.load("")),
        ("options_of_paths", lambda: halfstep.datasets.load(X, label="none")),
        ("state_of_other_module", loads({})),
        ("dropout_rate_out_of_range", lambda: halfstep.nn.Dropout(1)),
    ],
)
def test_errors_by_name(name, call):
    with raises(name):
        call()


def test_broken_rule():
    message = refused(halfstep.Error, lambda: halfstep.ops.fake_quantize(X, SCALE, ZERO_POINT, code_min=255))
    assert "fake_quantize c1" in message and "255" in message


def test_wrong_dtype_and_dims():
    message = refused(ValueError, lambda: halfstep.ops.fake_quantize(X, X, ZERO_POINT, axis=1))
    assert "zero_point" in message and "4" in message
    message = refused(ValueError, lambda: halfstep.ops.fake_quantize(X, SCALE, SCALE))
    assert "zero_point" in message and "f32" in message and "i32" in message


def test_operands_that_the_attributes_decide_about():
    average = halfstep.ops.fake_quantize_dequantize_moving_average_abs_max
    assert "'in_accum'" in refused(halfstep.Error, lambda: average(X, SCALE))
    message = refused(halfstep.Error, lambda: average(X, SCALE, SCALE, is_test=True))
    assert "'in_accum'" in message and "is_test" in message and "f32[1]" in message


def test_wrong_calls_are_type_errors():
    assert "code_maks" in refused(TypeError, lambda: halfstep.ops.fake_quantize(X, SCALE, ZERO_POINT, code_maks=3))
    assert "zero_point" in refused(TypeError, lambda: halfstep.ops.fake_quantize(X, SCALE))
    assert "positional" in refused(TypeError, lambda: halfstep.ops.fake_quantize(X, SCALE, ZERO_POINT, 0))
    assert "'dims'" in refused(TypeError, lambda: halfstep.ops.reshape(X))
    for value in ([1.0], 1.0, "x", object()):
        assert refused(TypeError, lambda: halfstep.ops.relu(value)) == (
            f"call: relu: x is of type {type(value).__name__}, expected a NumPy array, a tensor with __dlpack__ or a buffer"
        )
    assert refused(TypeError, lambda: halfstep.ops.concat(X, axis=0)) == (
        "call: concat: x is of type numpy.ndarray, expected a list of tensors"
    )


@pytest.mark.parametrize(
    "value, exception, message",
    [
        ("0", halfstep.Error, '"0"'),
        (0.0, halfstep.Error, "0.0"),
        (True, halfstep.Error, "true"),
        ([0], halfstep.Error, "[0]"),
        (2**63, halfstep.Error, "'axis'"),
        (None, TypeError, "NoneType"),
        ({}, TypeError, "dict"),
        ([[0]], TypeError, "list"),
    ],
)
def test_wrong_attributes(value, exception, message):
    said = refused(exception, lambda: halfstep.ops.concat([X], axis=value))
    assert "'axis'" in said and message in said


def test_attributes_in_other_forms():
    expected = halfstep.ops.reshape(X, dims=(2, 2))
    for dims in ([2, 2], np.array([2, 2]), (np.int8(2), 2)):
        assert np.array_equal(halfstep.ops.reshape(X, dims=dims), expected)
    halfstep.ops.fake_quantize(X, SCALE, ZERO_POINT, axis=np.int64(-1), gradient_scale=np.float32(1))
    halfstep.ops.fake_quantize(X, SCALE, ZERO_POINT, gradient_scale=1)


def test_choices_suggest():
    message = refused(halfstep.Error, lambda: halfstep.ops.quantize(X, SCALE, ZERO_POINT, rounding="half_evan"))
    assert "'half_even'" in message


def test_an_error_leaves_nothing_behind():
    for _ in range(3):
        refused(halfstep.Error, lambda: halfstep.ops.fake_quantize(X, SCALE, ZERO_POINT, code_min=255))
        assert np.array_equal(halfstep.ops.relu(X), X)
