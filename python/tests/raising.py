"""The error that a block ends with, by its name in the catalogue and its fields."""

import contextlib

import pytest

import halfstep as hs


@contextlib.contextmanager
def raises(name, kind=hs.Error, **fields):
    """Fields that are not given may have any text."""
    with pytest.raises(kind) as raised:
        yield raised
    assert raised.value.name == name, raised.value
    assert {field: getattr(raised.value, field) for field in fields} == fields
