#!/usr/bin/env python3
"""Texts are short, plain and spelled right: pages, comments, docstrings, texts of errors, options and operators, and subjects of commits.

usage: tools/check_prose.py [--table]    (needs python3-yaml and codespell)

A page and the comments of a folder have limits for the lengths of sentences and paragraphs, and for how often they use
"what" and semicolons. No text uses a word of DEPRECATED, and neither do headings, tables and literal strings. A comment
does not begin as the rest of a sentence. A commit of many files has a body. --table prints the measures of every page
and folder.
"""
import ast
import collections
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

import yaml

SENTENCE_MEDIAN, SENTENCE_P90, PARAGRAPH_P90 = 16, 28, 80
RATES = {"what": (r"\bwhat\b", 2), "semicolon": (r";", 4)}  # occurrences in 1,000 words
SUBJECT = 72
COMMITS = 30
FILES_WITHOUT_BODY = 12

# Words that the project used in a sense of its own, and the term of the field.
DEPRECATED = {
    r"\broads?\b": "execution path, back end",
    r"\bislands?\b": "float fallback",
    r"\bthe network that came in\b": "the source model",
    r"\bheld back\b": "validation split, held-out",
    r"\bmisfits?\b": "badly scaled quantizer",
    r"\bmend(s|ed|ing)?\b": "correct, correction",
    r"\bopen extents?\b": "dynamic dimension",
    r"\breals\b": "real values, float values",
    r"\bwhole numbers?\b": "integer",
    r"\banew\b": "again, recomputed",
    r"\bwitness(es)?\b": "independent reference",
    r"\btaught\b": "distilled",
    r"\bfeature maps?\b|\bfeatures?\b": "activation",
    r"\bstandings?\b": "validation result",
    r"(?<!of )\bcourses?\b": "training history",
    r"\bharm(s|ed|ful)?\b": "sensitivity, worse",
    r"\b(a|the|its|their) reach\b": "representable range",
    r"\bscaled_by\b": "requantization multiplier",
    r"\bthe machine that looks\b": "fuzzer",
    r"\btall(y|ies)\b": "score, count",
    r"\bscenes?\b": "test network, setup",
}

HEADLESS = r"(of|that|as|what|the same|those|which|like above)\b"
FIELD = re.compile(rf"///<\s*{HEADLESS}", re.IGNORECASE)
COMMENT = re.compile(rf"\s*(///?|#) {HEADLESS}", re.IGNORECASE)
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
SENTENCE = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`(])")
PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s{2,}\S+\s{2,})")  # an empty line, or the next row of an aligned list
ITEM = re.compile(r"\n(?=\s*(?:[-*]|\d+\.)\s)")
TEXTS = {"title", "doc", "explanation", "found", "expected", "remedy", "template", "summary", "note"}
CODE = {".h", ".cpp", ".cu", ".cuh", ".inc"}
# Texts that quote others, and why: at most ten lines.
EXCEPT = {
    "tests/pages/test_prose.py": "samples of what the check finds",
    "tools/check_prose.py": "the list of deprecated words",
    "halfstep/train/loop/recipe.cpp": "the text of checkpoints, which keep the words of their version",
}


def paragraphs_of_page(text):
    """Prose of Markdown: no code, tables, headings, images or targets of links."""
    text = re.sub(r"```.*?```|<!--.*?-->", "\n\n", text, flags=re.S)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    for block in re.split(r"\n\s*\n", text):
        kept = "\n".join(line for line in block.splitlines() if not re.match(r"\s*(\||#|<|!\[|---)", line))
        for item in ITEM.split(kept):
            yield re.sub(r"[*\[\]]", "", re.sub(r"^\s*(?:[-*]|\d+\.)\s", "", item))


def blocks(text, pattern, mark):
    for block in re.findall(pattern, text, re.M):
        yield "\n".join(re.sub(mark, "", line) for line in block.splitlines())


def docstrings(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield ast.get_docstring(node) or ""


def texts_of_yaml(value, key=""):
    if isinstance(value, dict):
        for name, one in value.items():
            yield from texts_of_yaml(one, name)
    elif isinstance(value, list):
        for one in value:
            yield from texts_of_yaml(one, key)
    elif isinstance(value, str) and key in TEXTS:
        yield value


def paragraphs(path):
    """The prose of a file, as paragraphs."""
    text = path.read_text(errors="replace")
    if path.suffix == ".md":
        return paragraphs_of_page(text)
    if path.suffix in CODE:
        found = blocks(text, r"(?:^[ \t]*//.*\n)+|///<.*\n", r"^\s*(///<|///|//)")
    elif path.suffix == ".py":
        found = [*docstrings(text), *blocks(text, r"(?:^[ \t]*#(?!!).*\n)+", r"^\s*#")]
    else:
        found = [*texts_of_yaml(yaml.safe_load(text)), *blocks(text, r"(?:^[ \t]*#.*\n)+", r"^\s*#")]
    return (part for block in found for part in PARAGRAPH.split(block))


def phrases(path):
    """Headings and tables of a page, and literal strings of more than one word without the values in quotes."""
    text = path.read_text(errors="replace")
    if path.suffix == ".md":
        return re.findall(r"^\s*[|#].*", re.sub(r"```.*?```|\]\([^)]*\)", "", text, flags=re.S), re.M)
    if path.suffix == ".py":
        strings = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    else:
        strings = STRING.findall(re.sub(r"^\s*(//|#).*$", "", text, flags=re.M)) if path.suffix in CODE else []
    return [re.sub(r"'[^']*'", "", string) for string in strings if " " in string]


class Prose:
    """Paragraphs of a page, or of the sources of a folder, and their measures."""

    def __init__(self, parts):
        self.parts = [" ".join(part.split()) for part in parts]
        self.lengths = sorted(len(part.split()) for part in self.parts if part)
        sentences = (len(one.split()) for part in self.parts for one in SENTENCE.split(part))
        self.sentences = sorted(length for length in sentences if length > 2)
        self.words = sum(self.lengths)
        self.text = re.sub(r"`[^`]*`|\"[^\"\n]*\"", "``", "\n".join(self.parts))  # code and quotations are no prose

    def median(self):
        return statistics.median(self.sentences) if self.sentences else 0

    def count(self, pattern):
        return len(re.findall(pattern, self.text, re.IGNORECASE))

    def faults(self):
        if self.median() > SENTENCE_MEDIAN:
            yield f"sentences of {self.median():.0f} words in the median, expected at most {SENTENCE_MEDIAN}"
        if p90(self.sentences) > SENTENCE_P90:
            yield f"a tenth of the sentences has more than {p90(self.sentences) - 1} words, expected at most {SENTENCE_P90}"
        if p90(self.lengths) > PARAGRAPH_P90:
            yield f"a tenth of the paragraphs has more than {p90(self.lengths) - 1} words, expected at most {PARAGRAPH_P90}"
        for name, (pattern, rate) in RATES.items():
            found = self.count(pattern)
            if found > max(1, rate * self.words / 1000):
                yield f"{found} times '{name}' in {self.words} words, expected at most {rate} in 1,000"

    def row(self):
        rates = (1000 * self.count(pattern) / max(self.words, 1) for pattern, _ in RATES.values())
        return [self.words, f"{self.median():.0f} / {p90(self.sentences)}", p90(self.lengths), *(f"{rate:.1f}" for rate in rates)]


