#!/usr/bin/env python3
"""Check sizes of files and functions: at most 500 lines for a file, of the Python package too. At most 100 for a C++
function outside kernels, p90 of functions below 30. A folder of the library has at most 40 files. Lines of YAML and of Markdown's prose are at most
as long as those of sources (.clang-format).

usage: tools/check_sizes.py    (needs universal-ctags)

Prints lines by folder, and median, p90 and largest of files and functions.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ["halfstep", "opgen", "cli", "python", "tests", "bench"]
# Tests are often tables. Their figures are printed, and the limits apply to shipped code.
LIMITED = ("halfstep/", "opgen/", "cli/", "python/")
LONGEST_FILE, LONGEST_FUNCTION, P90_FUNCTION, LARGEST_FOLDER = 500, 100, 30, 40


def share(sorted_values, fraction):
    return sorted_values[min(len(sorted_values) - 1, int(len(sorted_values) * fraction))] if sorted_values else 0


def is_kernel(name):
    return name.startswith("halfstep/engine/kernels/")


def is_limited(name):
    return name.startswith(LIMITED) and not is_kernel(name)


def folder_of(name):
    parts = name.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def functions(names):
    """Return (lines, file, first line, name) of each function with a body."""
    arguments = ["ctags", "--output-format=json", "--languages=C++", "--langmap=C++:+.h.cu", "--kinds-C++=f", "--fields=+ne", "-L", "-", "-f", "-"]
    run = subprocess.run(arguments, cwd=ROOT, input="\n".join(names), capture_output=True, text=True, check=True)
    for line in run.stdout.splitlines():
        tag = json.loads(line)
        if tag.get("_type") == "tag" and "end" in tag:
            yield tag["end"] - tag["line"] + 1, tag["path"], tag["line"], tag["name"]


def print_figures(label, values, unit):
    values = sorted(values)
    print(f"{label:<24} {len(values):5} {unit:<9}  median {share(values, 0.5):4}  p90 {share(values, 0.9):4}  largest {values[-1] if values else 0:4}")
    return share(values, 0.9)


def prose(text):
    """Return (number, line) of the lines of Markdown outside of tables and code."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fence = line.lstrip().startswith(("```", "~~~"))
        fenced = fenced != fence
        if not fenced and not fence and not line.startswith("|"):
            yield number, line


def long_lines():
    longest = int(re.search(r"^ColumnLimit: (\d+)$", (ROOT / ".clang-format").read_text(), re.MULTILINE).group(1))
    folders = [folder for folder in ROOT.iterdir() if folder.is_dir() and folder.name != "build" and folder.name[0] != "."]
    paths = [*ROOT.glob("*.md"), *(path for folder in folders for path in folder.rglob("*"))]
    for path in sorted(path for path in paths if path.suffix in (".yaml", ".md")):
        name, text = path.relative_to(ROOT).as_posix(), path.read_text()
        for number, line in prose(text) if path.suffix == ".md" else enumerate(text.splitlines(), 1):
            if len(line) > longest:
                yield f"{name}:{number}: the line has {len(line)} characters, expected at most {longest}"


def large_folders():
    counts = collections.Counter(path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "halfstep").rglob("*") if path.is_file())
    return [f"{folder}:1: {count} files lie in one folder, expected at most {LARGEST_FOLDER}; group them in folders"
            for folder, count in sorted(counts.items()) if count > LARGEST_FOLDER]


def python_package():
    """Return the lines of each module and stub."""
    paths = sorted((ROOT / "python/halfstep").glob("*.py*"))
    return {path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines()) for path in paths if path.is_file()}


def main():
    names = sorted(path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("*")
                   if path.suffix in (".h", ".cpp", ".cu") and path.is_file())
    lines = {name: len((ROOT / name).read_text().splitlines()) for name in names}
    totals = collections.Counter()
    for name, count in lines.items():
        totals[folder_of(name)] += count
    for folder, count in sorted(totals.items()):
        print(f"{count:7} lines  {folder}")
    print(f"{sum(totals.values()):7} lines  in {len(names)} files\n")

    limited = {name: count for name, count in lines.items() if is_limited(name)} | python_package()
    violations = [f"{name}:{count}: the file has {count} lines, expected at most {LONGEST_FILE}" for name, count in limited.items()
                  if count > LONGEST_FILE]
    found = list(functions(names))
    for label, chosen in (("library and program", is_limited), ("kernels", is_kernel),
                          ("tests and benchmarks", lambda name: not is_limited(name) and not is_kernel(name))):
        print_figures(label, [count for name, count in lines.items() if chosen(name)], "files")
        p90 = print_figures("", [entry[0] for entry in found if chosen(entry[1])], "functions")
        if chosen is is_limited and p90 >= P90_FUNCTION:
            violations.append(f"halfstep:1: p90 of functions is {p90} lines, expected less than {P90_FUNCTION}")
    violations += [f"{name}:{line}: function {function} has {count} lines, expected at most {LONGEST_FUNCTION}"
                   for count, name, line, function in found if is_limited(name) and count > LONGEST_FUNCTION]
    violations += [*large_folders(), *long_lines()]
    if not found:
        violations.append("tools/check_sizes.py:1: ctags found no function")
    print(f"{len(violations)} violations")
    print("\n".join(violations), file=sys.stderr, end="\n" if violations else "")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
