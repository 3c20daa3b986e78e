#!/usr/bin/env python3
"""Train a network from float to few bits in one command, kill it with SIGKILL, resume it, and compare the final
weights.

usage: bench/bits_schedule.py NETWORK DATA [--platform magik_t40] [--schedule 8,4] [--epochs 2] [--program
       build/release/halfstep] [MORE OPTIONS OF halfstep train]

The run is made twice. The first is not interrupted. The second is killed after each checkpoint that --kill names
(STAGE:EPOCH, counted from 1), and resumed with the same command each time. Prints the accuracy of each stage and both
digests. Exits with 1 if they differ.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time


def command(given, out, *more):
    return [given.program, "train", given.network, "--data", given.data, "--platform", given.platform, "--bits-schedule", given.schedule, "--epochs", str(given.epochs),
            "--out", str(out), "--json", *given.more, *more]  # fmt: skip


def finished(given, out, *more):
    start = time.time()
    done = subprocess.run(command(given, out, *more), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"exit {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout), time.time() - start


def killed(given, out, checkpoint, *more):
    """Start a run and kill it as soon as the checkpoint exists."""
    run = subprocess.Popen(command(given, out, *more), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not list(out.glob(checkpoint)):
        if run.poll() is not None:
            sys.exit(f"ended before {checkpoint}")
        time.sleep(0.01)
    run.kill()
    run.wait()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("network")
    parser.add_argument("data")
    parser.add_argument("--platform", default="magik_t40")
    parser.add_argument("--schedule", default="8,4")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--kill", default="1:1,2:1")
    parser.add_argument("--program", default="build/release/halfstep")
    given, more = parser.parse_known_args()
    given.more = more
    with tempfile.TemporaryDirectory() as folder:
        straight, resumed = pathlib.Path(folder) / "straight", pathlib.Path(folder) / "resumed"
        report, seconds = finished(given, straight)
        for stage in [*report.get("stages", []), report]:
            first = stage["validation"]["results"][0]
            print(f"{stage['bits']:<8} {100 * stage['accuracy']:.2f} % of {stage['samples']} test samples; validation {100 * first['accuracy']:.2f} % at the start, "
                  f"best epoch {stage['validation']['best_epoch']}; digest {stage['digest']}")  # fmt: skip
        for number, moment in enumerate(given.kill.split(",")):
            stage, epoch = map(int, moment.split(":"))
            killed(given, resumed, f"{stage}-*/checkpoint_{epoch:04}.safetensors", *(["--resume"] if number else []))
            print(f"killed in stage {stage} after epoch {epoch}")
        again, _ = finished(given, resumed, "--resume")
        same = again["digest"] == report["digest"]
        print(f"straight {report['digest']} in {seconds:.0f} s, resumed {again['digest']}: {'the same' if same else 'DIFFERENT'}")
        sys.exit(0 if same else 1)


main()
