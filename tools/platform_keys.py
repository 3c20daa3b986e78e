#!/usr/bin/env python3
"""Update the table of keys at the end of docs/reference/platform_keys.md from the program's list.

usage: tools/platform_keys.py build/release/halfstep docs/reference/platform_keys.md
"""
import json
import pathlib
import subprocess
import sys

MARK = "<!-- made by tools/platform_keys.py -->\n"


def code(text):
    return f"`{text}`" if text else ""


def row(key):
    default = key["default"] if key["default"] in ("required", "none") else code(key["default"])
    has_keys = key["type"] == "mapping"
    cells = [code(key["key"]), key["doc"], "" if has_keys else key["values"], default, code(key["example"])]
    return f"| {' | '.join(cells)} |\n"


def table(program):
    listed = subprocess.run([program, "platform", "keys", "--json"], check=True, capture_output=True, text=True, timeout=600)
    head = "\n| key | description | values | default | example |\n| --- | --- | --- | --- | --- |\n"
    return head + "".join(row(key) for key in json.loads(listed.stdout)["keys"])


def main():
    program, page = sys.argv[1], pathlib.Path(sys.argv[2])
    written = page.read_text().partition(MARK)[0]
    page.write_text(written + MARK + table(program))


if __name__ == "__main__":
    main()
