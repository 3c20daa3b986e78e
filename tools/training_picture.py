#!/usr/bin/env python3
"""Draw docs/training_step.svg: one training step of a prepared network, forward on codes and backward in float.

usage: tools/training_picture.py docs/training_step.svg
"""
import pathlib
import sys

import svg

WIDTH, HEIGHT, BOX_WIDTH, BOX_HEIGHT, LEFT, COLUMN = 860, 330, 176, 84, 24, 212
FORWARD, BACKWARD = 52, 210
BOXES = (
    (0, FORWARD, "input", "quantized to codes", ""),
    (1, FORWARD, "layers on codes", "exact integer sums,", "device's requantization"),
    (2, FORWARD, "output", "code at every layer,", "as on the device"),
    (3, FORWARD, "loss", "labels, a teacher,", "or your own"),
    (3, BACKWARD, "gradients", "straight-through; none", "for clamped codes"),
    (2, BACKWARD, "clipping", "norm of all gradients", "at most 1"),
    (1, BACKWARD, "optimizer", "updates in place", ""),
    (0, BACKWARD, "parameters", "float weights, biases,", "learned scales"),
)


def step_box(column, top, name, *notes):
    left = LEFT + COLUMN * column
    middle, fill = left + BOX_WIDTH // 2, svg.FILL if top == FORWARD else "#fff8c5"
    lines = [svg.text(middle, top + 49 + 18 * i, note, svg.FAINT, "middle", size=13) for i, note in enumerate(notes)]
    heading = svg.text(middle, top + 29, name, anchor="middle", weight="bold")
    return [svg.box(left, top, BOX_WIDTH, BOX_HEIGHT, fill), heading, *lines]


def sideways(column, top, by):
    """Return an arrow from a column to the next one, to the right (1) or to the left (-1)."""
    start = LEFT + COLUMN * column + (BOX_WIDTH if by > 0 else 0)
    end = start + by * (COLUMN - BOX_WIDTH)
    return svg.arrow((start, top + BOX_HEIGHT // 2), (end, top + BOX_HEIGHT // 2))


def picture():
    parts = [svg.text(LEFT, 32, "forward, on codes", weight="bold"),
             svg.text(LEFT, HEIGHT - 14, "backward, in float", weight="bold")]
    for one in BOXES:
        parts += step_box(*one)
    parts += [sideways(column, FORWARD, 1) for column in (0, 1, 2)]
    parts += [sideways(column, BACKWARD, -1) for column in (3, 2, 1)]
    last, first, layers = (LEFT + COLUMN * column + BOX_WIDTH // 2 for column in (3, 0, 1))
    middle = (FORWARD + BOX_HEIGHT + BACKWARD) // 2
    parts += [svg.arrow((last, FORWARD + BOX_HEIGHT), (last, BACKWARD)),
              svg.arrow((first, BACKWARD), (first, middle), (layers, middle), (layers, FORWARD + BOX_HEIGHT)),
              svg.text((first + layers) // 2, middle - 8, "quantize: weight codes", anchor="middle", size=13)]
    return svg.document(WIDTH, HEIGHT, parts)


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text(picture())
