"""Elements and slices of arrays equal NumPy's."""

import random

import numpy as np
import pytest

import halfstep as hs

BASE = np.arange(4 * 5 * 6, dtype=np.float32).reshape(4, 5, 6)


def drawn_key(pick):
    """Return a random index expression for an array of three axes."""

    def bound():
        return pick.choice([None, pick.randint(-8, 8)])

    def one(axis):
        kind = pick.randrange(3)
        extent = BASE.shape[axis]
        if kind == 0:
            return pick.randrange(-extent, extent)
        return slice(bound(), bound(), pick.choice([None, 1, 2, 3, -1, -2, -7])) if kind == 1 else slice(None)

    keys = [one(axis) for axis in range(pick.randint(0, 3))]
    if pick.random() < 0.3 and keys:
        keys[pick.randrange(len(keys))] = np.array([pick.randrange(-4, 4) for _ in range(pick.randint(1, 3))])
    for _ in range(pick.choice([0, 0, 1, 2])):
        keys.insert(pick.randint(0, len(keys)), None)
    if pick.random() < 0.3:
        keys.insert(pick.randint(0, len(keys)), Ellipsis)
    return tuple(keys)


def test_random_parts():
    pick = random.Random(7)
    for _ in range(2000):
        key = drawn_key(pick)
        if any(isinstance(each, np.ndarray) for each in key) and any(isinstance(each, int) for each in key):
            continue  # NumPy then counts integers as index arrays.
        expected = BASE[key]
        found = hs.array(BASE)[key].numpy()
        assert found.shape == expected.shape and found.tobytes() == expected.tobytes(), key


def test_every_part_is_a_copy():
    for key in (slice(None), Ellipsis, (), None, (slice(None), slice(None)), 0, slice(1, None)):
        x = hs.array(BASE)
        part = x[key]
        part += 1
        assert x.numpy().tobytes() == BASE.tobytes(), key


@pytest.mark.parametrize(("key", "message"), [
    ((4,), "index 4 of axis 0, which has 4"),
    ((0, -6), "index -6 of axis 1, which has 5"),
    ((0, 0, 0, 0), r"found 4 indices, expected at most 3, as \[4, 5, 6\] has axes"),
])  # fmt: skip
def test_what_is_not_there(key, message):
    with pytest.raises(IndexError, match=message):
        hs.array(BASE)[key]


def test_a_step_of_zero():
    with pytest.raises(ValueError, match="found a slice of step 0, expected another"):
        hs.array(BASE)[::0]


@pytest.mark.parametrize("shapes", [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 3)), ((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5)), ((5, 1, 3, 4), (2, 4, 3)), ((2, 3, 4), (4,)), ((4,), (2, 4, 3))])
def test_products(shapes):
    a, b = (np.random.default_rng(1).standard_normal(shape).astype(np.float32) for shape in shapes)
    found = (hs.array(a) @ hs.array(b)).numpy()
    assert found.shape == (a @ b).shape
    np.testing.assert_allclose(found, a @ b, rtol=1e-5, atol=1e-6)
