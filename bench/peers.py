#!/usr/bin/env python3
"""Halfstep's operator family beside a copy and beside other libraries, in one run.

usage: bench/peers.py [--operators PATTERN] [--mib 64 1] [--threads 2] [--samples 7] [--json FILE]

For each operator and size: milliseconds, GB/s of its minimal traffic, that as a share of a copy measured just before and after, and how many
times longer each installed peer takes (PyTorch eager, torch.compile of the formula written out, Paddle, onnxruntime). Medians of at least 5
calls. Peers that are not installed, and operators that this Halfstep lacks, are named below the table.
"""

import argparse
import fnmatch
import json
import os
import pathlib
import time


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operators", default="*", help="a pattern of names")
    parser.add_argument("--mib", type=float, nargs="+", default=[64, 1], help="sizes of the float tensor")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--samples", type=int, default=7, help="medians of so many, at least 5")
    parser.add_argument("--peers", nargs="*", default=["torch", "compile", "paddle", "onnxruntime"])
    parser.add_argument("--json", help="write the figures there too")
    return parser.parse_args()


def seconds_of(call, samples, least=0.01, most=200):
    """Median over single calls, as the copy is measured: at least `samples`, and as many up to `most` as take `least` seconds."""
    call()
    times = []
    while len(times) < max(5, samples) or (sum(times) < least and len(times) < most):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]


def measure(case, data, tools, given):
    """One row: figures of Halfstep and of each peer that has the operator."""
    traffic = case.traffic(data)
    rest = tools.rest
    before = tools.roofline.seconds(traffic)
    own = seconds_of(case.own(data), given.samples)
    after = tools.roofline.seconds(traffic)
    row = {"operator": case.title, "mib": data.mib, "ms": own * 1e3, "gb_per_s": traffic / own / 1e9}
    if case.is_memory_bound and before:
        row["of_copy"] = min(before, after) / own
    for peer in tools.peers:
        call = peer.call(case, data)
        if call is not None:
            rest()
            row[peer.name] = seconds_of(call, given.samples) / own
    rest()
    return row


def shown(row, peers):
    share = f"{row['of_copy'] * 100:6.0f} %" if "of_copy" in row else "       -"
    ratios = "".join(f"{row[peer.name]:13.1f}" if peer.name in row else "            -" for peer in peers)
    return f"{row['operator']:<58}{row['mib']:7g}{row['ms']:10.3f}{row['gb_per_s']:9.1f}{share}{ratios}"


def main():
    given = options()
    os.environ.setdefault("OMP_NUM_THREADS", str(given.threads))  # read when a peer is imported
    from family import cases, libraries

    import halfstep

    halfstep.set_threads(given.threads)
    tools = libraries.Tools(given.peers, given.threads, given.samples)
    print(f"{given.threads} threads, medians of {max(5, given.samples)}; peers as multiples of our time")
    print(f"{'operator':<58}{'MiB':>7}{'ms':>10}{'GB/s':>9}{'of copy':>8}" + "".join(f"{p.name:>13}" for p in tools.peers))
    rows, missing = [], []
    for case in cases.FAMILY:
        if not fnmatch.fnmatch(case.operator, given.operators):
            continue
        if not hasattr(halfstep, case.operator):
            missing.append(case.operator)
            continue
        for mib in given.mib:
            row = measure(case, cases.Data(mib), tools, given)
            rows.append(row)
            print(shown(row, tools.peers), flush=True)
    for note in tools.notes + ([f"not in this Halfstep: {', '.join(dict.fromkeys(missing))}"] if missing else []):
        print(note)
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
