"""The program, called for its report: for the benchmarks that take a network from step to step."""
import json
import subprocess
import sys


def run(given, *words):
    """The report of `given.program` on `given.threads` threads, and its exit code: 1 where what it compared differs. Anything else ends the script."""
    done = subprocess.run([str(word) for word in (given.program, *words, "--threads", given.threads, "--json")], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout), done.returncode
