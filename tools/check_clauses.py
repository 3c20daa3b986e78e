#!/usr/bin/env python3
"""Tests cite the clauses of docs/arithmetic.md, and every clause has a test.

A clause begins with its id in bold, such as **A3.2**. A test cites clauses in the comment directly above it:
`// A3.2, A3.4` in C++, `# A3.2` in Python and in the cases of tests/passes/texts. The check fails for a clause that no
test cites, a cited clause that does not exist, an id of two clauses, and a test file of an exactness folder (EXACT)
that cites nothing.

usage: tools/check_clauses.py [BUILD]
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = "docs/arithmetic.md"
# Their tests compare results bit by bit, so that each file tests a clause.
EXACT = ("tests/arith", "tests/kernels", "tests/equivalence")
CLAUSE = re.compile(r"^(?:[-*] |\| )?\*\*(A\d+\.\d+)\*\*", re.MULTILINE)
CITED = re.compile(r"\bA\d+\.\d+\b")
COMMENT = re.compile(r"\s*(?://|#(?!include))")
TEST = {".cpp": re.compile(r"TEST(?:_F|_P)?\("), ".py": re.compile(r"\s*def test_\w+\("), ".ir": re.compile(r"# passes:")}


def sources(root):
    for folder in ("tests", "python/tests"):
        yield from sorted(path for path in (root / folder).rglob("*") if path.suffix in TEST)


def tests_of(path):
    """(line, cited ids) of each test in a source."""
    comment, open_brackets = [], 0
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        if TEST[path.suffix].match(line):
            yield number, CITED.findall("\n".join(comment))
            comment = []
        if COMMENT.match(line) and not open_brackets:
            comment.append(line)
        elif path.suffix == ".py" and (open_brackets or line.lstrip().startswith("@")):  # a decorator, which may have several lines
            open_brackets += sum(line.count(bracket) for bracket in "([{") - sum(line.count(bracket) for bracket in ")]}")
        else:
            comment, open_brackets = [], 0


def main(root=ROOT):
    ids = CLAUSE.findall((root / PAGE).read_text())
    wrong = [f"{PAGE}: {clause}: two clauses have this id; give one the next free number" for clause in sorted({i for i in ids if ids.count(i) > 1})]
    cited, tests = set(), 0
    for path in sources(root):
        name, before = path.relative_to(root), tests
        for line, clauses in tests_of(path):
            tests += bool(clauses)
            cited.update(clauses)
            wrong += [f"{name}:{line}: cites {clause}, which {PAGE} does not have" for clause in clauses if clause not in ids]
        # Sources without tests of their own are helpers.
        if str(name).startswith(EXACT) and path.name.endswith("_test.cpp") and tests == before:
            wrong.append(f"{name}: cites no clause; name the clauses of {PAGE} above its tests")
    wrong += [f"{PAGE}: {clause}: no test cites it" for clause in dict.fromkeys(ids) if clause not in cited]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"check_clauses: {len(set(ids))} clauses, {len(cited & set(ids))} with a test; {tests} tests cite clauses; {len(wrong)} violations")
    return 1 if wrong or not ids else 0


if __name__ == "__main__":
    sys.exit(main())