def p90(lengths):
    return lengths[int(0.9 * (len(lengths) - 1))] if lengths else 0


def group_of(name):
    """A page is measured alone, sources with their folder."""
    parts = pathlib.PurePath(name).parts
    return name if name.endswith(".md") else "/".join(parts[: 3 if parts[0] == "halfstep" else 1][: len(parts) - 1]) or "."


def deprecated_words(name, prose):
    for pattern, term in DEPRECATED.items():
        for match in re.finditer(pattern, prose.text, re.IGNORECASE):
            line = prose.text[max(0, match.start() - 30) : match.end() + 20].replace("\n", " ")
            yield f"{name}: '{match.group(0)}' in '...{line}...', expected: {term}"


def headless_comments(name, text):
    previous = ""
    for number, line in enumerate(text.splitlines(), 1):
        begins = COMMENT.match(line) and not previous.lstrip().startswith(("//", "#"))
        if not name.endswith(".md") and (FIELD.search(line) or begins):
            yield f"{name}:{number}: the comment cannot be read alone: {line.strip()}"
        previous = line


def commits(root):
    """(subject, body, number of files) of the last commits. A copy without history has none."""
    command = ["git", "log", f"-{COMMITS}", "--no-merges", "--format=%x01%s%x00%b%x00", "--name-only"]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True)
    for commit in run.stdout.split("\x01")[1:] if run.returncode == 0 else []:
        subject, body, files = commit.split("\x00")
        yield subject, body.strip(), len(files.split("\n")) - 3


def commit_faults(subject, body, files):
    yield from subject_faults(subject)
    if files > FILES_WITHOUT_BODY and not body:
        yield f"commit '{subject}': {files} files and no body, expected the reason of the change"


def subject_faults(subject):
    first = subject.split()[0].lower() if subject.split() else ""
    if len(subject) > SUBJECT:
        yield f"commit '{subject}': {len(subject)} characters, expected at most {SUBJECT}"
    if re.search(r"(ed|ing)$", first) or (first.endswith("s") and not first.endswith("ss")):
        yield f"commit '{subject}': expected an imperative, such as 'Add'"


def spelling(root, names):
    """Tests misspell names on purpose."""
    if shutil.which("codespell") is None:
        return ["codespell is not installed: run tools/setup.sh"]
    command = ["codespell", "--ignore-words", "tools/spelling.txt", *(n for n in names if "tests/" not in n)]
    return subprocess.run(command, cwd=root, capture_output=True, text=True).stdout.splitlines()


def main(root, shows_table):
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout.splitlines()
    names = [n for n in listed if pathlib.PurePath(n).suffix in {".md", ".py", ".yaml", *CODE} and not n.startswith(tuple(EXCEPT))]
    faults, groups = [], collections.defaultdict(list)
    for name in names:
        parts = list(paragraphs(root / name))
        groups[group_of(name)] += parts
        quotes = [] if "tests/" in name else phrases(root / name)  # tests quote records and notes of earlier versions
        faults += deprecated_words(name, Prose([*parts, *quotes]))
        faults += headless_comments(name, (root / name).read_text(errors="replace"))
    measured = {name: Prose(parts) for name, parts in sorted(groups.items())}
    for name, prose in measured.items():
        faults += [f"{name}: {fault}" for fault in prose.faults()]
    logged = list(commits(root))
    faults += [fault for commit in logged for fault in commit_faults(*commit)]
    faults += spelling(root, names)
    if shows_table:
        print("| text | words | sentence median / p90 | paragraph p90 | what | ; |\n| --- | --- | --- | --- | --- | --- |")
        for name, prose in measured.items():
            print("| " + " | ".join(map(str, [name, *prose.row()])) + " |")
    print("\n".join(faults) or f"{len(measured)} texts with {sum(prose.words for prose in measured.values())} words, {len(logged)} commits")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(__file__).resolve().parent.parent, "--table" in sys.argv))
