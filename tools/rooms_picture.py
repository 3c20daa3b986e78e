#!/usr/bin/env python3
"""Draw docs/rooms.svg: the wings by level with their rooms, from halfstep/rooms.yaml.

usage: tools/rooms_picture.py docs/rooms.svg

An arrow leads to a wing that another one includes. Arrows that follow from others are left out.
"""
import pathlib
import sys
import textwrap

import svg
from rooms import load, wing_of

WIDTH, TOP, BOX_WIDTH, BOX_HEIGHT, COLUMN, LEVEL = 860, 44, 236, 62, 276, 110
LEFT, LETTERS, ASIDE = 36, 33, 60
COLUMNS = {"tune": 0, "train": 0, "data": 0, "verify": 2, "engine": 2}  # the others stand in the middle


def below(rooms):
    """Return the wings that each wing includes, without those that another one of them includes too."""
    direct = {wing: {wing_of(room) for name in rooms.named(wing) for room in rooms.includes(name)[0]} - {wing}
              for wing in rooms.wings}
    reached = {}
    for wing, others in direct.items():  # a wing is listed after those that it includes
        reached[wing] = others.union(*(reached[other] for other in others))
    indirect = {wing: set().union(*(reached[other] for other in others)) for wing, others in direct.items()}
    return {wing: sorted(others - indirect[wing]) for wing, others in direct.items()}


def corner(wing, levels):
    return LEFT + COLUMN * COLUMNS.get(wing, 1), TOP + LEVEL * (max(levels.values()) - levels[wing])


def wing_box(wing, rooms, levels):
    left, top = corner(wing, levels)
    names = [name.partition("/")[2] for name in rooms.named(wing) if "/" in name]
    lines = textwrap.wrap(", ".join(names), LETTERS)
    middle = left + BOX_WIDTH // 2
    heading = top + 36 - 8 * len(lines)
    return [svg.box(left, top, BOX_WIDTH, BOX_HEIGHT), svg.text(middle, heading, wing, anchor="middle", weight="bold"),
            *(svg.text(middle, heading + 17 * i, line, svg.FAINT, "middle", size=13) for i, line in enumerate(lines, 1))]


def include(wing, other, levels):
    (left, top), (other_left, other_top) = corner(wing, levels), corner(other, levels)
    aside = ASIDE * ((other_left > left) - (other_left < left)) + BOX_WIDTH // 2
    return svg.arrow((left + aside, top + BOX_HEIGHT), (other_left + BOX_WIDTH - aside, other_top))


def picture(rooms):
    levels = rooms.levels()
    top = max(levels.values())
    parts = [svg.text(24, 28, "A wing includes only wings below it", weight="bold")]
    parts += [svg.text(14, TOP + LEVEL * (top - level) + 36, level, svg.FAINT) for level in range(1, top + 1)]
    parts += [include(wing, other, levels) for wing, others in below(rooms).items() for other in others]
    for wing in rooms.wings:
        parts += wing_box(wing, rooms, levels)
    return svg.document(WIDTH, TOP + LEVEL * top - 28, parts)


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text(picture(load()))
