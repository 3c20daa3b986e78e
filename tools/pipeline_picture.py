#!/usr/bin/env python3
"""Draw docs/pipeline.svg: the stages of a network, the steps between them, and the checks across.

usage: tools/pipeline_picture.py docs/pipeline.svg
"""
import pathlib
import sys

import svg

WIDTH, HEIGHT, BOX_WIDTH, BOX_HEIGHT, TOP = 860, 250, 200, 72, 56
STAGES = (
    (24, "float", "source model"),
    (330, "prepared", "fake-quantized, on codes"),
    (636, "integer", "integer program"),
)
STEPS = (0, "quantize"), (1, "convert")


def text(x, y, words, colour=svg.INK, weight="normal", size=14):
    return svg.text(x, y, words, colour, "middle", weight, size)


def stage(left, name, note):
    middle = left + BOX_WIDTH // 2
    return [svg.box(left, TOP, BOX_WIDTH, BOX_HEIGHT), text(middle, TOP + 32, name, weight="bold", size=16),
            text(middle, TOP + 54, note, svg.FAINT, size=13)]


def step(start, end, y, words):
    return [svg.arrow((start, y), (end, y)), text((start + end) // 2, y - 12, words)]


def check(start, end, depth, words):
    bottom = TOP + BOX_HEIGHT + depth
    line = f"M{start} {TOP + BOX_HEIGHT}V{bottom}H{end}V{TOP + BOX_HEIGHT}"
    return [f'<path d="{line}" fill="none" stroke="{svg.GOOD}" stroke-dasharray="5 4"/>',
            text((start + end) // 2, bottom - 8, words, svg.GOOD, size=13)]


def picture():
    middles = [left + BOX_WIDTH // 2 for left, _, _ in STAGES]
    parts = [part for one in STAGES for part in stage(*one)]
    for i, words in STEPS:
        parts += step(STAGES[i][0] + BOX_WIDTH, STAGES[i + 1][0], TOP + BOX_HEIGHT // 2, words)
    loop = (-40, TOP), (-40, TOP - 22), (40, TOP - 22), (40, TOP)
    parts += [svg.arrow(*((middles[1] + x, y) for x, y in loop)), text(middles[1], 24, "calibrate, correct, train")]
    parts += check(middles[1], middles[2], 40, "verify: equal codes in every layer")
    semantic = "verify: every layer against the float operator of the source model"
    parts += check(middles[0], middles[2] + 30, 92, semantic)
    return svg.document(WIDTH, HEIGHT, parts)


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text(picture())
