"""Captured functions of random state equal Python at each step, to the bit, for any changes between calls.

HALFSTEP_RANDOM_FUNCTIONS=2000 sets their number. HALFSTEP_RANDOM_FIRST sets the number of the first.
"""

import os

import pytest
from captured import kinds
from captured.random_functions import compared_at_random, random_case

COUNT = int(os.environ.get("HALFSTEP_RANDOM_FUNCTIONS", "200"))
FIRST = int(os.environ.get("HALFSTEP_RANDOM_FIRST", "0"))
CAPTURED = 0.6  # minimum share of functions with calls that programs served


def test_random_functions():
    found = [compared_at_random(number) for number in range(FIRST, FIRST + COUNT)]
    stale = [each.stale for each in found if each.stale]
    captured = sum(each.served > 0 for each in found)
    print(f"{COUNT} random functions: {len(stale)} stale, {captured} captured ({sum(each.served for each in found)} calls), {sum(bool(each.eager) for each in found)} step by step")
    assert not stale, f"{len(stale)} of {COUNT}:\n" + "\n".join(stale[:5])
    assert captured >= CAPTURED * COUNT


def test_every_kind_is_drawn():
    drawn = {name for number in range(5000) for name in random_case(number).kinds}
    assert drawn == {each.name for each in (*kinds.GUARDED, *kinds.STRANGE)}


@pytest.mark.parametrize("kind", kinds.GUARDED, ids=lambda kind: kind.name)
def test_what_guards_look_at_is_captured(kind):
    from captured.random_functions import served_alone

    assert served_alone(kind) > 0
