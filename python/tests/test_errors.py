"""What is refused, as which exception, with which message."""

import numpy as np
import pytest

import halfstep

X = np.arange(4, dtype=np.float32)
SCALE, ZERO_POINT = np.ones(1, np.float32), np.zeros(1, np.int32)


def refused(exception, call):
    with pytest.raises(exception) as caught:
        call()
    return str(caught.value)


def test_error_is_a_value_error():
    assert issubclass(halfstep.Error, ValueError)
    assert issubclass(halfstep.AbsentResultError, AttributeError)


def test_broken_rule():
    message = refused(halfstep.Error, lambda: halfstep.ops.fake_quantize(X, SCALE, ZERO_POINT, code_min=255))
    assert message.startswith("call: fake_quantize c1: code_min is 255, code_max is 255, expected code_min < code_max")


def test_wrong_dtype_and_dims():
    assert (
        refused(ValueError, lambda: halfstep.ops.fake_quantize(X, X, ZERO_POINT, axis=1))
        == "call: fake_quantize dims: dim 0 of zero_point is 1, expected s = 4"
    )
    assert (
        refused(ValueError, lambda: halfstep.ops.fake_quantize(X, SCALE, SCALE))
        == "call: fake_quantize type: zero_point is f32, expected i32"
    )


def test_operands_that_the_attributes_decide_about():
    average = halfstep.ops.fake_quantize_dequantize_moving_average_abs_max
    assert "input 'in_accum' is missing" in refused(halfstep.Error, lambda: average(X, SCALE))
    assert "input 'in_accum' is not taken when is_test is true, found f32[1]" in refused(
        halfstep.Error, lambda: average(X, SCALE, SCALE, is_test=True)
    )


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
        ("0", halfstep.Error, """attribute 'axis' is "0" (string), expected int"""),
        (0.0, halfstep.Error, "attribute 'axis' is 0.0 (float), expected int"),
        (True, halfstep.Error, "attribute 'axis' is true (bool), expected int"),
        ([0], halfstep.Error, "attribute 'axis' is [0] (ints), expected int"),
        (2**63, halfstep.Error, "attribute 'axis' does not fit in 64 bits"),
        (None, TypeError, "attribute 'axis' is of type NoneType, expected int"),
        ({}, TypeError, "attribute 'axis' is of type dict, expected int"),
        ([[0]], TypeError, "attribute 'axis' is of type list, expected int"),
    ],
)
def test_wrong_attributes(value, exception, message):
    assert refused(exception, lambda: halfstep.ops.concat([X], axis=value)) == "call: concat: " + message


def test_attributes_in_other_forms():
    expected = halfstep.ops.reshape(X, dims=(2, 2))
    for dims in ([2, 2], np.array([2, 2]), (np.int8(2), 2)):
        assert np.array_equal(halfstep.ops.reshape(X, dims=dims), expected)
    halfstep.ops.fake_quantize(X, SCALE, ZERO_POINT, axis=np.int64(-1), gradient_scale=np.float32(1))
    halfstep.ops.fake_quantize(X, SCALE, ZERO_POINT, gradient_scale=1)


def test_choices_suggest():
    message = refused(halfstep.Error, lambda: halfstep.ops.quantize(X, SCALE, ZERO_POINT, rounding="half_evan"))
    assert message.endswith("did you mean 'half_even'?")


def test_an_error_leaves_nothing_behind():
    for _ in range(3):
        refused(halfstep.Error, lambda: halfstep.ops.fake_quantize(X, SCALE, ZERO_POINT, code_min=255))
        assert np.array_equal(halfstep.ops.relu(X), X)
