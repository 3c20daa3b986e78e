"""Kinds of state that Python code can read and change, one in each block of text. A block holds the name of the kind
and the code that makes the state. The line with > is the expression that reads a number from it. Each line with ! is
a change that may happen between calls. `_` at the end of a name becomes the number of the state, and V becomes a
number.
"""

import pathlib
from typing import NamedTuple


class Kind(NamedTuple):
    name: str
    make: str
    read: str
    changes: list[str]


def _kinds(file):
    for block in (pathlib.Path(__file__).parent / file).read_text().strip().split("\n\n"):
        name, *lines = block.split("\n")
        at = next(place for place, line in enumerate(lines) if line.startswith("> "))
        yield Kind(name, "\n".join(lines[:at]), lines[at][2:], [line[2:] for line in lines[at + 1 :]])


GUARDED = list(_kinds("guarded.txt"))
"""Guards check these kinds, so functions of them are captured."""

STRANGE = list(_kinds("strange.txt"))
"""Guards cannot check these kinds, or their values are never the same twice. Functions of them run step by step, or
every call is another kind.
"""
