"""Run ONNX files in onnxruntime for `halfstep verify --backend onnxruntime`, which starts this script.

    onnxruntime_codes.py FOLDER

The first line of output is the version of onnxruntime. Each line of input is a command, and the script answers it with
`ok`. Files are in FOLDER:

    load MODEL on|off    make a session, with or without graph optimizations; sessions are 0, 1, ...
    run SESSION          read inputs.npz, inputs by name; write outputs.npz, outputs as 0, 1, ... in order

The script ends at the end of its input, or at the first error. The last line of standard error then holds the error.
"""

import os
import pathlib
import signal
import sys

for stop in (signal.SIGINT, signal.SIGTERM):
    signal.signal(stop, signal.SIG_IGN)  # The parent process decides when to end.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # Keep all other output off the channel of answers.

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
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # Waiting threads must not spin.
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
