"""Shared parts of the pictures in docs/: text, boxes, arrows, and the document around them.

The frame has a white ground of its own, so that a picture can be read on a dark page too.
"""
import html
import math

INK, FAINT, LINE, FILL, GOOD, BAD = "#1f2328", "#656d76", "#57606a", "#ddf4ff", "#1a7f37", "#cf222e"


def text(x, y, words, colour=INK, anchor="start", weight="normal", size=14):
    style = f'fill="{colour}" text-anchor="{anchor}" font-weight="{weight}" font-size="{size}"'
    return f'<text x="{x}" y="{y}" {style}>{html.escape(str(words))}</text>'


def box(left, top, width, height, fill=FILL, line=LINE, radius=8):
    place = f'x="{left}" y="{top}" width="{width}" height="{height}"'
    return f'<rect {place} rx="{radius}" fill="{fill}" stroke="{line}"/>'


def arrow(*points, colour=LINE):
    """Return an arrow along these points, with its head at the last one."""
    (from_x, from_y), (x, y) = points[-2:]
    way = " ".join(f"{a},{b}" for a, b in points)
    angle = round(math.degrees(math.atan2(y - from_y, x - from_x)))
    return (f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
            f'<path d="M0 0l-9 -4.5v9z" fill="{colour}" transform="translate({x} {y}) rotate({angle})"/>')


def document(width, height, parts):
    """Return the document: a frame with these parts."""
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="Segoe UI, Helvetica, Arial, sans-serif" role="img">')
    return "\n".join([head, box(1, 1, width - 2, height - 2, "#ffffff", "#d0d7de"), *parts, "</svg>", ""])
