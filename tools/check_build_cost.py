#!/usr/bin/env python3
"""Check that the compile time of `make install` stays within a budget. The unit is the time of
tests/cost/calibrate.cpp.

usage: tools/check_build_cost.py BUILD    (a folder called release, after a fresh build)

Times are from ninja's log of the same build, the last of each object. Sources from ccache have no time. If there are
any, nothing is judged (exit code 77).
"""
import collections
import pathlib
import re
import sys

BUDGET = 230  # units of wall time; 157 to 187 were measured on idle cores, and other jobs add up to a fifth
LARGEST_SHARE = 0.08  # limit for one source, or one group compiled together
CALIBRATION = "halfstep_calibrate"
OBJECT = re.compile(r"CMakeFiles/(?P<target>\w+)\.dir/(?P<source>.+)\.(o|gch)$")
INSTALLED = re.compile(r"halfstep_(?!test_|python|cuda_|calibrate)|opgen|errorgen|optiongen")
SKIPPED = 77


def times(build):
    """Return {(target, source): seconds} of the last compilation of each."""
    found = {}
    for line in (build / ".ninja_log").read_text().splitlines()[1:]:
        start, end, _, output, _ = line.split("\t")
        if match := OBJECT.match(output):
            found[match["target"], match["source"]] = (int(end) - int(start)) / 1000
    return found


def cached(build):
    """Return the paths that ccache did not compile the last time."""
    log, hits = build / "ccache.log", {}
    source = None
    for line in log.read_text().splitlines() if log.exists() else []:
        if line.startswith("# "):
            source = line[2:]
            hits[source] = False
        elif line.endswith("cache_hit"):
            hits[source] = True
    return [path for path, hit in hits.items() if hit]


def judge(spent, unit):
    """Return one line for each excess over the budget."""
    whole = sum(spent.values())
    complaints = [
        f"{target}: {source}: {seconds / whole:.1%} of the build, at most {LARGEST_SHARE:.0%}"
        for (target, source), seconds in spent.items()
        if seconds > LARGEST_SHARE * whole
    ]
    if whole > BUDGET * unit:
        complaints.append(f"the build takes {whole / unit:.0f} units, at most {BUDGET}")
    return complaints


def show(spent, unit):
    targets = collections.Counter()
    for (target, _), seconds in spent.items():
        targets[target] += seconds
    print(f"{sum(spent.values()) / unit:.0f} units of {unit:.1f} s, budget {BUDGET}")
    for target, seconds in targets.most_common(8):
        print(f"  {seconds / unit:6.1f} {target}")
    for (_, source), seconds in collections.Counter(spent).most_common(8):
        print(f"  {seconds / unit:6.1f} {source}")


def skip(reason):
    print(f"skipped: {reason}")
    return SKIPPED


def main(build):
    if build.name != "release":
        return skip(f"the budget is that of the preset release, not of {build.name}")
    all_times = times(build)
    unit = next((seconds for (target, _), seconds in all_times.items() if target == CALIBRATION), None)
    if unit is None:
        return skip("tests/cost/calibrate.cpp has not been compiled")
    spent = {key: seconds for key, seconds in all_times.items() if INSTALLED.match(key[0])}
    sources = (*(source for _, source in spent), "tests/cost/calibrate.cpp")
    hits = sum(path.endswith(sources) for path in cached(build))
    if hits:
        return skip(f"ccache had {hits} of {len(sources)} sources, whose times are unknown")
    show(spent, unit)
    complaints = judge(spent, unit)
    print("\n".join(complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/release").resolve()))
