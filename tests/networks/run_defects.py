#!/usr/bin/env python3
"""Puts each defect of tests/networks/defects back, one at a time, and reports after how many random networks the fuzzer
finds it.

usage: tests/networks/run_defects.py [NAME...] [--most 500] [--jobs N] [--folder build/defects]

Applies the patches to a copy of the commit in a folder of its own, which keeps its objects between runs. Networks and
checks with a finding in the unchanged commit do not count. Exit code 1 where a defect is not found, 2 where a patch
does not apply.
"""
import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PATCHES = sorted((ROOT / "tests/networks/defects").glob("*.patch"))
AT_ONCE = 25  # networks per run before the findings are read


def run(command, **options):
    return subprocess.run(command, check=True, **options)


def prepare(copy, head):
    """Checks out the commit `head` in `copy`, without patches."""
    if not (copy / ".git").exists():
        run(["git", "clone", "--quiet", "--shared", str(ROOT), str(copy)])
    run(["git", "fetch", "--quiet", str(ROOT), head], cwd=copy)
    run(["git", "checkout", "--quiet", "--force", head], cwd=copy)
    if not (copy / "build/release/build.ninja").exists():
        run(["cmake", "--preset", "release"], cwd=copy, stdout=subprocess.DEVNULL)


def build(copy, jobs):
    run(["cmake", "--build", "build/release", "--target", "halfstep", "--parallel", str(jobs)], cwd=copy, stdout=subprocess.DEVNULL)


def findings(copy, first, last):
    """Findings of the fuzzer in the networks of these seeds, in order of seeds."""
    command = [str(copy / "build/release/halfstep"), "fuzz", "--seeds", f"{first}:{last}", "--json", "--threads", "1"]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    return sorted(report["findings"], key=lambda finding: finding["seed"])


def key(finding):
    return finding["seed"], finding["check"]


def first_finding(copy, most, known):
    """The first finding that is not among the known ones, or None."""
    for first in range(0, most, AT_ONCE):
        for finding in findings(copy, first, min(first + AT_ONCE, most)):
            if key(finding) not in known:
                return finding
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--most", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/defects")
    options = parser.parse_args()
    copy = options.folder
    head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True).strip()
    prepare(copy, head)
    build(copy, options.jobs)
    known = {key(finding) for finding in findings(copy, 0, options.most)}
    missed = 0
    for patch in [p for p in PATCHES if not options.names or p.stem in options.names]:
        prepare(copy, head)
        if subprocess.run(["git", "apply", str(patch)], cwd=copy, check=False).returncode != 0:
            print(f"{patch.stem}: does not fit the sources")
            return 2
        build(copy, options.jobs)
        found = first_finding(copy, options.most, known)
        missed += found is None
        where = f"graph {found['seed'] + 1}, {found['check']}: {found['what']}" if found else f"not found in {options.most}"
        print(f"{patch.stem}: {where}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
