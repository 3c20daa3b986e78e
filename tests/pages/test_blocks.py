"""Every block of code in a page does what the page states.

The blocks of a page run in order, in one folder and one namespace. `python` is executed. In `sh` the commands of
halfstep run and must end with 0, or with the code in a comment behind them, `# exit code N`. `cpp` that includes
halfstep.h is the body of a program, which is built and run. Other sources are compiled. `yaml` with a record of an
operator passes through opgen. A block with a name is a file of that name.

`text` after one of them is the expected output: each line is searched in the output, with other figures on processors
without AVX-512. Blocks of Python that need a missing package are skipped, with the blocks after them.
"""

import contextlib
import io
import os
import pathlib
import re
import shlex
import subprocess
import warnings

import pytest
from pages import HAS_FIGURES_OF_PAGES, PAGES, ROOT, blocks

PROGRAM = pathlib.Path(os.environ.get("HALFSTEP_PROGRAM", ROOT / "build/release/halfstep")).resolve()
BUILD = PROGRAM.parent
OPTIONAL = ("torch", "onnxscript", "onnxruntime")
NO_SUCH_FILE = 2


def output_of(command, **options):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=3000, **options)
    return done.returncode, done.stdout


def built(command):
    code, output = output_of(command)
    assert code == 0, output


def expected_code(line):
    """The exit code in a comment behind a command: `# exit code 2`."""
    said = re.search(r"# exit code (\d+)", line)
    return int(said[1]) if said else 0


def comparable(line):
    """The part of a line that must be the same."""
    return line.rstrip() if HAS_FIGURES_OF_PAGES else " ".join(re.sub(r"\d[\d,.e-]*\d|\d", "#", line).split())


class Page:
    """State that the blocks of a page share."""

    def __init__(self, page):
        self.page = page
        self.names = {"__name__": "__main__"}
        self.missing = ""

    def python(self, block):
        self.missing = self.missing or next((name for name in OPTIONAL if not self.has(name, block)), "")
        if self.missing:
            return None
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)  # for deprecated names
            exec(compile("\n" * block.line + block.text, str(self.page), "exec"), self.names)
        return printed.getvalue()

    @staticmethod
    def has(name, block):
        if not re.search(rf"\b{name}\b", block.text):
            return True
        try:
            __import__(name)
        except ImportError:
            return False
        return True

    def sh(self, block):
        lines = block.text.replace("\\\n", " ").splitlines()
        return "".join(self.command(shlex.split(line, comments=True), expected_code(line)) for line in lines if line.startswith("halfstep "))

    def command(self, words, expected):
        """Runs a command. It may fail for a file that readers have and this folder does not, and where a fault was
        injected."""
        code, output = output_of([PROGRAM, *words[1:]])
        lacks = [word for word in words if f"{word}: no such file" in output and not pathlib.Path(word).exists()]
        assert code == (expected or "--inject" in words) or (code == NO_SUCH_FILE and lacks), f"{shlex.join(words)}\n{output}"
        return output

    def cpp(self, block):
        compiler = ["g++", "-std=c++20", f"-I{ROOT}", f"-I{BUILD}/gen"]
        if "halfstep/halfstep.h" not in block.text:
            pathlib.Path("block.cpp").write_text(block.text)
            built([*compiler, "-fsyntax-only", "block.cpp"])
            return ""
        head = [line for line in block.text.splitlines() if line.startswith(("#include", "using namespace"))]
        body = [line for line in block.text.splitlines() if line not in head]
        pathlib.Path("block.cpp").write_text("\n".join([*head, "int main() {", *body, "}", ""]))
        built([*compiler, "block.cpp", "-o", "block", f"-L{BUILD}", "-lhalfstep", f"-Wl,-rpath,{BUILD}"])
        code, output = output_of(["./block"])
        assert code == 0, output
        return output

    def yaml(self, block):
        if block.text.startswith("- op:"):
            pathlib.Path("block.yaml").write_text(block.text)
            records = [path for path in sorted((ROOT / "ops").glob("*.yaml")) if path.name != "schema.yaml"]
            forms = [word for path in sorted((ROOT / "halfstep/formats").glob("*/ops/*.cpp")) for word in ("--form", path)]
            built([BUILD / "opgen", "--schema", ROOT / "ops/schema.yaml", "--out", "gen", *forms, *records, "block.yaml"])
        return ""


@pytest.mark.parametrize("path", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_blocks_of(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page, printed = Page(path), ""
    for block in blocks(path):
        if block.language == "text":
            lines = {comparable(line) for line in (printed or "").splitlines()}
            absent = [line for line in block.text.splitlines() if printed is not None and comparable(line) not in lines]
            assert absent == [], f"{path.name}:{block.line}: printed was\n{printed}"
        elif block.name:
            pathlib.Path(block.name).write_text(block.text)
        elif block.language in ("python", "sh", "cpp", "yaml"):
            printed = getattr(page, block.language)(block)
    if page.missing:
        pytest.skip(f"{path.name}: blocks of Python need {page.missing}")
