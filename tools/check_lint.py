#!/usr/bin/env python3
"""Run clang-tidy on changed sources, compared with the commit where this branch left its upstream. If it has not left
it, compare with the commit before the last. Uncommitted changes count.

usage: tools/check_lint.py [BUILD] [--all] [--seconds 120] [FILE...]    (BUILD: a build folder with generated headers;
       default build/release)

A changed header is checked with the source of its name. After --seconds no new file is started. --all checks every
source, without a limit. Prints the numbers of files that were checked and not reached. Exits 77 if git or clang-tidy 16
is missing.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("halfstep", "opgen", "cli")
SKIPPED = 77


def output_of(*words):
    """Return the output of a command. Empty if it fails."""
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def base():
    for upstream in ("@{upstream}", "origin/main", "main"):
        commit = output_of("git", "merge-base", "HEAD", upstream)
        if commit and commit != output_of("git", "rev-parse", "HEAD"):
            return commit
    return output_of("git", "rev-parse", "HEAD~1")


def changed(commit):
    names = output_of("git", "diff", "--name-only", commit).splitlines()
    return names + output_of("git", "ls-files", "--others", "--exclude-standard").splitlines()


def sources(names):
    paths = {pathlib.PurePath(name).with_suffix(".cpp") for name in names if name.endswith((".h", ".cpp"))}
    return sorted(str(path) for path in paths if path.parts[0] in FOLDERS and (ROOT / path).is_file())


def tidy():
    """Return the program. Versions before 16 do not support our C++20."""
    for name in ("clang-tidy-16", "clang-tidy"):
        version = re.search(r"version (\d+)", output_of(name, "--version")) if shutil.which(name) else None
        if version and int(version[1]) >= 16:
            return name
    return None


def include_folders(build):
    """Return include folders of libraries outside the default path."""
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    return [folder for folder in re.findall(r"^\w+_INCLUDE_DIR:PATH=(.+)$", cache, re.MULTILINE) if folder != "/usr/include"]


def findings(program, build, name):
    folders = [build / "gen", build / "gen/proto", *include_folders(build)]
    flags = ["-std=c++20", "-I.", *(f"-isystem{folder}" for folder in folders)]
    done = subprocess.run([program, "-quiet", name, "--", *flags], cwd=ROOT, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout.replace(f"{ROOT}/", "").strip() or done.stderr.strip()


def check(program, build, names, seconds):
    """Return the findings of each file that was reached."""
    end = time.monotonic() + seconds

    def one(name):
        return findings(program, build, name) if time.monotonic() < end else None

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, found in zip(names, pool.map(one, names)):
            if found is not None:
                yield found


def skip(reason):
    print(f"check_lint: skipped, {reason}")
    return SKIPPED


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seconds", type=float, default=120)
    given = parser.parse_args()
    program = tidy()
    if not program:
        return skip("there is no clang-tidy 16 or later")
    commit = base()
    if not (given.files or given.all or commit):
        return skip("this is no git checkout with a commit before the last")
    if given.all:
        names = sources(str(path.relative_to(ROOT)) for folder in FOLDERS for path in (ROOT / folder).rglob("*.cpp"))
    else:
        names = given.files or sources(changed(commit))
    bounded = not (given.all or given.files)
    checked = bad = 0
    for found in check(program, given.build.resolve(), names, given.seconds if bounded else float("inf")):
        checked, bad = checked + 1, bad + bool(found)
        if found:
            print(found, file=sys.stderr, flush=True)
    against = f" that changed since {commit[:10]}" if bounded else ""
    print(f"{len(names)} sources{against}: {checked} checked, {len(names) - checked} not reached, {bad} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
