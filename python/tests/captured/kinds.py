"""State that Python lets one read and change, one to a block of text: its name, how it is made, behind > the number that is
read of it, and behind each ! what may happen to it between calls. `_` at the end of a name stands for the number of the
state, V for a number."""

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
"""What guards look at, so that functions of these are captured."""

STRANGE = list(_kinds("strange.txt"))
"""What no guard looks at, or what is not the same twice: functions of these run step by step, or every call is another kind."""
