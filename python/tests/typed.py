"""User code for tools/check_types. A type checker reads it, and it is never run."""

import numpy as np

import halfstep as hs


def right(outputs: np.ndarray[tuple[int, ...], np.dtype[np.float32]], labels: np.ndarray[tuple[int, ...], np.dtype[np.int32]]) -> float:
    return float((outputs.argmax(1) == labels).mean())


def use() -> float:
    x, labels = np.zeros((4, 3, 8, 8), np.float32), np.zeros(4, np.int32)
    prepared = hs.quantize(hs.load("net.onnx"), "onnxruntime_int8", data=x, bits={"conv*": (4, None)})
    fit = hs.train(prepared, [(x, labels)], epochs=3, progress=lambda stage, done, total, note: None)
    program = hs.convert(prepared)
    proof = hs.verify(prepared, program, {"x": x, "labels": labels}, backend="onnxruntime")
    assert proof.equal and fit.accuracy is not None and program.layers["conv4"](x) is not None
    exported = hs.export(program, "net_int8.onnx", format="qoperator")
    score = hs.evaluate(program, hs.datasets.load((x, labels), all=True))
    return score + hs.evaluate_metric(program, [(x, labels)], right) + exported.nodes
