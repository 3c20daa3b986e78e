"""The key that all objects have."""

from __future__ import annotations

from typing import TypedDict

Number = float
"""For classes that have a key `float`."""


class Object(TypedDict):
    """All objects begin with this key."""

    schema: int
    """version of this JSON"""
