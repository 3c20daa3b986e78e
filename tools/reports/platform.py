"""JSON of `platform`."""

from __future__ import annotations

from typing import Any, TypedDict

from halfstep.report_rows import ErrorRow
from reports.common import Object


class PlatformCheck(Object):
    """`platform check`: all mistakes of a record."""

    file: str
    """the record"""
    holds: bool
    """whether there is no mistake"""
    objections: list[ErrorRow]
    """one for each mistake, with file, line and key in `where`"""


class Platform(Object):
    """`platform show`, `platform new`: a platform."""

    platform: dict[str, Any]
    """the resolved record, with typed values"""


class Difference(TypedDict):
    """A key of two records."""

    key: str
    """the key"""
    first: str | None
    """YAML of the first, `null` if there is none"""
    second: str | None
    """YAML of the second"""


class PlatformDiff(Object):
    """`platform diff`: the differences of two platforms."""

    first: str
    """the first platform"""
    second: str
    """the second platform"""
    differences: list[Difference]
    """keys with different values"""


class PlatformName(TypedDict):
    """A built-in platform."""

    name: str
    """the name"""
    doc: str
    """the description"""


class PlatformList(Object):
    """`platform list`: the built-in platforms."""

    platforms: list[PlatformName]
    """in the order of their names"""


class PlatformKey(TypedDict):
    """A key of records."""

    key: str
    """the key"""
    type: str
    """its type"""
    values: str
    """legal values"""
    default: str
    """default in YAML, `required` or `none`"""
    example: str
    """a value in YAML"""
    doc: str
    """one sentence"""


class PlatformKeys(Object):
    """`platform keys`: all keys of records."""

    keys: list[PlatformKey]
    """in the order of a record"""
