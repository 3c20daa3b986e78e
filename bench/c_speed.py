#!/usr/bin/env python3
"""Time a network's C program and our own kernels on one thread, and measure its size.

usage: bench/c_speed.py PREPARED ... [--program P] [--runs N]

PREPARED: prepared Models that keep samples. Prints, for each compiler, the fastest call and the time of our kernels. If
arm-none-eabi-gcc is installed, it also prints the bytes of code and constants for a Cortex-M4 at -Os.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

COMPILERS = ("gcc -O3 -march=native", "clang -O3 -march=native", "gcc -O2")
TIMER = """#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <time.h>
#include "net.h"
{arrays}
int main(void)
{{
    double best = 1e30;
    int i;
    for (i = 0; i < {runs}; ++i) {{
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        if (net_run({arguments}) != NET_OK) return 1;
        clock_gettime(CLOCK_MONOTONIC, &b);
        const double ms = (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6;
        if (ms < best) best = ms;
    }}
    printf("%.4f\\n", best);
    return 0;
}}
"""


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True).stdout


def timer(header, runs):
    """Return a program that calls net_run on zeros."""
    signature = next(line for line in header.splitlines() if line.startswith("int net_run("))
    ports = [port.replace("const ", "").split(" *") for port in signature[len("int net_run(") : -2].split(", ")]
    arrays = "\n".join(f"static {kind} {name}[NET_{name.upper()}_COUNT];" for kind, name in ports)
    return TIMER.format(arrays=arrays, runs=runs, arguments=", ".join(name for _, name in ports))


def ours(program, prepared, folder, runs):
    """Return milliseconds of the fastest run of the integer program on one thread, for one sample."""
    integer, inputs = folder / "integer.safetensors", folder / "inputs.npz"
    run(program, "convert", prepared, "--out", integer, "--overwrite")
    arguments = json.loads(run(program, "inspect", integer, "--json"))["graph"].splitlines()[0]
    shapes = {name: dims.replace("?", "1").split(", ") for name, dims in re.findall(r"(\S+): f32\[([^]]*)\]", arguments[arguments.index("(") + 1 :])}
    np.savez(inputs, **{name: np.zeros([int(extent) for extent in dims], np.float32) for name, dims in shapes.items()})
    text = run(program, "run", integer, "--inputs", inputs, "--repeat", runs, "--threads", 1)
    return float(text.split("fastest")[1].split()[0])


def code_bytes(folder):
    """Return the size of code and constants of the object for a Cortex-M4."""
    target = "arm-none-eabi-gcc -Os -mcpu=cortex-m4 -mthumb -std=c99 -DNET_NO_FLOAT -c".split()
    run(*target, "-o", folder / "net.o", folder / "net.c")
    sizes = dict(line.split()[:2] for line in run("arm-none-eabi-size", "-A", folder / "net.o").splitlines() if line.startswith("."))
    return int(sizes[".text"]), sum(int(size) for section, size in sizes.items() if section.startswith(".rodata"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prepared", nargs="+")
    parser.add_argument("--program", default="build/release/halfstep")
    parser.add_argument("--runs", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for prepared in options.prepared:
            written = json.loads(run(options.program, "export", prepared, "--format", "c", "--name", "net", "--out", folder, "--overwrite", "--json"))
            (folder / "timer.c").write_text(timer((folder / "net.h").read_text(), options.runs))
            beside = ours(options.program, prepared, folder, options.runs)
            print(f"{pathlib.Path(prepared).stem}: our kernels {beside:.3f} ms")
            for compiler in COMPILERS:
                if not shutil.which(compiler.split()[0]):
                    continue
                run(*compiler.split(), "-std=c99", f"-I{folder}", "-o", folder / "timer", folder / "timer.c", folder / "net.c")
                took = float(run(folder / "timer"))
                print(f"  {compiler:26} {took:9.3f} ms, {beside / took:5.2f} of our kernels' speed")
            print(f"  weights {written['weight_bytes']} bytes, other constants {written['other_constant_bytes']}, memory {written['arena_bytes']}")
            if shutil.which("arm-none-eabi-gcc"):
                code, constants = code_bytes(folder)
                print(f"  Cortex-M4 at -Os: {code} bytes of code, {constants} of constants")
    return 0


if __name__ == "__main__":
    sys.exit(main())
