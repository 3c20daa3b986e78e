"""Run ONNX files in onnxruntime for `halfstep fuzz`, which starts this script.

    onnxruntime_runs.py FOLDER

The first line of output is the version of onnxruntime. Each line of input is a JSON list of input names. For each line
the script runs FOLDER/model.onnx, without graph optimizations, on FOLDER/inputs.npz, whose tensors 0, 1, ... have these
names. It writes outputs 0, 1, ... to FOLDER/outputs.npz and answers `ok`, or one line with the error.
"""

import json
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


def run(folder, names):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    with numpy.load(folder / "inputs.npz") as inputs:
        wanted = {port.name for port in session.get_inputs()}
        results = session.run(None, {name: inputs[str(i)] for i, name in enumerate(names) if name in wanted})
    numpy.savez(folder / "outputs.npz", **{str(i): result for i, result in enumerate(results)})


if __name__ == "__main__":
    place = pathlib.Path(sys.argv[1])
    print(onnxruntime.__version__, file=answers, flush=True)
    for line in sys.stdin:
        try:
            run(place, json.loads(line))
            answer = "ok"
        except Exception as error:  # Any exception is a valid answer.
            answer = " ".join(f"{type(error).__name__}: {error}".split()) or "an error"
        print(answer, file=answers, flush=True)
