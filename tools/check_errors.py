#!/usr/bin/env python3
"""Check that a source raises and a test names every error of the catalogue. errorgen itself refuses duplicate ids or
names, and entries without an explanation.

usage: tools/check_errors.py [BUILD] [--root ROOT]
"""
import argparse
import pathlib
import re
import sys

import yaml

# No test can reach these without a defect of Halfstep, a broken machine, or gigabytes of elements.
UNREACHABLE = {
    "captured_program_dropped", "defect", "export_message_too_large", "export_value_as_input", "no_such_region", "onednn_failed",
    "out_of_memory", "output_lost", "padded_output_differs", "prepared_value_differs", "program_folder_unreadable",
}
RAISED = re.compile(r"\berrors::(\w+?)(?:_entry)?\b|\berror\(\s*\"(\w+)\"")
# Tests also compare names and ids as text.
TESTED = re.compile(RAISED.pattern + r"|\"(\w+)\"|\b(HS\d{4})\b|expect-error: (\w+)")


def words(root, folders, endings, pattern):
    """Return names and ids that the pattern finds in files below these folders."""
    found = set()
    for folder in folders:
        for path in (root / folder).rglob("*"):
            if path.suffix in endings:
                for match in pattern.finditer(path.read_text(errors="replace")):
                    found.update(group for group in match.groups() if group)
    return found


def main(root):
    entries = {}
    for path in sorted((root / "halfstep").rglob("errors.yaml")):
        for name, entry in (yaml.safe_load(path.read_text()) or {}).items():
            entries[name] = (path.relative_to(root), entry["id"])
    raised = words(root, ["halfstep", "cli", "python/src", "python/halfstep", "opgen"], {".cpp", ".h", ".cu", ".py"}, RAISED)
    tested = words(root, ["tests", "python/tests"], {".cpp", ".h", ".py", ".ir"}, TESTED)
    wrong = [] if entries else [f"{root}: there is no errors.yaml"]
    for name, (path, identity) in entries.items():
        if name not in raised:
            wrong.append(f"{path}: {name}: no source raises it; remove the entry")
        if not {name, identity} & tested and name not in UNREACHABLE:
            wrong.append(f"{path}: {name} ({identity}): no test names it")
    print("\n".join(wrong) or f"{len(entries)} errors: each is raised and tested")
    return 1 if wrong else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", help="not used")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    sys.exit(main(parser.parse_args().root))
