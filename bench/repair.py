#!/usr/bin/env python3
"""Repair a network at several bit widths and print test accuracy by method, with mean and deviation over seeds,
minutes, memory.

usage: bench/repair.py NETWORK DATA [--cells 8/8:none,auto 4/8:none,adaround 4/4:none,adaround,brecq,qdrop] [--images
       256] [--seeds 0,1,2] [--steps 1000] [--preprocess cifar10] [--platform generic_int8] [--program
       build/release/halfstep] [--threads 0]

A cell is the bit widths of weights and activations and the repairs to try. A repair is one method or several:
ranges+batchnorm. DATA is a folder with train/ and test/, each with images in folders by class. For each seed, --images
images of train/ are drawn, without labels, for calibration and repair. Accuracy is measured on all of test/. Deviations
are standard deviations. Every repaired network is converted and verified on 64 test images. Exits with 1 if a code
differs.
"""
import argparse
import pathlib
import random
import resource
import shutil
import statistics
import sys
import tempfile
import time

from program import run


def images(given, seed, folder):
    """Write a folder of images of train/, without their classes."""
    files = sorted(path for path in (given.data / "train").glob("*/*") if path.is_file())
    folder.mkdir()
    for number, path in enumerate(random.Random(seed).sample(files, min(given.images, len(files)))):
        shutil.copy(path, folder / f"{number:04}{path.suffix}")
    return folder


def measure(given, bit_widths, method, seed, samples, folder):
    """Return test accuracy in percent, minutes, and whether integers differ."""
    weights, activations = bit_widths.split("/")
    prepared, integer = folder / "prepared", folder / "integer"
    repair = [] if method == "none" else ["--repair", method.replace("+", ","), "--repair-steps", given.steps]
    start = time.time()
    run(given, "quantize", given.network, "--platform", given.platform, "--data", samples, "--all", *given.pixels, "--weight-bits", weights, "--activation-bits", activations, "--seed", seed,
        *repair, "--overwrite", "--out", prepared)  # fmt: skip
    minutes = (time.time() - start) / 60
    run(given, "convert", prepared, "--overwrite", "--out", integer)
    _, differs = run(given, "verify", prepared, integer, "--data", given.data, "--samples", 64)
    report, _ = run(given, "eval", prepared, "--data", given.data)
    return 100 * report["accuracy"], minutes, differs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--cells", nargs="+", default=["8/8:none,auto", "4/8:none,adaround", "4/4:none,adaround,brecq,qdrop"])
    parser.add_argument("--images", type=int, default=256)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--preprocess", default="")
    parser.add_argument("--platform", default="generic_int8")
    parser.add_argument("--program", default="build/release/halfstep")
    parser.add_argument("--threads", type=int, default=0)
    given = parser.parse_args()
    given.pixels = ["--preprocess", given.preprocess] if given.preprocess else []
    seeds = [int(seed) for seed in given.seeds.split(",")]
    differing = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        samples = {seed: images(given, seed, folder / str(seed)) for seed in seeds}
        floats, _ = run(given, "eval", given.network, "--data", given.data, *given.pixels)
        print(f"float: {100 * floats['accuracy']:.2f} %; {given.images} training images without labels, seeds {given.seeds}, {given.steps} steps\n")
        print("| bits | repair | mean % | deviation | each | minutes | MB |\n| --- | --- | --- | --- | --- | --- | --- |", flush=True)
        for cell in given.cells:
            bit_widths, methods = cell.split(":")
            for method in methods.split(","):
                rows = [measure(given, bit_widths, method, seed, samples[seed], folder) for seed in seeds]
                found = [accuracy for accuracy, _, _ in rows]
                deviation = statistics.stdev(found) if len(found) > 1 else 0
                differing += sum(differs for _, _, differs in rows)
                peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
                print(f"| {bit_widths} | {method} | {statistics.mean(found):.2f} | {deviation:.2f} | {' '.join(f'{one:.2f}' for one in found)} | "
                      f"{statistics.mean(minutes for _, minutes, _ in rows):.1f} | {peak:.0f} |", flush=True)  # fmt: skip
    print(f"\n{differing} networks whose integers differ")
    sys.exit(1 if differing else 0)


main()
