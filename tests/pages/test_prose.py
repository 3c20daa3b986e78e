"""tools/check_prose.py finds every kind of fault that it has a limit for."""

import importlib.util

import pytest
from pages import ROOT

PLAIN = "Quantize the model. Pass `--data` to calibrate it. The command writes one file.\n"


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("check_prose", ROOT / "tools/check_prose.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def faults(check, text):
    return " ".join(check.Prose(check.paragraphs_of_page(text)).faults())


def test_plain_text_has_no_fault(check):
    assert faults(check, PLAIN) == ""


@pytest.mark.parametrize(
    "text, fault",
    [
        (" ".join(["word"] * 17) + ".\n", "words in the median"),
        ("One two three. " * 8 + "Word" + " word" * 28 + ". " + "Word" + " word" * 28 + ".\n", "a tenth of the sentences"),
        ("Short words here. " * 27 + "\n\n" + "Short words here. " * 27 + "\n", "a tenth of the paragraphs"),
        ("It shows what is there. It shows what is gone.\n", "2 times 'what'"),
        ("It reads; it writes. It runs; it ends.\n", "2 times 'semicolon'"),
    ],
)
def test_a_fault_is_named(check, text, fault):
    assert fault in faults(check, text)


def test_code_and_tables_are_not_prose(check):
    assert faults(check, PLAIN + "\n```c\nwhat; what; what;\n```\n\n| what; | what; |\n") == ""


def test_words_of_comments_docstrings_and_texts_are_read(check, tmp_path):
    for name, text in {
        "a.h": "int x;  ///< what is left\n// A road.\n",
        "a.py": '"""A road."""\n\n\ndef f():\n    """An island."""\n',
        "a.yaml": "name:\n  doc: a road\n  key: island\n",
    }.items():
        (tmp_path / name).write_text(text)
        words = list(check.deprecated_words(name, check.Prose(check.paragraphs(tmp_path / name))))
        assert words, name
        assert not any("island" in word for word in words) or name == "a.py"
    assert check.FIELD.search("int x;  ///< what is left")


def test_words_of_headings_tables_and_literal_strings_are_read(check, tmp_path):
    for name, text in {
        "a.md": "## The road\n\n| a | an island |\n| --- | --- |\n| `a road` | [b](road.md) |\n",
        "a.cpp": 'fail("the road " + name + " is an island");  // "road"\n// a road\n#include "road"\n',
        "a.py": 'print("the road", "is an island", "road", "found \'road\'")\n',
    }.items():
        (tmp_path / name).write_text(text)
        words = list(check.deprecated_words(name, check.Prose(check.phrases(tmp_path / name))))
        assert [word.split("'")[1] for word in words] == ["road", "island"], words


@pytest.mark.parametrize("comment", ["/// As above.", "  // What is left.", "# The same rule.", "int x;  ///< of the row"])
def test_a_comment_that_cannot_be_read_alone_is_named(check, comment):
    assert list(check.headless_comments("a.cpp", f"int y;\n{comment}\n"))
    assert not list(check.headless_comments("a.cpp", f"// The first line ends\n{comment.replace('int x;  ///<', '//')}\n"))


def test_a_commit_of_many_files_needs_a_body(check):
    assert list(check.commit_faults("Rename the verbs", "", 13))
    assert not list(check.commit_faults("Rename the verbs", "The field calls them so.", 13))
    assert not list(check.commit_faults("Rename the verbs", "", 12))


@pytest.mark.parametrize("subject", ["Add a check", "Process images by rows", "Pass the platform on"])
def test_imperative_subjects_pass(check, subject):
    assert not list(check.subject_faults(subject))


@pytest.mark.parametrize("subject", ["Added a check", "Adding a check", "Adds a check", "Add a check " * 7])
def test_other_subjects_are_refused(check, subject):
    assert list(check.subject_faults(subject))


def test_the_list_of_exceptions_is_short(check):
    assert len(check.EXCEPT) <= 10
    assert all((ROOT / name).exists() for name in check.EXCEPT)
