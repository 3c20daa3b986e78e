#!/usr/bin/env python3
"""Draw docs/memory.svg: the values of an integer program in its arena, over instructions and bytes.

usage: HALFSTEP_CPU=scalar halfstep inspect quickstart_out/integer.safetensors | tools/memory_picture.py docs/memory.svg

The plan of the level `scalar` is the same on every machine.
"""
import pathlib
import re
import sys

import svg

WIDTH, LEFT, TOP, HEIGHT, LEAST, ROOM_FOR_TEXT = 860, 74, 66, 300, 4, 30
INSTRUCTION = re.compile(r"^ +\d+  cpu +\S+ +(?P<name>\S+) = ", re.MULTILINE)
VALUE = re.compile(r"^ +\d+  (?P<name>\S+) .* arena at (?P<at>\d+) +(?P<bytes>\d+) bytes +"
                   r"(?P<from>\d+) to (?P<to>\d+)$", re.MULTILINE)
MEMORY = re.compile(r"planned peak (\d+) bytes, naive sum (\d+) bytes")


def value_box(value, column, scale):
    at, size, first, last = (int(value[key]) for key in ("at", "bytes", "from", "to"))
    left, width, height = LEFT + column * first, column * (last - first + 1), max(LEAST, round(size * scale))
    top, middle = TOP + HEIGHT - round(at * scale) - height, left + width // 2
    frame = svg.box(left + 1, top + 1, width - 2, height - 2, radius=2)
    if height < ROOM_FOR_TEXT:
        return [frame, svg.text(left + 4, top - 5, value["name"], size=13)]
    return [frame, svg.text(middle, top + height // 2, value["name"], anchor="middle", size=13),
            svg.text(middle, top + height // 2 + 16, f"{size:,} bytes", svg.FAINT, "middle", size=12)]


def axes(names, column, scale, peak):
    bottom = TOP + HEIGHT
    lines = [svg.text(LEFT + column * i + column // 2, bottom + 18 + 15 * row, words, svg.FAINT, "middle", size=11)
             for i, name in enumerate(names) for row, words in enumerate((i, name))]
    for at in range(0, peak + 1, 1024):
        y = bottom - round(at * scale)
        lines += [f'<path d="M{LEFT} {y}H{LEFT + column * len(names)}" stroke="#eaeef2"/>',
                  svg.text(LEFT - 8, y + 4, f"{at:,}", svg.FAINT, "end", size=12)]
    return lines


def picture(inspected):
    names = INSTRUCTION.findall(inspected)
    peak, naive = map(int, MEMORY.search(inspected).groups())
    column, scale = (WIDTH - LEFT - 20) // len(names), HEIGHT / peak
    parts = [svg.text(24, 28, f"{peak:,} bytes for values of {naive:,} bytes", weight="bold"),
             svg.text(24, 50, "bytes in the arena", svg.FAINT, size=13), *axes(names, column, scale, peak)]
    for value in VALUE.finditer(inspected):
        parts += value_box(value, column, scale)
    parts.append(svg.text(LEFT, TOP + HEIGHT + 54, "instructions", svg.FAINT, size=13))
    return svg.document(WIDTH, TOP + HEIGHT + 66, parts)


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text(picture(sys.stdin.read()))
