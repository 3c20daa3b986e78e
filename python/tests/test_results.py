"""Several results, accessible by name."""

import numpy as np
import pytest

import halfstep

X = np.array([-1.0, 0.25, 2.0], np.float32)
ONE = np.ones(1, np.float32)
average = halfstep.ops.fake_quantize_dequantize_moving_average_abs_max


def test_one_result_is_the_array():
    assert type(halfstep.ops.relu(X)) is np.ndarray


def test_names_and_order():
    found = average(X, ONE, ONE, ONE)
    out, scale, state, accum = found
    assert isinstance(found, halfstep.Results) and len(found) == 4
    assert found.out is out and found.out_scale is scale and found.out_state is state and found.out_accum is accum
    assert found[0] is out and found[-1] is accum
    assert [name for name in dir(found)] == ["out", "out_accum", "out_scale", "out_state"]
    with pytest.raises(IndexError):
        found[4]


def test_what_is_not_produced_is_no_attribute():
    found = average(X, ONE, is_test=True)
    (out,) = found
    assert found.out is out and len(found) == 1
    assert not hasattr(found, "out_scale")
    with pytest.raises(halfstep.AbsentResultError, match="^out_scale is not produced when is_test is true$"):
        found.out_scale
    with pytest.raises(AttributeError, match="out_skale") as caught:
        found.out_skale
    assert not isinstance(caught.value, halfstep.AbsentResultError)


def test_results_cannot_be_changed_or_made():
    found = average(X, ONE, is_test=True)
    with pytest.raises(AttributeError):
        found.out = X
    with pytest.raises(TypeError):
        halfstep.Results()


def test_representation():
    text = repr(average(X, ONE, is_test=True))
    assert text.startswith("fake_quantize_dequantize_moving_average_abs_max(out=array([") and text.endswith(")")


def test_arrays_outlive_results():
    out = average(np.full(100_000, 3, np.float32), ONE, ONE, ONE).out
    average(np.full(100_000, 5, np.float32), ONE, ONE, ONE)
    assert (out == out[0]).all()
