"""Every block of code in a page does what the page states.

The blocks of a page run in order, in one folder and one namespace. `python` is executed. In `sh` each command runs and
must end with 0, or with the code in a comment behind it, `# exit code N`. NOT_RUN lists the exceptions. Files that
readers bring are there, small ones by these names (example_files.py). `cpp` that includes halfstep.h is the body of a
program, which is built and run. Other sources are compiled. `yaml` with a record of an operator passes through opgen. A
block with a name is a file of that name.

`text` after one of them is the expected output: each line is searched in the output, with other figures on processors
without AVX-512. Blocks that need a missing package of Python, engine or cross compiler are skipped, with the blocks
after them.
"""

import contextlib
import importlib.util
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import warnings

import example_files
import pytest
from pages import HAS_FIGURES_OF_PAGES, PAGES, ROOT, blocks

PROGRAM = pathlib.Path(os.environ.get("HALFSTEP_PROGRAM", ROOT / "build/release/halfstep")).resolve()
BUILD = PROGRAM.parent
OPTIONAL = ("torch", "onnxscript", "onnxruntime")
FOR_COMMANDS = {"PATH": f"{BUILD}:{os.environ['PATH']}", "HALFSTEP_PYTHON": sys.executable}
HAS_VNNI = "avx512_vnni" in pathlib.Path("/proc/cpuinfo").read_text()
CROSS = ("arm-linux-gnueabihf-gcc", "qemu-arm")
LANGUAGES = ("", "c", "cmake", "cpp", "ebnf", "ir", "python", "sh", "text", "yaml")
NOT_RUN = {
    "check-jsonschema": "tests/reports/test_schemas.py reads the same schemas",
    "cmake --": "builds everything",
    "make install": "builds everything, and writes outside of the test's folder",
    "pip install": "needs a wheel, which tools/wheel.sh builds and tests",
}


def output_of(command, **options):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=3000, **options)
    return done.returncode, done.stdout


def built(command):
    code, output = output_of(command)
    assert code == 0, output


def expected_code(line):
    """The exit code in a comment behind a command: `# exit code 2`. Injected faults are found."""
    said = re.search(r"# exit code (\d+)", line)
    return int(said[1]) if said else int("--inject" in line)


def commands(block):
    """The commands of a block, one a line."""
    return [line for line in block.text.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]


def comparable(line):
    """The part of a line that must be the same."""
    return line.rstrip() if HAS_FIGURES_OF_PAGES else " ".join(re.sub(r"\d[\d,.e-]*\d|\d", "#", line).split())


def lacking(line):
    """The program or engine that a command needs and that is not here, or ""."""
    if "--backend onnxruntime" in line and not (HAS_VNNI and importlib.util.find_spec("onnxruntime")):
        return "onnxruntime and VNNI"
    return next((name for name in CROSS if name in line and not shutil.which(name)), "")


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
        if self.missing:
            return None
        return "".join(self.command(line) for line in commands(block) if not line.startswith(tuple(NOT_RUN)))

    def command(self, line):
        """Runs a command. It has no notes of names or defaults that a later version removes."""
        if needed := lacking(line):
            self.missing = needed
            return ""
        code, output = output_of(["sh", "-c", line], env={**os.environ, **FOR_COMMANDS})
        assert code == expected_code(line), f"{line}\n{output}"
        assert "(0.3 " not in output, f"{line}\n{output}"
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


def check_blocks(path):
    """Runs the blocks of a page in the current folder. Returns the name of a missing package, or ""."""
    page, printed = Page(path), ""
    example_files.make(PROGRAM, "".join(block.text for block in blocks(path) if block.language == "sh"))
    for block in blocks(path):
        assert block.language in LANGUAGES, f"{path.name}:{block.line}: {block.language}"
        if block.language == "text":
            lines = {comparable(line) for line in (printed or "").splitlines()}
            absent = [line for line in block.text.splitlines() if printed is not None and comparable(line) not in lines]
            assert absent == [], f"{path.name}:{block.line}: printed was\n{printed}"
        elif block.name:
            pathlib.Path(block.name).write_text(block.text)
        elif block.language in ("python", "sh", "cpp", "yaml"):
            printed = getattr(page, block.language)(block)
    return page.missing


@pytest.mark.parametrize("path", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_blocks_of(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if missing := check_blocks(path):
        pytest.skip(f"{path.name}: blocks need {missing}")


@pytest.mark.parametrize("prefix", NOT_RUN)
def test_exceptions_are_used(prefix):
    lines = [line for page in PAGES for block in blocks(page) if block.language == "sh" for line in commands(block)]
    assert any(line.startswith(prefix) for line in lines)


@pytest.mark.parametrize(("text", "problem"), [
    ("```sh\nhalfstep inspect absent.onnx\n```\n", "no such file"),
    ("```sh\nhalfstep platform list # exit code 2\n```\n", "platform list"),
    ("```sh\nhalfstep train --epochs 1\n```\n", "--data digits"),
    ("```sh\nnone\n```\n", "not found"),
    ("```console\nhalfstep platform list\n```\n", "console"),
    ("```python\nassert 1 == 2\n```\n", "assert 1 == 2"),
    ("```cpp\nint f() { return; }\n```\n", "error"),
    ("```yaml\n- op: nothing\n```\n", "nothing"),
    ("```python\nprint(1)\n```\n\n```text\n1 of 2\n```\n", "printed was"),
], ids=["file", "code", "note", "command", "language", "python", "cpp", "yaml", "output"])  # fmt: skip
def test_a_wrong_block_fails(text, problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(AssertionError) as raised:
        check_blocks(page)
    assert problem in str(raised.getrepr())
