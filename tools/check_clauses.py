#!/usr/bin/env python3
"""Tests cite the clauses of docs/arithmetic.md, and every clause has a test.

A clause begins with its id in bold, such as **A3.2**. A test cites clauses in the comment directly above it:
`// A3.2, A3.4` in C++, `# A3.2` in Python and in the cases of tests/passes/texts. A test in C++ may also cite them in
its body. The check fails for a clause that no test cites, a cited clause that does not exist, an id of two clauses,
and a test of bit-exactness that cites nothing. A test of bit-exactness has a name as in CLAIMS or, in the folders
EXACT, a name as in CLAIMS_THERE or a call of a helper as in COMPARES.

usage: tools/check_clauses.py [BUILD]
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = "docs/arithmetic.md"
EXACT = ("tests/arith", "tests/kernels", "tests/equivalence")
CLAIMS = re.compile(r"(bits|codes)_?of_?the(ir)?_?reference", re.IGNORECASE)
CLAIMS_THERE = re.compile(r"(bits|codes)_?of_?the|same_?(bits|codes)|agree_?on|exact", re.IGNORECASE)
COMPARES = re.compile(r"\bexpect_\w*(agree|equal|exact|matches_reference|same_codes)\w*\(")
CLAUSE = re.compile(r"^(?:[-*] |\| )?\*\*(A\d+\.\d+)\*\*", re.MULTILINE)
CITED = re.compile(r"\bA\d+\.\d+\b")
COMMENT = re.compile(r"\s*(?://|#(?!include))")
TEST = {".cpp": re.compile(r"TEST(?:_F|_P)?\(\w+,\s*(\w+)"), ".py": re.compile(r"\s*def (test_\w+)\("), ".ir": re.compile(r"# (passes):")}


def sources(root):
    for folder in ("tests", "python/tests"):
        yield from sorted(path for path in (root / folder).rglob("*") if path.suffix in TEST)


def body_of(lines):
    """The first function of the lines, in C++: up to a bracket at the margin."""
    end = next((i for i, line in enumerate(lines, 1) if line.startswith("}") or line.endswith("}") and i == 1), 1)
    return "\n".join(lines[:end])


def tests_of(path):
    """(line, name, body, cited ids) of each test in a source."""
    comment, open_brackets = [], 0
    lines = path.read_text(errors="replace").splitlines()
    for number, line in enumerate(lines, 1):
        if test := TEST[path.suffix].match(line):
            body = body_of(lines[number - 1 :]) if path.suffix == ".cpp" else ""
            yield number, test[1], body, CITED.findall("\n".join([*comment, body]))
            comment = []
        if COMMENT.match(line) and not open_brackets:
            comment.append(line)
        elif path.suffix == ".py" and (open_brackets or line.lstrip().startswith("@")):  # a decorator, which may have several lines
            open_brackets += sum(line.count(bracket) for bracket in "([{") - sum(line.count(bracket) for bracket in ")]}")
        else:
            comment, open_brackets = [], 0


def is_exact(path, name, body):
    return CLAIMS.search(name) or str(path).startswith(EXACT) and (CLAIMS_THERE.search(name) or COMPARES.search(body))


def main(root=ROOT):
    ids = CLAUSE.findall((root / PAGE).read_text())
    wrong = [f"{PAGE}: {clause}: two clauses have this id; give one the next free number" for clause in sorted({i for i in ids if ids.count(i) > 1})]
    cited, tests = set(), 0
    for path in sources(root):
        name = path.relative_to(root)
        for line, test, body, clauses in tests_of(path):
            tests += bool(clauses)
            if not clauses and is_exact(name, test, body):
                wrong.append(f"{name}:{line}: {test} cites no clause; name those of {PAGE} that it tests above it")
            cited.update(clauses)
            wrong += [f"{name}:{line}: cites {clause}, which {PAGE} does not have" for clause in clauses if clause not in ids]
    wrong += [f"{PAGE}: {clause}: no test cites it" for clause in dict.fromkeys(ids) if clause not in cited]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"check_clauses: {len(set(ids))} clauses, {len(cited & set(ids))} with a test; {tests} tests cite clauses; {len(wrong)} violations")
    return 1 if wrong or not ids else 0


if __name__ == "__main__":
    sys.exit(main())
