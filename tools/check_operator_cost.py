#!/usr/bin/env python3
"""Check the number of files that a new operator touches: 1 for a pointwise one, 4 for one with a reference, a CPU and a
CUDA kernel. A new form of requantization may touch at most 6. tools/deep.sh builds and runs that form.

usage: tools/check_operator_cost.py [BUILD]    (BUILD: a finished build folder; default build/release)

Applies the toy patches of tests/cost to a copy of the records, counts the files that they touch, and runs opgen on the
patched records. Then it compiles the changed sources, links them before the library and runs the operators. CUDA
sources are compiled if nvcc is installed.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
COST = ROOT / "tests/cost"
EXPECTED = {"pointwise.patch": 1, "kernels.patch": 4}
FORM, FORM_FILES = COST / "requantization.patch", 6
# The only existing files that a new operator may change.
MAY_CHANGE = re.compile(r"ops/\w+\.yaml|halfstep/engine/kernels/\w+/reference\.cpp")


class Failure(Exception):
    pass


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise Failure(f"{shlex.join(map(str, command))[:300]}\n{done.stdout}{done.stderr}")
    return done.stdout


def touched(patch):
    """Return (path, whether it is new) of each file of a patch."""
    old = None
    for line in patch.read_text().splitlines():
        if line.startswith("--- "):
            old = line[4:]
        elif line.startswith("+++ b/"):
            yield line[6:], old == "/dev/null"


def count_files(patch, expected):
    files = list(touched(patch))
    print(f"{patch.name}: {len(files)} file{'s' if len(files) != 1 else ''}, expected {expected}")
    for path, new in files:
        print(f"  {'new    ' if new else 'changed'}  {path}")
        if not new and not MAY_CHANGE.fullmatch(path):
            raise Failure(f"tests/cost/{patch.name}:1: changes {path}, expected records and references only")
        if new and (ROOT / path).exists():
            raise Failure(f"tests/cost/{patch.name}:1: adds {path}, which exists")
    if len(files) != expected:
        raise Failure(f"tests/cost/{patch.name}:1: touches {len(files)} files, expected {expected}")
    return [path for path, new in files if new]


def check_form(work):
    """Check that the patch of the toy form applies to the tree and touches few files."""
    files = [path for path, _ in touched(FORM)]
    print(f"{FORM.name}: {len(files)} files, expected at most {FORM_FILES}")
    if len(files) > FORM_FILES:
        raise Failure(f"tests/cost/{FORM.name}:1: touches {len(files)} files, expected at most {FORM_FILES}")
    copy = work / "form"
    for path in files:
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, copy / path)
    run(["patch", "-p1", "--silent", "--no-backup-if-mismatch", "-i", FORM], cwd=copy)


def generate(build, work):
    records = sorted(path.relative_to(work).as_posix() for path in (work / "ops").glob("*.yaml") if path.name != "schema.yaml")
    run([build / "opgen", "--schema", "ops/schema.yaml", "--out", work / "gen", *records], cwd=work)
    changed = []
    # Generated sources of ir refer to operators by number. The toys' names sort after all others, so the numbers stay.
    numbers = "gen/halfstep/core/ir/ops_records.h"
    renumbered = not set((build / numbers).read_text().splitlines()) <= set((work / numbers).read_text().splitlines())
    for path in sorted((work / "gen/halfstep").rglob("*.cpp")):
        before = build / "gen" / path.relative_to(work / "gen")
        if not before.is_file():
            raise Failure(f"{path.name}:1: opgen wrote a source that the build does not know")
        if before.read_bytes() != path.read_bytes() or (renumbered and path.parent.name == "ir"):
            changed.append(path)
    return changed


class Compiler:
    """Compiles with the commands of the build, on the generated headers of the patched records."""

    def __init__(self, build, work):
        self.build, self.work = build, work
        self.commands = {entry["file"]: entry for entry in json.loads((build / "compile_commands.json").read_text())}
        self.groups = {}  # HALFSTEP_TOGETHER compiles a generated source with others of its folder.
        for group in [path for path in self.commands if path.startswith(str(build / "gen/together"))]:
            for name in re.findall(r'#include "(.+)"', pathlib.Path(group).read_text()):
                self.groups[build / "gen" / name] = pathlib.Path(group)
        self.running = []

    def start_generated(self, sources):
        """Return the sources to recompile for these: themselves, or their groups."""
        originals = {self.build / "gen" / source.relative_to(self.work / "gen"): source for source in sources}
        for original, source in originals.items():
            if original not in self.groups:
                self.start(source, original)
        for group in sorted({self.groups[original] for original in originals if original in self.groups}):
            self.start(group, group)

    def start(self, source, like):
        entry = self.commands[str(like)]
        target = self.work / (str(source).replace("/", "_") + ".o")
        command = re.sub(f"{re.escape(str(self.build))}/gen(?!/proto)", f"{self.work}/gen", entry["command"])
        words = shlex.split(command)
        words = words[:words.index("-o")] + [f"-I{self.build}/gen", "-o", str(target), "-c", str(source)]
        if "-include" not in words:
            words.insert(1, "-O1")
            words = [word for word in words if word not in ("-O2", "-O3")]  # only for precompiled headers
        if shutil.which("ccache"):
            words.insert(0, "ccache")
        self.running.append((source, target, subprocess.Popen(words, cwd=entry["directory"], stderr=subprocess.PIPE, text=True)))

    def finish(self):
        objects = []
        for source, target, process in self.running:
            _, errors = process.communicate()
            if process.returncode != 0:
                raise Failure(f"{source}: does not compile\n{errors}")
            objects.append(target)
        return objects


def link(build, work, objects):
    """Return the link command of the program, with these objects in place of its own."""
    command = run(["ninja", "-C", build, "-t", "commands", "-s", "halfstep"]).splitlines()[-1]
    words = [word for word in shlex.split(command.removeprefix(": && ").removesuffix(" && :")) if not word.startswith("CMakeFiles/")]
    at = words.index("-o")
    program = work / "run_toys"
    run(words[:at] + ["-o", program, *objects] + words[at + 2:], cwd=build)
    return program


def compile_cuda(work, sources):
    compiler = shutil.which("nvcc")
    if compiler is None:
        print(f"{len(sources)} CUDA source is not compiled: no nvcc here")
        return
    for source in sources:
        # fmt 9 disables constexpr for nvcc, and its own consteval functions then do not compile.
        run([compiler, "-std=c++20", "-DFMT_USE_CONSTEXPR=1", "-DFMT_CONSTEVAL=", f"-I{ROOT}", f"-I{work}/gen", f"-I{work.parent}/gen", "-c", source, "-o", work / "cuda.o"])
    print(f"{len(sources)} CUDA source is compiled")


def check(build):
    start = time.monotonic()
    work = build / "operator_cost"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(ROOT / "ops", work / "ops")
    check_form(work)
    added = []
    for name, expected in EXPECTED.items():
        added += count_files(COST / name, expected)
        for path, new in touched(COST / name):
            if not new and not path.startswith("ops/"):
                (work / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / path, work / path)
        run(["patch", "-p1", "--silent", "--no-backup-if-mismatch", "-i", COST / name], cwd=work)
    changed = generate(build, work)
    print(f"opgen: {len(changed)} generated sources change")

    compiler = Compiler(build, work)
    compiler.start_generated(changed)
    for path in added:
        if path.endswith(".cpp"):
            compiler.start(work / path, build / "gen/halfstep/engine/kernels/table.cpp")
    shutil.copy(COST / "run_toys.cpp", work)
    compiler.start(work / "run_toys.cpp", build / "gen/halfstep/engine/kernels/table.cpp")
    program = link(build, work, compiler.finish())
    print(run([program]), end="")
    compile_cuda(work, [work / path for path in added if path.endswith(".cu")])
    print(f"{time.monotonic() - start:.0f} s")


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release").resolve()
    if not (build / "opgen").exists() or not (build / "compile_commands.json").exists():
        print(f"{build}: no finished build, expected opgen and compile_commands.json", file=sys.stderr)
        return 1
    os.environ.setdefault("CCACHE_SLOPPINESS", "pch_defines,time_macros,include_file_mtime,include_file_ctime")
    try:
        check(build)
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
