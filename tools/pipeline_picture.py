#!/usr/bin/env python3
"""docs/pipeline.svg: the stages of a network, the steps between them, and the checks across.

usage: tools/pipeline_picture.py docs/pipeline.svg
"""
import pathlib
import sys

WIDTH, HEIGHT, BOX_WIDTH, BOX_HEIGHT, TOP = 860, 250, 200, 72, 56
STAGES = (
    (24, "float", "source model"),
    (330, "prepared", "fake-quantized, on codes"),
    (636, "integer", "integer program"),
)
STEPS = (0, "quantize"), (1, "convert")
INK, FAINT, LINE, FILL, CHECK = "#1f2328", "#656d76", "#57606a", "#ddf4ff", "#1a7f37"


def text(x, y, words, colour=INK, weight="normal", size=14):
    style = f'fill="{colour}" text-anchor="middle" font-weight="{weight}" font-size="{size}"'
    return f'<text x="{x}" y="{y}" {style}>{words}</text>'


def box(left, name, note):
    middle = left + BOX_WIDTH // 2
    size = f'width="{BOX_WIDTH}" height="{BOX_HEIGHT}"'
    return [f'<rect x="{left}" y="{TOP}" {size} rx="8" fill="{FILL}" stroke="{LINE}"/>',
            text(middle, TOP + 32, name, weight="bold", size=16), text(middle, TOP + 54, note, FAINT, size=13)]


def arrow(start, end, y, words):
    return [f'<path d="M{start} {y}H{end - 8}" stroke="{LINE}" stroke-width="2"/>',
            f'<path d="M{end} {y}l-10 -5v10z" fill="{LINE}"/>', text((start + end) // 2, y - 12, words)]


def check(start, end, depth, words):
    bottom = TOP + BOX_HEIGHT + depth
    line = f"M{start} {TOP + BOX_HEIGHT}V{bottom}H{end}V{TOP + BOX_HEIGHT}"
    return [f'<path d="{line}" fill="none" stroke="{CHECK}" stroke-dasharray="5 4"/>',
            text((start + end) // 2, bottom - 8, words, CHECK, size=13)]


def picture():
    middles = [left + BOX_WIDTH // 2 for left, _, _ in STAGES]
    loop = f'M{middles[1] - 40} {TOP}v-22h80v14'
    parts = [f'<rect x="1" y="1" width="{WIDTH - 2}" height="{HEIGHT - 2}" rx="8" fill="#ffffff" stroke="#d0d7de"/>']
    for stage in STAGES:
        parts += box(*stage)
    for i, words in STEPS:
        parts += arrow(STAGES[i][0] + BOX_WIDTH, STAGES[i + 1][0], TOP + BOX_HEIGHT // 2, words)
    parts += [f'<path d="{loop}" fill="none" stroke="{LINE}" stroke-width="2"/>',
              f'<path d="M{middles[1] + 40} {TOP}l-5 -10h10z" fill="{LINE}"/>',
              text(middles[1], 24, "calibrate, correct, train")]
    parts += check(middles[1], middles[2], 40, "verify: equal codes in every layer")
    semantic = "verify: every layer against the float operator of the source model"
    parts += check(middles[0], middles[2] + 30, 92, semantic)
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
            'font-family="Segoe UI, Helvetica, Arial, sans-serif" font-size="14" role="img">')
    return "\n".join([head, *parts, "</svg>", ""])


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text(picture())
