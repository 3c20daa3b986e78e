#!/usr/bin/env python3
"""Write the tables of measurements into README and the pages of docs/results.

usage: tools/figures.py [--check]

docs/results/data/PAGE.yaml has the figures of docs/results/PAGE.md, and those of README.md which no such page has:

  tables:    NAME: {commands: [...], machine: TEXT, date: YYYY-MM-DD, columns: [...], rows: [[...], ...]}
  sentences: [{figures: [...], of: TEXT, commands: [...], machine: TEXT, date: YYYY-MM-DD}, ...]

A table is written between `<!-- figures: NAME -->` and `<!-- end -->`. `<!-- figures: PAGE.NAME ROW ... -->` selects
rows of another page's table by number, from 0 on. A figure in a sentence of a page must be in a table or in `sentences`.
With --check nothing is written. Exits with 1 if a page differs, or if a figure has no data.
"""
import datetime
import pathlib
import re
import sys
import textwrap

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "docs/results/data"
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs/results").glob("*.md")))
MARKED = re.compile(r"<!-- figures: (?P<table>[\w.]+)(?P<rows>( \d+)*) -->\n(?P<text>.*?)<!-- end -->\n", re.DOTALL)
CODE = re.compile(r"^```.*?^```$|`[^`]*`", re.MULTILINE | re.DOTALL)
UNITS = "%|points|ms|s|seconds|minutes|B|KB|MB|codes|times"
FIGURE = re.compile(rf"\d[\d,]*(?:\.\d+)?(?= ?(?:to \d[\d.]* )?(?:{UNITS})(?![\w/]))|\d{{1,3}}(?:,\d{{3}})+|(?<!BY )\d+\.\d+(?= |,|$)")


def load(page):
    path = DATA / f"{page}.yaml"
    return yaml.safe_load(path.read_text()) if path.is_file() else {}


def line(cells):
    return "| " + " | ".join(cells) + " |\n"


def source(entry):
    day = entry["date"]
    commands = ", ".join(f"`{command}`" for command in entry["commands"])
    text = f"Measured on {day.day} {day:%B %Y} with {commands}. Machine: {entry['machine']}."
    whole = re.sub(r"`[^`]*`", lambda found: found[0].replace(" ", "\0"), text)  # a command stays on one line
    return "\n".join(textwrap.wrap(whole, 120, break_long_words=False, break_on_hyphens=False)).replace("\0", " ") + "\n"


def table(entry, rows):
    chosen = [entry["rows"][row] for row in rows] if rows else entry["rows"]
    text = line(entry["columns"]) + line(["---"] * len(entry["columns"])) + "".join(map(line, chosen))
    return text.replace("|  |", "| |") + "\n" + source(entry)


def problems_of(page, data):
    """Return what is missing or wrong in the data of a page."""
    problems = []
    entries = [*data.get("tables", {}).items(), *((str(entry.get("of")), entry) for entry in data.get("sentences", []))]
    for name, entry in entries:
        if not entry.get("commands") or not entry.get("machine") or not isinstance(entry.get("date"), datetime.date):
            problems.append(f"{page}: '{name}' needs commands, machine and date")
        for command in entry.get("commands", []):
            script = command.split()[0]
            if script not in ("halfstep", "make") and not (ROOT / script).is_file():
                problems.append(f"{page}: '{name}': no such command: {script}")
    for name, entry in data.get("tables", {}).items():
        if any(len(row) != len(entry["columns"]) for row in entry["rows"]):
            problems.append(f"{page}: '{name}': a row has another number of cells than there are columns")
    return problems


def figures_in(text):
    return set(FIGURE.findall(text))


def without_data(text, data):
    """Return the figures of a page's sentences that are not in its data, and those in `sentences` that no text has."""
    prose = CODE.sub("", MARKED.sub("", text))
    found = figures_in(prose)
    listed = {figure for entry in data.get("sentences", []) for figure in entry["figures"]}
    cells = " ".join(cell for entry in data.get("tables", {}).values() for row in entry["rows"] for cell in row)
    unknown = {figure for figure in found if figure not in listed and not re.search(rf"(?<![\d.,]){re.escape(figure)}(?![\d])", cells)}
    return sorted(unknown), sorted(figure for figure in listed if not re.search(rf"(?<![\d.,]){re.escape(figure)}(?!\d)", prose))


def written(path, text):
    def replace(found):
        *page, name = found["table"].split(".")
        entry = load(page[0] if page else path.stem)["tables"][name]
        marker = f"<!-- figures: {found['table']}{found['rows']} -->\n"
        return marker + table(entry, [int(row) for row in found["rows"].split()]) + "<!-- end -->\n"

    return MARKED.sub(replace, text)


def main():
    check = "--check" in sys.argv[1:]
    problems = []
    for path in PAGES:
        text = path.read_text()
        made = written(path, text)
        if made != text and check:
            problems.append(f"{path.relative_to(ROOT)}: not up to date, run tools/figures.py")
        elif made != text:
            path.write_text(made)
        data = load(path.stem)
        problems += problems_of(path.name, data)
        unknown, unused = without_data(text, data)
        if path.name == "README.md":
            others = [without_data(text, load(page.stem))[0] for page in PAGES[1:]]
            unknown = [figure for figure in unknown if all(figure in other for other in others)]
        problems += [f"{path.name}: figure {figure} is not in docs/results/data/{path.stem}.yaml" for figure in unknown]
        problems += [f"{path.name}: the page has no figure {figure}" for figure in unused]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
