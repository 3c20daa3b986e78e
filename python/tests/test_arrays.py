"""For every memory layout of an array, the result is correct, new, and a NumPy array."""

import numpy as np
import pytest

import halfstep
from raising import raises


def same(found, expected):
    return found.dtype == expected.dtype and found.shape == expected.shape and found.tobytes() == expected.tobytes()


def relu(x):
    return np.maximum(x, np.float32(0))


BASE = np.arange(-60, 60, dtype=np.float32).reshape(4, 5, 6)
VIEWS = {
    "dense": BASE,
    "transposed": BASE.T,
    "fortran": np.asfortranarray(BASE),
    "every_second": BASE[:, ::2],
    "reversed": BASE[::-1, :, ::-1],
    "backwards_in_steps": BASE[:, ::-2, ::-3],
    "broadcast": np.broadcast_to(BASE[:, :1], (4, 7, 6)),
    "a_column": BASE[:, 2, 3],
    "one_element": BASE[:1, :1, :1],
    "no_dims": BASE[0, 0, 0, ...],
    "empty": BASE[:, :0],
    "big_endian": BASE.astype(">f4"),
}


@pytest.mark.parametrize("name", VIEWS)
def test_any_strides(name):
    x = VIEWS[name]
    assert same(halfstep.ops.relu(x), np.ascontiguousarray(relu(x).astype(np.float32)).reshape(x.shape))


def test_misaligned():
    x = np.frombuffer(b"\0" + BASE.tobytes(), np.uint8)[1:].view(np.float32)
    assert not x.flags.aligned
    assert same(halfstep.ops.relu(x), relu(BASE.reshape(-1)))


def test_any_address():
    """Memory may be aligned to elements only."""
    x = np.random.default_rng(1).uniform(-9, 9, 200_000).astype(np.float32)
    scale, zero_point = np.array([0, 0.5], np.float32)[1:], np.array([0, 3], np.int32)[1:]
    expected = halfstep.ops.fake_quantize(x, scale, zero_point)
    codes = halfstep.ops.quantize(x, scale, zero_point)
    for first in range(1, 17):
        assert same(halfstep.ops.fake_quantize(x[first:], scale, zero_point), expected[first:])
        assert same(halfstep.ops.quantize(x[first:], scale, zero_point), codes[first:])
        assert same(halfstep.ops.dequantize(codes[first:], scale, zero_point), expected[first:])


def test_read_only():
    x = BASE.copy()
    x.flags.writeable = False
    assert same(halfstep.ops.relu(x), relu(BASE))
    assert halfstep.ops.relu(x).flags.writeable


def test_overlapping_operands():
    x = np.arange(-5, 15, dtype=np.float32)
    assert same(halfstep.ops.add(x[:-1], x[1:]), x[:-1] + x[1:])
    assert same(halfstep.ops.add(x, x[::-1]), x + x[::-1])
    assert same(halfstep.ops.add(x, x), x + x)


@pytest.mark.parametrize("size", [1, 128, 129, 5000, 2_000_000])
def test_results_are_new_and_own_their_memory(size):
    x = np.full(size, 2.0, np.float32)
    first, second = halfstep.ops.relu(x), halfstep.ops.relu(x)
    assert not np.shares_memory(first, x) and not np.shares_memory(first, second)
    first[:] = 7
    assert (x == 2).all() and (second == 2).all() and type(first) is np.ndarray
    last = halfstep.ops.relu(x)[-1:]  # The rest of the array is released.
    halfstep.ops.relu(x + 1)
    assert last[0] == 2


def test_operands_are_only_read():
    x = BASE.copy()
    halfstep.ops.fake_quantize(x, np.array([0.5], np.float32), np.array([0], np.int32))
    assert same(x, BASE)


def test_scalars_and_subclasses():
    assert halfstep.ops.relu(np.float32(-2)).shape == ()

    class Named(np.ndarray):
        pass

    assert type(halfstep.ops.relu(BASE.view(Named))) is np.ndarray
    with raises("masked_array", where="call: relu: x"):
        halfstep.ops.relu(np.ma.masked_array(BASE))


@pytest.mark.parametrize("name", ["bool", "int8", "uint8", "int16", "uint16", "int32", "int64", "float16", "float32", "float64"])
def test_dtypes(name):
    x = np.array([0, 1, 0, 1, 1], name)
    for part in (x, x[::-1]):
        assert same(halfstep.ops.concat([part, x], axis=0), np.concatenate([part, x]))


@pytest.mark.parametrize(
    "name",
    ["bfloat16", "int2", "uint2", "int4", "uint4", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
     "float4_e2m1fn"],
)
def test_dtypes_of_ml_dtypes(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    low = 0 if name.startswith("u") else -1
    x = np.array([low, 0, 1, 1, low], getattr(ml_dtypes, name))
    for part in (x, x[::-2]):
        assert same(halfstep.ops.concat([part, x], axis=0), np.concatenate([part, x]))


def test_codes_of_four_bits_keep_their_sign():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.arange(-10, 10, dtype=np.float32)
    scale, zero_point = np.ones(1, np.float32), np.zeros(1, np.int32)
    codes = halfstep.ops.quantize(x, scale, zero_point, code_min=-8, code_max=7, code_type="i4")
    expected = np.clip(x, -8, 7)
    assert same(codes, expected.astype(ml_dtypes.int4))
    assert same(halfstep.ops.dequantize(codes, scale, zero_point), expected)


@pytest.mark.parametrize("name", ["complex64", "longdouble", "S3", "O", "datetime64[s]"])
def test_foreign_dtypes(name):
    with raises("not_an_element_type", where="call: relu: x"):
        halfstep.ops.relu(np.zeros(3, name))


def test_more_dims_than_a_network_has():
    x = np.arange(-1, 1, dtype=np.float32).reshape((1,) * 31 + (2,))
    assert same(halfstep.ops.relu(x), relu(x))
