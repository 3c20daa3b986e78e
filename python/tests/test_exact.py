"""Results equal the rules of docs/arithmetic.md in NumPy, bit for bit."""

import numpy as np
import pytest

import halfstep

F32 = np.float32
SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40, 0.25, 0.75, -0.25, 3e38], F32)


def values(shape, seed=1):
    flat = np.random.default_rng(seed).uniform(-4, 6, shape).astype(F32).reshape(-1)
    flat[: min(SPECIAL.size, flat.size)] = SPECIAL[: flat.size]
    return flat.reshape(shape)


def half_away(v):
    whole = np.trunc(v)
    return np.where(np.abs(v - whole) >= 0.5, whole + np.copysign(F32(1), v), whole)


def half_up(v):
    low = np.floor(v)
    return np.where(v - low >= 0.5, low + F32(1), low)


ROUND = {"half_even": np.rint, "half_away": half_away, "half_up": half_up}


def along(parameter, rank, axis):
    return parameter if axis < 0 else parameter.reshape([-1 if i == axis else 1 for i in range(rank)])


def code(x, scale, zero_point, *, axis=-1, code_min=0, code_max=255, method="divide", rounding="half_even"):
    scale, zero_point = along(scale, x.ndim, axis), along(zero_point, x.ndim, axis).astype(F32)
    with np.errstate(all="ignore"):
        steps = x / scale if method == "divide" else x * (F32(1) / scale)
        unclamped = ROUND[rounding](steps).astype(F32) + zero_point
        return np.where(unclamped >= code_min, np.minimum(unclamped, F32(code_max)), F32(code_min)).astype(np.int32)


def real(codes, scale, zero_point, axis=-1):
    scale, zero_point = along(scale, codes.ndim, axis), along(zero_point, codes.ndim, axis)
    return (codes.astype(np.int32) - zero_point).astype(F32) * scale


def same_bits(found, expected):
    return found.dtype == expected.dtype and found.shape == expected.shape and found.tobytes() == expected.tobytes()


# A2.1, A2.2
@pytest.mark.parametrize("rounding", ROUND)
@pytest.mark.parametrize("method", ["divide", "reciprocal"])
@pytest.mark.parametrize("shape, axis", [((5, 7, 33), -1), ((16, 3, 3), 0), ((5, 16, 33), 1), ((4, 3, 16), 2), ((0, 4), -1)])
def test_quantizers(shape, axis, method, rounding):
    x = values(shape)
    channels = 1 if axis < 0 else shape[axis]
    scale = np.resize(np.array([0.03, 0.5, 0.0078125, 1e-3], F32), channels)
    zero_point = np.resize(np.array([0, 3, 7], np.int32), channels)
    how = {"axis": axis, "code_min": -20, "code_max": 100, "method": method, "rounding": rounding}
    codes = code(x, scale, zero_point, **how)
    assert same_bits(halfstep.ops.quantize(x, scale, zero_point, code_type="i8", **how), codes.astype(np.int8))
    assert same_bits(halfstep.ops.fake_quantize(x, scale, zero_point, **how), real(codes, scale, zero_point, axis))
    assert same_bits(
        halfstep.ops.dequantize(codes.astype(np.int8), scale, zero_point, axis=axis), real(codes, scale, zero_point, axis)
    )


def paddle_model(x, scale, bits, round_type):
    largest = F32(2 ** (bits - 1) - 1)
    inverse = F32(1) / scale if scale > F32(1e-30) else F32(1) / (scale + F32(1e-6))
    if round_type == 0:
        rounded = np.clip(np.rint((largest * inverse) * x), -largest - 1, largest)
    else:
        rounded = half_away((largest * inverse) * np.clip(x, -scale, scale))
    return (rounded.astype(F32) * scale) / largest


# A8.2, A8.6
@pytest.mark.parametrize("round_type", [0, 1])
@pytest.mark.parametrize("bits", [4, 8])
def test_moving_average(bits, round_type):
    x = np.random.default_rng(2).uniform(-4, 6, (33, 65)).astype(F32)
    scale, accum, state = np.array([[1.5], [2.5], [3.0]], F32)
    found = halfstep.ops.fake_quantize_dequantize_moving_average_abs_max(
        x, scale, accum, state, bit_length=bits, round_type=round_type
    )
    rate = F32(0.9)
    new_state, new_accum = rate * state + F32(1), rate * accum + np.abs(x).max()
    new_scale = new_accum / new_state
    assert same_bits(found.out_state, new_state)
    assert same_bits(found.out_accum, new_accum)
    assert same_bits(found.out_scale, new_scale)
    assert same_bits(found.out, paddle_model(x, new_scale[0], bits, round_type))

    tested = halfstep.ops.fake_quantize_dequantize_moving_average_abs_max(
        x, scale, bit_length=bits, round_type=round_type, is_test=True
    )
    assert same_bits(tested.out, paddle_model(x, scale[0], bits, round_type))


# A8.4
def test_channel_wise():
    x = np.random.default_rng(3).uniform(-4, 6, (30, 15, 5)).astype(F32)
    for axis in (0, 1):
        found = halfstep.ops.fake_channel_wise_quantize_dequantize_abs_max(x, quant_axis=axis)
        scale = np.abs(x).max(axis=tuple(i for i in range(3) if i != axis))
        assert same_bits(found.out_scale, scale)
        expected = [paddle_model(part, s, 8, 1) for part, s in zip(np.moveaxis(x, axis, 0), scale)]
        assert same_bits(found.out, np.ascontiguousarray(np.moveaxis(np.array(expected, F32), 0, axis)))


def test_large_tensors_equal_their_parts():
    x = np.random.default_rng(4).uniform(-4, 6, 3_000_001).astype(F32)
    scale, zero_point = np.array([0.05], F32), np.array([3], np.int32)
    whole = halfstep.ops.fake_quantize(x, scale, zero_point)
    assert same_bits(whole, real(code(x, scale, zero_point), scale, zero_point))


def test_layers_take_optional_and_variadic_operands():
    rng = np.random.default_rng(5)
    x, w, b = rng.integers(-3, 4, (2, 3)), rng.integers(-3, 4, (4, 3)), rng.integers(-3, 4, 4)
    x, w, b = x.astype(F32), w.astype(F32), b.astype(F32)
    assert same_bits(halfstep.ops.linear(x, w), x @ w.T)
    assert same_bits(halfstep.ops.linear(x, w, None), x @ w.T)
    assert same_bits(halfstep.ops.linear(x, w, b), x @ w.T + b)
    assert same_bits(halfstep.ops.linear(b=b, w=w, x=x), x @ w.T + b)
    assert same_bits(halfstep.ops.concat([x, w, x], axis=0), np.concatenate([x, w, x]))
    assert same_bits(halfstep.ops.concat((x,), axis=1), x)


def test_layer_norm_without_bias_keeps_the_sign_of_zero():
    """Every kernel does, because 1 / y is infinite with the sign of zero."""
    y = halfstep.ops.layer_norm(np.full((3, 1), 2, F32), np.array([-0.5], F32)).out
    assert np.array_equal(y, np.zeros((3, 1))) and np.signbit(y).all()
