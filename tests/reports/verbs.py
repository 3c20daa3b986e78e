"""Command lines of every verb, with a network of three layers, and the files in a folder after one of them.

IN is the folder of inputs. SOME is replaced by options for few samples and one thread. A line writes its files into the
folder `there`, relative to the folder that it runs in. A line without `there` writes nothing.
"""

import dataclasses
import functools
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from conftest import LIMIT, PROGRAM

WRITES = {
    "quickstart": ["quickstart IN/f.onnx SOME --tune-epochs 1 --out there/quick"],
    "data": ["data SOME --sheet there/sheet.png --json"],
    "train": [
        "train --network IN/tiny.ir SOME --epochs 2 --out there/fresh",
        "train IN/p.st SOME --epochs 2 --out there/tuned",
        "train IN/f.st SOME --epochs 1 --bits-schedule 8,4 --out there/stages",
    ],
    "run": ["run IN/f.onnx --inputs IN/x.npy --outputs there/y.npz --trace there/t.json,there/t.log"],
    "quantize": [
        "quantize IN/f.onnx SOME --out there/p.st --json",
        "quantize IN/f.st SOME --repair blocks --repair-steps 2 --repair-folder there/blocks --out there/p.st --json",
    ],
    "convert": ["convert IN/p.st --out there/i.st"],
    "export": [
        "export IN/f.st --format float --out there/f.onnx",
        "export IN/p.st --format qdq --out there/q.onnx",
        "export IN/i.st --out there/i.onnx",
        "export IN/p.st --format c --main --out there/c",
        "export IN/snpe.st --format deploy --out there/chip",
    ],
    "bits": [
        "bits IN/p.st --samples 16 --threads 1 --budget size<=50kB --choose-first-last --epochs 1 --repair blocks "
        "--repair-steps 2 --program-out there/i.st --out there/p.st"
    ],
    "report": ["report IN/p.st IN/i.st SOME --analyzed 16 --out there/page.html"],
    "dump": ["dump IN/i.st --samples 1 --threads 1 --out there/values"],
    "compare": ["compare IN/values IN/values --html there/page.html"],
    "platform": ["platform new there/mine.yaml"],
    "pass": ["pass all IN/f.st --print-after all --out there/f.st"],
    "fuzz": ["fuzz --seeds 5 --check c --threads 1 --out there/found"],
}

PRINTS = {
    "quickstart": ["quickstart --help"],
    "data": ["data SOME"],
    "eval": ["eval IN/i.st SOME"],
    "explain": ["explain HS1000"],
    "run": ["run IN/f.onnx --inputs IN/x.npy --json"],
    "verify": ["verify IN/p.st IN/i.st SOME --json"],
    "analyze": ["analyze IN/p.st SOME --json"],
    "compare": ["compare IN/values IN/values --json"],
    "inspect": ["inspect IN/i.st", "inspect IN/f.onnx --platform generic_int8"],
    "platform": ["platform list", "platform keys", "platform show snpe", "platform check IN/mine.yaml"],
    "op": ["op check 'relu x=f32[2,3]'"],
    "pass": ["pass --list"],
    "fuzz": ["fuzz --seeds 1 --check equivalence --threads 1 --json"],
}

VERBS = sorted(WRITES.keys() | PRINTS.keys())
WRITING = [line for lines in WRITES.values() for line in lines]
ALL = WRITING + [line for lines in PRINTS.values() for line in lines]

TIMED = ("report.json", "t.json", "t.log", "page.html")

NETWORK = """graph tiny(x: f32[?, $channels, $height, $width]) {
  param @conv.w: f32[4, $channels, 3, 3]
  param @mid.w: f32[4, 4, 3, 3]
  param @head.w: f32[$classes, 4]
  param @head.b: f32[$classes]

  conv = conv2d(x=x, w=@conv.w) {pad: [1, 1, 1, 1]}
  mid = conv2d(x=conv, w=@mid.w) {pad: [1, 1, 1, 1]}
  relu = relu(x=mid)
  mean = global_avg_pool(x=relu)
  flat = flatten(x=mean)
  head = linear(x=flat, w=@head.w, b=@head.b)
  return logits = head
}
"""

MAKING = [
    "train --network IN/tiny.ir SOME --epochs 1 --out trained",
    "quantize IN/f.st SOME --keep-samples 2 --platform onnxruntime_int8 --out p.st",
    "quantize IN/f.st SOME --keep-samples 2 --platform snpe --out snpe.st",
    "convert p.st --out i.st",
    "export f.st --format float --out f.onnx",
    "dump i.st --samples 1 --out values",
    "dump f.st --samples 1 --format npy --layout nchw --no-parameters --out arrays",
    "platform new mine.yaml",
]


