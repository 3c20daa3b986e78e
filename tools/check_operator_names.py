#!/usr/bin/env python3
"""Check that C++ outside the generator does not depend on names of operators, but on their records. No operator's name
is compared with text, searched for text, or looked up by a literal.

usage: tools/check_operator_names.py [BUILD]
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("halfstep", "cli", "python", "bench")
ENDINGS = {".cpp", ".h", ".cu", ".cuh"}
# Expressions that hold the name of one of our operators.
NAME = r"(?:\binfo(?:_|\(\))?\.name\b|\brecord\(\)\.name\b|\bproblem\.op\b)"
ASKS = re.compile(
    rf'{NAME}\s*[=!]=\s*"|"\s*[=!]=\s*[\w.>()-]*?{NAME}'
    rf"|{NAME}\.(?:find|rfind|starts_with|ends_with|contains|compare)\("
    r'|\b(?:find|require)_operator\(\s*"'
)


def questions(text):
    """Return (line, its text) of each match."""
    for number, line in enumerate(text.splitlines(), 1):
        if ASKS.search(line.split("//")[0]):
            yield number, line.strip()


def sources():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in ENDINGS:
                yield path


def main():
    count, found = 0, 0
    for path in sources():
        count += 1
        for number, line in questions(path.read_text()):
            print(f"{path.relative_to(ROOT)}:{number}: asks for an operator by its name, expected a key of its record: {line}")
            found += 1
    print(f"check_operator_names: {count} sources, {found} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
