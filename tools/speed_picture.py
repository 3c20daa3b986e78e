#!/usr/bin/env python3
"""Draw docs/speed.svg: times of Halfstep beside those of others, from `chart` of docs/results/data/speed.yaml.

usage: tools/speed_picture.py docs/speed.svg

The bars of a task have one scale. Its longest bar has the whole width.
"""
import pathlib
import sys

import yaml
from svg import FAINT, INK, box, document, text

DATA = pathlib.Path(__file__).resolve().parent.parent / "docs/results/data/speed.yaml"
WIDTH, LEFT, LONGEST, ROW, GAP, TOP = 860, 250, 480, 26, 34, 20
OWN, OTHER = "#1a7f37", "#8c959f"


def task_bars(top, task):
    """Return the heading and the bars of a task, and where they end."""
    parts = [text(24, top, task["task"], weight="bold")]
    most = max(value for _, value in task["bars"])
    y = top + 10
    for name, value in task["bars"]:
        own = name.startswith("Halfstep")
        width, colour = round(LONGEST * value / most), OWN if own else OTHER
        parts += [text(LEFT - 10, y + 17, name, INK if own else FAINT, "end"),
                  box(LEFT, y + 3, width, ROW - 6, colour, colour, 3),
                  text(LEFT + width + 8, y + 17, f"{value:g} {task['unit']}", weight="bold" if own else "normal")]
        y += ROW
    return parts, y


def picture(chart):
    parts, y = [], TOP + 8
    for task in chart:
        made, end = task_bars(y, task)
        parts += made
        y = end + GAP
    return document(WIDTH, y - GAP + TOP - 4, parts)


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text(picture(yaml.safe_load(DATA.read_text())["chart"]))
