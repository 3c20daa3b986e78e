#!/usr/bin/env python3
"""Report the lines that tests have run, by room. It needs a build with the coverage preset after its tests.

usage: tools/coverage.py [BUILD]    (default build/coverage; needs gcovr)

Exits with 1 if a room that determines codes or rewrites networks is below its required share.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEAST, HELD = 95.0, ("arith", "compile", "passes", "quant")


def summary(build):
    # One report for each file. Counts of a template or a header in several objects are added.
    words = ["gcovr", "--root", ROOT, "--filter", f"{ROOT}/halfstep/", "--object-directory", build, "-j", str(os.cpu_count()),
             "--exclude-unreachable-branches", "--json-summary", "-", build]
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)["files"]


def room_of(name):
    parts = pathlib.PurePath(name).parts
    return parts[1] if len(parts) > 2 else "face"


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/coverage").resolve()
    covered, total = collections.Counter(), collections.Counter()
    for file in summary(build):
        room = room_of(file["filename"])
        covered[room] += file["line_covered"]
        total[room] += file["line_total"]
    shares = {room: 100 * covered[room] / total[room] for room in sorted(total) if total[room]}
    for room, share in shares.items():
        print(f"{room:<10}{covered[room]:7} of {total[room]:7} lines {share:6.1f} %")
    low = [f"{room} {shares.get(room, 0):.1f} %" for room in HELD if shares.get(room, 0) < LEAST]
    lines = f"{sum(covered.values())} of {sum(total.values())} lines, {100 * sum(covered.values()) / max(1, sum(total.values())):.1f} %"
    print(f"{lines}; below {LEAST:g} %: {', '.join(low)}" if low else f"{lines}; {', '.join(HELD)} have {LEAST:g} % and more")
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
