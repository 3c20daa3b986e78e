"""Assert the error of a block by its name in the catalogue and its fields."""

import contextlib

import pytest

import halfstep as hs


@contextlib.contextmanager
def raises(name, kind=hs.Error, match=None, **fields):
    """Expect an error. Omitted fields may have any text. match: a value that the message must name."""
    with pytest.raises(kind, match=match) as raised:
        yield raised
    assert raised.value.name == name, raised.value
    assert {field: getattr(raised.value, field) for field in fields} == fields
