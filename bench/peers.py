#!/usr/bin/env python3
"""Compare Halfstep's operator family with a copy and with other libraries, in one run.

usage: bench/peers.py [--operators PATTERN] [--mib 64 1] [--threads 2] [--samples 7] [--json FILE]

Prints for each operator and size: milliseconds, GB/s of its minimal traffic, that as a share of a copy of as many bytes
measured in turn with it, and the relative time of each installed peer (PyTorch eager, torch.compile of the formula in
full, Paddle, onnxruntime). Medians of at least 5 samples. Peers that are not installed, and operators that this
Halfstep lacks, are named below the table.
"""

import argparse
import fnmatch
import json
import os
import pathlib
import statistics
import time

IN_CACHE = 8 << 20  # bytes read and written that stay in cache


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operators", default="*", help="a pattern of names")
    parser.add_argument("--mib", type=float, nargs="+", default=[64, 1], help="sizes of the float tensor")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--samples", type=int, default=7, help="medians of so many, at least 5")
    parser.add_argument("--peers", nargs="*", default=["torch", "compile", "paddle", "onnxruntime"])
    parser.add_argument("--json", help="write the figures there too")
    return parser.parse_args()


def seconds_of(call, times=5):
    """Return the median time of `times` calls. An untimed call before them fills the cache."""
    call()
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def measure(case, data, tools, given):
    """Return one row: the times of Halfstep and of each peer that has the operator. Each sample is a pair of our calls
    and copies directly after them. Memory speed changes over time, and the load of other tenants of a machine
    affects both.
    """
    traffic = case.traffic(data)
    times = 3 if traffic > IN_CACHE else 60
    tools.rest()
    call, own, shares = case.own(data), [], []
    for _ in range(max(5, given.samples)):
        own.append(seconds_of(call, times))
        copy = tools.roofline.seconds(traffic, times)
        if case.is_memory_bound and copy:
            shares.append(copy / own[-1])
    own = statistics.median(own)
    row = {"operator": case.title, "mib": data.mib, "ms": own * 1e3, "gb_per_s": traffic / own / 1e9}
    if shares:
        row["of_copy"] = statistics.median(shares)
    for peer in tools.peers:
        call = peer.call(case, data)
        if call is not None:
            tools.rest()
            row[peer.name] = statistics.median(seconds_of(call) for _ in range(3)) / own
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
    tools = libraries.Tools(given.peers, given.threads)
    print(f"{given.threads} threads, medians of {max(5, given.samples)}; peers as multiples of our time")
    print(f"{'operator':<58}{'MiB':>7}{'ms':>10}{'GB/s':>9}{'of copy':>8}" + "".join(f"{p.name:>13}" for p in tools.peers))
    rows, missing = [], []
    for case in cases.FAMILY:
        if not fnmatch.fnmatch(case.operator, given.operators):
            continue
        if not hasattr(halfstep.ops, case.operator):
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
