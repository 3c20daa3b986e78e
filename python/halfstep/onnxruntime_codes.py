"""Runs ONNX files in onnxruntime for `halfstep verify --backend onnxruntime`, which starts it and asks.

    onnxruntime_codes.py FOLDER

The first line of its output is the version of onnxruntime. Then it answers each line of its input with `ok`; files lie in FOLDER:

    load MODEL on|off    makes a session, with or without graph optimizations; sessions are 0, 1, ...
    run SESSION          from inputs.npz, inputs by name, to outputs.npz, outputs as 0, 1, ... in order

It ends at the end of its input, and at the first error, which is the last line of its standard error.
"""

import os
import pathlib
import signal
import sys

for stop in (signal.SIGINT, signal.SIGTERM):
    signal.signal(stop, signal.SIG_IGN)  # who asks decides when to end
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # whatever else is printed is no answer

try:
    import numpy
    import onnxruntime
except ImportError as error:
    sys.exit(f"{error}")


def load(model, optimizations):
    options = onnxruntime.SessionOptions()
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimizations == "on" else levels.ORT_DISABLE_ALL
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # threads wait while we compute
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def serve(folder):
    sessions = []
    print(onnxruntime.__version__, file=answers, flush=True)
    for line in sys.stdin:
        verb, *words = line.split()
        if verb == "load":
            sessions.append(load(folder / words[0], words[1]))
        else:
            results = sessions[int(words[0])].run(None, dict(numpy.load(folder / "inputs.npz")))
            numpy.savez(folder / "outputs.npz", **{str(i): result for i, result in enumerate(results)})
        print("ok", file=answers, flush=True)


if __name__ == "__main__":
    try:
        serve(pathlib.Path(sys.argv[1]))
    except Exception as error:
        sys.exit(" ".join(f"{type(error).__name__}: {error}".split()))
