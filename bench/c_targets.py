#!/usr/bin/env python3
"""Compare the codes of C programs with the integer program, for every layer.

usage: bench/c_targets.py NETWORK[=DATA] ... [--program P] [--platforms a,b] [--bit-widths 8/8,4/8,4/4] [--targets a,b]
       [--samples N]

It runs all combinations of networks, platforms, bit widths, compilers and machines. NETWORK is a float Model or a
foreign file. DATA are its samples (default: the digits). Prints a table in Markdown. A cell is 0 if no code differs,
else the number of differing codes, or the reason why there is none. Tools that are not installed are left out. Exits
with 1 if a code differs.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

WARNINGS = "-std=c99 -Wall -Wextra -Wconversion -pedantic -Werror"
SANITIZED = "-O1 -fsanitize=undefined,address -fno-sanitize-recover"
TARGETS = {
    "gcc -O0": ("gcc -O0", ""),
    "gcc -O3": ("gcc -O3 -march=native", ""),
    "gcc sanitized": (f"gcc {SANITIZED}", ""),
    "clang -O0": ("clang -O0", ""),
    "clang -O3": ("clang -O3 -march=native", ""),
    "arm": ("arm-linux-gnueabihf-gcc -static -O2", "qemu-arm"),
    "aarch64": ("aarch64-linux-gnu-gcc -static -O3", "qemu-aarch64"),
    "riscv64": ("riscv64-linux-gnu-gcc -static -O2", "qemu-riscv64"),
    "s390x": ("s390x-linux-gnu-gcc -static -O2", "qemu-s390x"),
    "powerpc": ("powerpc-linux-gnu-gcc -static -O2", "qemu-ppc"),
}


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


def reason(done):
    return done.stderr.strip().splitlines()[-1].removeprefix("halfstep: ")[:90] if done.stderr.strip() else f"exit code {done.returncode}"


def models(program, network, data, platform, bit_widths, folder):
    """Return the prepared and the integer Model, or the reason why there is none."""
    prepared, integer = folder / "prepared.safetensors", folder / "integer.safetensors"
    weights, activations = bit_widths.split("/")
    done = run(program, "quantize", network, "--platform", platform, "--weight-bits", weights, "--activation-bits", activations, "--data", data, "--out", prepared, "--overwrite")
    if done.returncode == 0:
        done = run(program, "convert", prepared, "--float-fallback", "--out", integer, "--overwrite")
    return (prepared, integer) if done.returncode == 0 else reason(done)


def differing(program, pair, data, samples, compiler, runner):
    """Return the number of codes that differ in C, or the reason why it is unknown."""
    words = [program, "verify", *pair, "--data", data, "--samples", samples, "--with", "c", "--cc", f"{compiler} {WARNINGS}", "--json"]
    done = run(*words, *(["--run", runner] if runner else []))
    if done.returncode not in (0, 1):
        return reason(done)
    return str(sum(layer["engine_differing"] for layer in json.loads(done.stdout)["layers"]))


def name_of(network):
    """Return a name for the network. A file in a folder of its own has the name of the folder."""
    path = pathlib.Path(network)
    return path.parent.name if path.stem == "model" else path.stem


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="+")
    parser.add_argument("--program", default="build/release/halfstep")
    parser.add_argument("--platforms", default="generic_int8,pow2_int8,signed_pow2_int8,magik_t40,onnxruntime_int8,pytorch_fbgemm,pytorch_x86")
    parser.add_argument("--bit-widths", default="8/8,4/8,4/4")
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--samples", type=int, default=8)
    options = parser.parse_args()
    targets = [name for name in options.targets.split(",") if all(shutil.which(word.split()[0]) for word in TARGETS[name] if word)]
    print("| network | platform | bit_widths | " + " | ".join(targets) + " |\n|" + " --- |" * (3 + len(targets)), flush=True)
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        for given in options.networks:
            network, _, data = given.partition("=")
            for platform in options.platforms.split(","):
                for bit_widths in options.bit_widths.split(","):
                    pair = models(options.program, network, data, platform, bit_widths, pathlib.Path(name))
                    cells = [differing(options.program, pair, data, options.samples, *TARGETS[target]) for target in targets] if isinstance(pair, tuple) else [pair]
                    wrong += sum(cell.isdigit() and cell != "0" for cell in cells)
                    print(f"| {name_of(network)} | {platform} | {bit_widths} | " + " | ".join(cells) + " |", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