@dataclasses.dataclass
class Run:
    """Exit of a command, with all files in `there`, and the program's own files in the folder of temporary files."""

    code: int
    out: str
    err: str
    files: dict
    temporary: dict

    @property
    def errors(self):
        """The errors on standard error, as sentences or JSON, without notes and progress."""
        lines = [line for line in self.err.splitlines() if line.startswith(("halfstep: ", '{"schema":2,"errors":'))]
        return [line for line in lines if not line.startswith("halfstep: note: ")]


@functools.cache
def holder():
    """Keeps the folder of inputs until the tests end. Every user may read it."""
    folder = tempfile.TemporaryDirectory(prefix="halfstep-inputs-")
    os.chmod(folder.name, 0o755)
    return folder


@functools.cache
def inputs():
    folder = pathlib.Path(holder().name)
    (folder / "tiny.ir").write_text(NETWORK, encoding="utf-8")
    (folder / "bin").mkdir(exist_ok=True)
    compiler = folder / "bin" / "cc"  # compiles nothing, so that the check `c` of fuzz has a finding
    compiler.write_text('#!/bin/sh\ntest "$1" = --version\n', encoding="utf-8")
    compiler.chmod(0o755)
    for line in MAKING:
        words = command(line, folder)
        made = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=False)
        assert made.returncode == 0, (line, made.stderr)
        if line.startswith("train"):
            shutil.copy(folder / "trained" / "model.safetensors", folder / "f.st")
    (values,) = (folder / "arrays").glob("*_x.npy")
    shutil.copy(values, folder / "x.npy")
    return folder


def command(line, folder=None):
    """The words of a line. `folder` is the folder of inputs."""
    line = line.replace("SOME", "--samples 16 --threads 1")
    words = re.findall(r"'[^']*'|\S+", line)
    return [PROGRAM] + [word.strip("'").replace("IN/", f"{folder or inputs()}/") for word in words]


def environment(folder):
    """The environment with a separate folder for temporary files, which every user may write to."""
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    temporary.chmod(0o1777)
    return {**os.environ, "PATH": f"{inputs() / 'bin'}:{os.environ['PATH']}", "TMPDIR": str(temporary)}


def start(folder, line, **process):
    """Starts the command in a folder. Its streams are pipes unless `process` sets others."""
    process = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **process}
    return subprocess.Popen(command(line), cwd=folder, env=environment(folder), text=True, **process)


def end(process, folder):
    (run,) = end_all([process], folder)
    return run


def end_all(processes, folder):
    """Waits for all commands, then reads the files. A running process may remove a file while it is read."""
    said = [process.communicate(timeout=LIMIT) for process in processes]
    return [Run(process.returncode, out or "", err or "", contents(folder / "there"), temporaries(folder))
            for process, (out, err) in zip(processes, said)]


def temporaries(folder):
    """The program's own files in the folder of temporary files."""
    return {name: text for name, text in contents(folder / "tmp").items() if name.startswith("halfstep")}


def run(folder, line, **process):
    return end(start(folder, line, **process), folder)


@functools.cache
def whole(line):
    """Result of the same command without any obstacle."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "there").mkdir()
        return run(folder, line)


def targets(line):
    """The names in `there` that the line writes."""
    return [pathlib.PurePath(name).name for name in re.findall(r"there/[^\s,]+", line)]


def is_folder(name):
    """Whether a target is a folder: files in the table have an extension."""
    return "." not in name


def of_lines(lines):
    """Parametrizes a test with each line, named by its verb and its targets."""
    names = [" ".join([line.split()[0], *targets(line)]) if targets(line) else line for line in lines]
    return pytest.mark.parametrize("line", lines, ids=names)


def with_overwrite(line):
    return line if line.startswith("fuzz") else line + " --overwrite"


def contents(folder):
    """Bytes of every file by its name, None for a folder. Includes hidden ones."""
    paths = sorted(folder.rglob("*"))
    return {str(path.relative_to(folder)): None if path.is_dir() else path.read_bytes() for path in paths}


def is_same(name, found, expected):
    """Compares two texts. Files with times have the same lines, with other numbers."""
    if name.endswith(TIMED) and found and expected:
        return (found.count(b"\n"), found[-2:]) == (expected.count(b"\n"), expected[-2:])
    return found == expected


def expect_whole(line, files):
    """Expects no hidden file, and each file as the undisturbed command writes it. Any file may be absent."""
    hidden = [name for name in files if ".halfstep-" in name]
    assert not hidden, (line, hidden)
    expected = whole(line).files
    for name, found in files.items():
        assert name not in expected or is_same(name, found, expected[name]), f"{line}: {name} is not whole"


def expect_no_bug(line, ended):
    """Expects at most one sentence, no signal, and no temporary file."""
    text = ended.err.lower()
    assert ended.code >= 0, (line, ended.code, ended.err)
    assert "bug" not in text and "internal" not in text and "terminate" not in text, (line, ended.err)
    expect_no_temporary(line, ended)


def expect_no_temporary(line, ended):
    assert not ended.temporary, (line, sorted(ended.temporary))
