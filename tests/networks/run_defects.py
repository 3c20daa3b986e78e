#!/usr/bin/env python3
"""Puts each defect of tests/networks/defects back, one at a time, and says after how many random networks the machine finds it.

usage: tests/networks/run_defects.py [NAME...] [--most 500] [--jobs N] [--folder build/defects]

The patches are applied to a copy of the commit in a folder of its own, which keeps its objects between runs. Exit
code 1 where one is not found, 2 where a patch does not fit.
"""
import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PATCHES = sorted((ROOT / "tests/networks/defects").glob("*.patch"))


def run(command, **options):
    return subprocess.run(command, check=True, **options)


def prepare(copy):
    """The commit as it is, in `copy`."""
    if not (copy / ".git").exists():
        run(["git", "clone", "--quiet", "--shared", str(ROOT), str(copy)])
    head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True).strip()
    run(["git", "fetch", "--quiet", str(ROOT), head], cwd=copy)
    run(["git", "checkout", "--quiet", "--force", head], cwd=copy)
    if not (copy / "build/release/build.ninja").exists():
        run(["cmake", "--preset", "release"], cwd=copy, stdout=subprocess.DEVNULL)


def graphs_until_found(copy, most, jobs):
    """The seed of the first finding counted from 1, and what it is; None where there is none."""
    run(["cmake", "--build", "build/release", "--target", "halfstep", "--parallel", str(jobs)], cwd=copy, stdout=subprocess.DEVNULL)
    command = [str(copy / "build/release/halfstep"), "fuzz", "--seeds", f"0:{most}", "--stop", "--json", "--threads", "1"]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    if not report["findings"]:
        return None
    first = min(report["findings"], key=lambda finding: finding["seed"])
    return first["seed"] + 1, f"{first['check']}: {first['what']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--most", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/defects")
    options = parser.parse_args()
    copy = options.folder
    missed = 0
    for patch in [p for p in PATCHES if not options.names or p.stem in options.names]:
        prepare(copy)
        if subprocess.run(["git", "apply", str(patch)], cwd=copy, check=False).returncode != 0:
            print(f"{patch.stem}: does not fit the sources")
            return 2
        found = graphs_until_found(copy, options.most, options.jobs)
        missed += found is None
        print(f"{patch.stem}: " + (f"graph {found[0]}, {found[1]}" if found else f"not found in {options.most}"), flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
