#!/usr/bin/env python3
"""Run every ONNX node test and count, by operator, the passed, the unsupported and the wrong cases.

usage: bench/onnx_node_tests.py FOLDER [--program build/release/halfstep] [--jobs 2] [--only TEXT] [--json FILE]

FOLDER holds one folder for each case in ONNX's test layout (../shared/data/onnx_node_tests.py writes them). A case
passes with exit code 0, is unsupported with 3, and is wrong with any other. It is also wrong if `inspect` reported it
as supported and `run` refuses it. Exits with 1 if a case is wrong.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

OPERATOR = re.compile(r"node '[^']*': ([A-Za-z0-9_]+): (.*)")


def foretold(program, folder):
    """Return whether `inspect` names something that is not supported, or is supported only with inputs."""
    done = subprocess.run([program, "inspect", "--json", str(folder / "model.onnx")], capture_output=True, text=True, errors="replace", timeout=3000)
    return done.returncode != 0 or bool(json.loads(done.stdout)["unsupported"])


def run(program, folder):
    command = [program, "run", str(folder / "model.onnx"), "--test-data", str(folder), "--threads", "1"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=3000)
        if done.returncode == 3 and not foretold(program, folder):
            return 1, "inspect calls it supported: " + done.stderr.strip()
        return done.returncode, (done.stdout + done.stderr).strip()
    except subprocess.TimeoutExpired:
        return 124, "no end after 300 s"


def operator_of(name):
    """Return the operator that a case tests, from its name: test_reduce_sum_... -> reduce_sum."""
    words = name.removeprefix("test_").split("_")
    return words[0] + ("_" + words[1] if words[0] in ("reduce", "ai", "sequence") and len(words) > 1 else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--program", default="build/release/halfstep")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    folders = sorted(f for f in arguments.folder.iterdir() if (f / "model.onnx").is_file() and arguments.only in f.name)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        outcomes = dict(zip([f.name for f in folders], pool.map(lambda f: run(arguments.program, f), folders)))

    rows = collections.defaultdict(collections.Counter)
    reasons = collections.Counter()
    wrong = []
    for name, (code, text) in outcomes.items():
        kind = {0: "pass", 3: "unsupported"}.get(code, "wrong")
        rows[operator_of(name)][kind] += 1
        if kind == "unsupported":
            found = OPERATOR.search(text)
            reasons[f"{found[1]}: {found[2]}" if found else re.sub(r"^.*?: ", "", text.splitlines()[-1])] += 1
        elif kind == "wrong":
            wrong.append((name, code, text.splitlines()[-1] if text else ""))

    print(f"{'operator':32} {'pass':>6} {'unsupported':>12} {'wrong':>6}")
    for operator, counts in sorted(rows.items()):
        print(f"{operator:32} {counts['pass']:6} {counts['unsupported']:12} {counts['wrong']:6}")
    print("\nunsupported")
    for reason, count in reasons.most_common():
        print(f"{count:5}  {reason}")
    print("\nwrong" if wrong else "\nnothing is wrong")
    for name, code, text in wrong:
        print(f"  {name}: exit code {code}: {text}")
    total = sum(rows.values(), collections.Counter())
    print(f"\n{len(outcomes)} cases: {total['pass']} pass, {total['unsupported']} unsupported, {total['wrong']} wrong")
    if arguments.json:
        arguments.json.write_text(json.dumps({name: {"code": code, "text": text} for name, (code, text) in outcomes.items()}, indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
