"""Engines that run a network on two threads or more, timed in turns, for benchmarks of whole networks. Peers that are
not installed are left out.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

from safetensors.numpy import load_file, save_file

try:
    import onnxruntime
except ImportError:
    onnxruntime = None
try:
    import openvino
except ImportError:
    openvino = None


# Without VNNI, its layers on bytes add pairs of products in 16 bits, which saturate. Its codes are then no reference.
ONNXRUNTIME_SATURATES = "avx512_vnni" not in pathlib.Path("/proc/cpuinfo").read_text()


class Halfstep:
    """The program, on an ONNX file or a Model. Engines take arrays by the names of inputs."""
    name = "halfstep"

    def __init__(self, given, path, inputs, folder):
        self.inputs, self.outputs = folder / "x.safetensors", folder / "y.safetensors"
        save_file(inputs, self.inputs)
        self.command = [given.program, "run", str(path), "--inputs", str(self.inputs), "--overwrite", "--outputs", str(self.outputs), "--json", "--threads", str(given.threads)]

    def times(self, runs):
        done = subprocess.run([*self.command, "--repeat", str(runs + 5)], check=True, capture_output=True, text=True, timeout=6000)
        return json.loads(done.stdout)["milliseconds"][5:]

    def output(self):
        return next(iter(load_file(self.outputs).values()))


class Peer:
    """An engine in this process. `call` runs it once and returns its output."""

    def times(self, runs):
        times = []
        for _ in range(runs + 5):
            start = time.perf_counter()
            self.y = self.call()
            times.append((time.perf_counter() - start) * 1e3)
        return times[5:]

    def output(self):
        return self.y


class OnnxRuntime(Peer):
    name = "onnxruntime"

    def __init__(self, given, path, inputs, folder):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = given.threads
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.call = lambda: session.run(None, inputs)[0]


class OpenVino(Peer):
    name = "openvino"

    def __init__(self, given, path, inputs, folder):
        network = openvino.Core().read_model(path)
        network.reshape({name: list(x.shape) for name, x in inputs.items()})
        settings = {"INFERENCE_NUM_THREADS": given.threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
        request = openvino.compile_model(network, "CPU", settings).create_infer_request()
        self.call = lambda: request.infer(inputs, share_inputs=True, share_outputs=True)[0]


PEERS = [peer for peer, module in ((OnnxRuntime, onnxruntime), (OpenVino, openvino)) if module]


def add_options(parser):
    parser.add_argument("--program", default="build/release/halfstep")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=40, help="in a round at batch 1; a tenth of them at others")
    parser.add_argument("--only", default="", help="networks whose names hold this text")
    parser.add_argument("--models", type=pathlib.Path, help="folder for the files, which stay there")


def medians(given, engines, batch):
    """Return milliseconds of each engine, in order, over rounds in which they take turns."""
    times = [[] for _ in engines]
    for _ in range(given.rounds):
        for engine, own in zip(engines, times):
            time.sleep(0.05)  # The previous engine's threads spin for a while.
            own += engine.times(given.runs if batch == 1 else max(3, given.runs // 10))
    return [statistics.median(own) for own in times]


def title(given, *columns):
    print(f"milliseconds with {given.threads} threads, and how many times Halfstep's")
    print(f"{'network':<14}{'batch':>6}{'halfstep':>12}" + "".join(f"{column:>12}{'':7}" for column in columns), end="")


def row(name, batch, own, *peers):
    ratios = "".join(f"{peer:12.3f}{peer / own:7.2f}" for peer in peers)
    print(f"{name:<14}{batch:6}{own:12.3f}{ratios}", end="")


def compare(doc, heading, measure, cases):
    """Parse the options and print the table with `heading` after its columns. Return the exit code: 1 if measure(given,
    *case, folder) is false.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    given = parser.parse_args()
    title(given, *(peer.name for peer in PEERS))
    print(heading)
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.models or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        right = [measure(given, *case, folder) for case in cases if given.only in case[0].__name__]
    return 0 if all(right) else 1
