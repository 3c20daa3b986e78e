#!/usr/bin/env python3
"""Write the tables of measurements into README and the pages of docs/.

usage: tools/figures.py [--check]

docs/results/data/PAGE.yaml has the figures of PAGE.md, and those of README.md which no other page has:

  tables:    NAME: {commands: [...], machine: TEXT, date: YYYY-MM-DD, columns: [...], rows: [[...], ...]}
  sentences: [{figures: [...], of: TEXT, commands: [...], machine: TEXT, date: YYYY-MM-DD}, ...]

A table is written between `<!-- figures: NAME -->` and `<!-- end -->`. `<!-- figures: PAGE.NAME ROW ... -->` selects
rows of another page's table by number, from 0 on. A figure in a sentence of a page must be in a table, in `sentences`,
or among the numbers of the page that nobody measures (defaults, limits, versions): docs/results/data/constants.yaml.

A source that the history does not tell is `not recorded`. References are not checked, except for `CHECKED_REFERENCES`.
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
FOLDERS = ("results", "tutorials", "guides", "explanation", "design")
CHECKED_REFERENCES = (ROOT / "docs/reference/formats.md",)
PAGES = (ROOT / "README.md", *(page for folder in FOLDERS for page in sorted((ROOT / "docs" / folder).glob("*.md"))),
         *CHECKED_REFERENCES)  # fmt: skip
MARKED = re.compile(r"<!-- figures: (?P<table>[\w.]+)(?P<rows>( \d+)*) -->\n(?P<text>.*?)<!-- end -->\n", re.DOTALL)
CODE = re.compile(r"^```.*?^```$|`[^`]*`", re.MULTILINE | re.DOTALL)
UNITS = "%|points|dB|ns|us|ms|s|seconds|minutes|B|kB|KB|MB|million|codes|times"
FIGURE = re.compile(rf"\d[\d,]*(?:\.\d+)?(?= ?(?:to \d[\d.]* )?(?:{UNITS})(?![\w/]))|\d{{1,3}}(?:,\d{{3}})+|(?<!BY )(?<![\d.])\d+\.\d+(?=[ ,)]|\.?$|\. )", re.MULTILINE)


def load(page):
    path = DATA / f"{page}.yaml"
    return yaml.safe_load(path.read_text()) if path.is_file() else {}


def constants():
    """Return the numbers of pages that nobody measures, by page."""
    return yaml.safe_load((DATA / "constants.yaml").read_text())


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
    return re.sub(r"\|  (?=\|)", "| ", text) + "\n" + source(entry)


def problems_of(page, data):
    """Return what is missing or wrong in the data of a page."""
    problems = []
    entries = [*data.get("tables", {}).items(), *((str(entry.get("of")), entry) for entry in data.get("sentences", []))]
    for name, entry in entries:
        if not entry.get("commands") or not entry.get("machine") or not isinstance(entry.get("date"), datetime.date):
            problems.append(f"{page}: '{name}' needs commands, machine and date")
        for command in entry.get("commands", []):
            script = command.split()[0]
            if script not in ("halfstep", "make", "python3") and not (ROOT / script).is_file():
                problems.append(f"{page}: '{name}': no such command: {script}")
    for name, entry in data.get("tables", {}).items():
        if any(len(row) != len(entry["columns"]) for row in entry["rows"]):
            problems.append(f"{page}: '{name}': a row has another number of cells than there are columns")
    return problems


def figures_in(text):
    return set(FIGURE.findall(text))


def without_data(text, data, fixed=()):
    """Return the figures of a page's sentences that are neither in its data nor in `fixed`, and those in `sentences` or
    `fixed` that no text has.
    """
    prose = CODE.sub("", MARKED.sub("", text))
    found = figures_in(prose)
    listed = {figure for entry in data.get("sentences", []) for figure in entry["figures"]}.union(fixed)
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
    fixed = constants()
    problems = [f"constants.yaml: there is no page {name}" for name in fixed if ROOT / name not in PAGES]
    for path in PAGES:
        text = path.read_text()
        made = written(path, text)
        if made != text and check:
            problems.append(f"{path.relative_to(ROOT)}: not up to date, run tools/figures.py")
        elif made != text:
            path.write_text(made)
        data = load(path.stem)
        problems += problems_of(path.name, data)
        unknown, unused = without_data(text, data, fixed.get(path.relative_to(ROOT).as_posix(), {}))
        if path.name == "README.md":
            others = [without_data(text, load(page.stem))[0] for page in PAGES[1:]]
            unknown = [figure for figure in unknown if all(figure in other for other in others)]
        problems += [f"{path.name}: figure {figure} is not in docs/results/data/{path.stem}.yaml, nor in constants.yaml" for figure in unknown]
        problems += [f"{path.name}: the page has no figure {figure}" for figure in unused]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
