"""Runs an ONNX file in onnxruntime as it stands, and stores every output. `halfstep verify --with onnxruntime` starts it.

    onnxruntime_codes.py version                            prints the version of onnxruntime
    onnxruntime_codes.py MODEL.onnx INPUT.npz OUTPUT.npz    inputs by name, outputs are 0, 1, ... in order
"""

import sys

try:
    import numpy
    import onnxruntime
except ImportError as error:
    sys.exit(f"{sys.executable}: {error}")


def run(model, inputs, outputs):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    results = session.run(None, dict(numpy.load(inputs)))
    numpy.savez(outputs, **{str(i): result for i, result in enumerate(results)})


if __name__ == "__main__":
    if sys.argv[1:] == ["version"]:
        print(onnxruntime.__version__)
    else:
        run(*sys.argv[1:])
