"""Run the program and read its report, for benchmarks that run a network through several steps."""
import json
import subprocess
import sys


def run(given, *words):
    """Return the report of `given.program` on `given.threads` threads, and its exit code: 1 if a comparison found a
    difference. Any other error ends the script.
    """
    done = subprocess.run([str(word) for word in (given.program, *words, "--threads", given.threads, "--json")], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout), done.returncode
