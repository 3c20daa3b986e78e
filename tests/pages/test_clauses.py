"""tools/check_clauses.py holds tests to the clauses of the arithmetic, and the clauses to tests."""

import importlib.util

import pytest
from pages import ROOT

PAGE = """# Rules

Every clause has an id, such as **A9.9**.

**A1.1** Rounding:

- **A1.2** NaN stays.
"""


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("check_clauses", ROOT / "tools/check_clauses.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tree(tmp_path):
    """Writes a page and tests: `cpp` to a folder of exact tests, `python` to another."""

    def write(page=PAGE, cpp="/// Ties.\n// A1.1\nTEST(Rounding, Ties) {}\n", python="# A1.2\ndef test_nan():\n    pass\n"):
        for name, text in (("docs/arithmetic.md", page), ("tests/arith/a_test.cpp", cpp), ("python/tests/test_a.py", python)):
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


def test_cited_clauses_pass(check, tree, capsys):
    assert check.main(tree()) == 0
    assert "2 clauses, 2 with a test; 2 tests cite clauses; 0 violations" in capsys.readouterr().out


def test_decorators_may_lie_between(check, tree):
    decorated = '# A1.2\n@pytest.mark.parametrize("bits", [\n    2,\n])\ndef test_nan(bits):\n    pass\n'
    assert check.main(tree(python=decorated)) == 0


def test_a_clause_without_a_test_is_named(check, tree, capsys):
    assert check.main(tree(python="def test_nan():\n    pass\n")) == 1
    assert "docs/arithmetic.md: A1.2: no test cites it" in capsys.readouterr().out


def test_a_comment_away_from_a_test_is_no_citation(check, tree, capsys):
    assert check.main(tree(python="# A1.2\n\ndef helper():\n    pass\n\n\ndef test_nan():\n    pass\n")) == 1
    assert "A1.2: no test cites it" in capsys.readouterr().out


def test_an_unknown_clause_is_named_with_its_line(check, tree, capsys):
    assert check.main(tree(cpp="// A1.1, A7.7\nTEST(Rounding, Ties) {}\n")) == 1
    assert "tests/arith/a_test.cpp:2: cites A7.7" in capsys.readouterr().out


def test_two_clauses_with_one_id_are_named(check, tree, capsys):
    assert check.main(tree(page=PAGE + "- **A1.2** Infinities stay.\n")) == 1
    assert "A1.2: two clauses have this id" in capsys.readouterr().out


@pytest.mark.parametrize("test", ["TEST(Codes, HaveTheSameBits) {}", "TEST(Rounding, Ties) {\n  expect_levels_agree(1);\n}", "TEST(Rounding, HasTheBitsOfTheReference) {}"])
def test_an_exact_test_without_a_citation_is_named(check, tree, capsys, test):
    cited = "// A1.1\nTEST(Rounding, Modes) {}\n\n"
    assert check.main(tree(cpp=cited + test)) == 1
    name = test.split(", ")[1].split(")")[0]
    assert f"tests/arith/a_test.cpp:4: {name} cites no clause" in capsys.readouterr().out
    assert check.main(tree(cpp=cited + "// A1.1\n" + test)) == 0


def test_a_body_may_cite(check, tree):
    assert check.main(tree(cpp="TEST(Rounding, Exact) {\n  // A1.1\n  check();\n}\n")) == 0


def test_tests_of_other_properties_need_no_citation(check, tree):
    assert check.main(tree(cpp="// A1.1\nTEST(Rounding, Modes) {}\nTEST(Exact, Names) {\n  name();\n}\n")) == 0


def test_a_page_without_clauses_fails(check, tree):
    assert check.main(tree(page="# Rules\n", cpp="", python="")) == 1
