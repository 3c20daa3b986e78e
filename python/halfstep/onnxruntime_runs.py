"""Runs ONNX files in onnxruntime for `halfstep fuzz`, which starts it and asks.

    onnxruntime_runs.py FOLDER

The first line of its output is the version of onnxruntime. For each line of its input it runs FOLDER/model.onnx, without graph
optimizations, on FOLDER/inputs.npz, writes FOLDER/outputs.npz, outputs by name, and answers `ok`, or in one line why it did not.
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


def run(folder):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    with numpy.load(folder / "inputs.npz") as inputs:
        wanted = {port.name for port in session.get_inputs()}
        results = session.run(None, {name: inputs[name] for name in inputs.files if name in wanted})
    # Not savez: names of outputs are no file names.
    numpy.savez(folder / "outputs.npz", **{str(i): result for i, result in enumerate(results)})


if __name__ == "__main__":
    place = pathlib.Path(sys.argv[1])
    print(onnxruntime.__version__, file=answers, flush=True)
    for _ in sys.stdin:
        try:
            run(place)
            answer = "ok"
        except Exception as error:  # of any kind: it is an answer
            answer = " ".join(f"{type(error).__name__}: {error}".split()) or "an error"
        print(answer, file=answers, flush=True)
