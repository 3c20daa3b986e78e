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


@pytest.mark.parametrize("subject", ["Add a check", "Process images by rows", "Pass the platform on"])
def test_imperative_subjects_pass(check, subject):
    assert not list(check.subject_faults(subject))


@pytest.mark.parametrize("subject", ["Added a check", "Adding a check", "Adds a check", "Add a check " * 7])
def test_other_subjects_are_refused(check, subject):
    assert list(check.subject_faults(subject))


def test_the_list_of_exceptions_is_short(check):
    assert len(check.EXCEPT) <= 10
    assert all((ROOT / name).exists() for name in check.EXCEPT)
