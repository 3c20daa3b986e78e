#!/usr/bin/env python3
"""docs/speed.svg: times of Halfstep beside those of others, from `chart` of docs/results/data/speed.yaml.

usage: tools/speed_picture.py docs/speed.svg

The bars of a task have one scale. Its longest bar has the whole width.
"""
import html
import pathlib
import sys

import yaml

DATA = pathlib.Path(__file__).resolve().parent.parent / "docs/results/data/speed.yaml"
WIDTH, LEFT, LONGEST, ROW, GAP, TOP = 860, 250, 480, 26, 34, 20
OWN, OTHER, INK, FAINT = "#1a7f37", "#8c959f", "#1f2328", "#656d76"


def text(x, y, words, colour=INK, anchor="start", weight="normal"):
    return f'<text x="{x}" y="{y}" fill="{colour}" text-anchor="{anchor}" font-weight="{weight}">{html.escape(words)}</text>'


def task_bars(top, task):
    """Return the heading and the bars of a task, and where they end."""
    parts = [text(24, top, task["task"], weight="bold")]
    most = max(value for _, value in task["bars"])
    y = top + 10
    for name, value in task["bars"]:
        own = name.startswith("Halfstep")
        width = round(LONGEST * value / most)
        parts += [text(LEFT - 10, y + 17, name, INK if own else FAINT, "end"),
                  f'<rect x="{LEFT}" y="{y + 3}" width="{width}" height="{ROW - 6}" rx="3" fill="{OWN if own else OTHER}"/>',
                  text(LEFT + width + 8, y + 17, f"{value:g} {task['unit']}", weight="bold" if own else "normal")]
        y += ROW
    return parts, y


def picture(chart):
    parts, y = [], TOP + 8
    for task in chart:
        made, end = task_bars(y, task)
        parts += made
        y = end + GAP
    height = y - GAP + TOP - 4
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            'font-family="Segoe UI, Helvetica, Arial, sans-serif" font-size="14" role="img">')
    frame = f'<rect x="1" y="1" width="{WIDTH - 2}" height="{height - 2}" rx="8" fill="#ffffff" stroke="#d0d7de"/>'
    return "\n".join([head, frame, *parts, "</svg>", ""])


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text(picture(yaml.safe_load(DATA.read_text())["chart"]))
