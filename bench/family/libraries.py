"""The copy that bounds memory-bound operators, and the peers. A peer that is not available has a reason."""

import ctypes
import importlib
import pathlib
import subprocess
import tempfile
import time

IN_CACHE = 4 << 20  # a copy of up to this many bytes stays in cache and uses ordinary stores


class Roofline:
    """Return seconds of a copy with this number of bytes read and written. This machine's compiler compiles it."""

    def __init__(self, threads):
        self.threads = threads
        source = pathlib.Path(__file__).with_name("roofline.cpp")
        self.folder = tempfile.TemporaryDirectory()
        library = pathlib.Path(self.folder.name) / "roofline.so"
        command = ["c++", "-std=c++20", "-O2", "-march=native", "-shared", "-fPIC", "-pthread", f"-I{source.parents[2]}", str(source), "-o", str(library)]
        subprocess.run(command, check=True, capture_output=True)
        self.copy_seconds = ctypes.CDLL(str(library)).copy_seconds
        self.copy_seconds.restype = ctypes.c_double
        self.copy_seconds.argtypes = [ctypes.c_int64, ctypes.c_int, ctypes.c_int, ctypes.c_bool]

    def seconds(self, traffic, rounds):
        size = max(int(traffic) // 2, 64 * self.threads)
        return self.copy_seconds(size, self.threads, rounds, size > IN_CACHE)


class NoRoofline:
    def seconds(self, traffic, rounds):
        return None


class Peer:
    """A library. `call` returns a function that computes the case, or None if the library does not have it."""

    def __init__(self, name, threads):
        self.name = name


class Torch(Peer):
    def __init__(self, name, threads):
        super().__init__(name, threads)
        self.torch = importlib.import_module("torch")
        self.torch.set_num_threads(threads)

    def call(self, case, data):
        return case.torch(self.torch, data) if case.torch else None


class Compiled(Torch):
    def call(self, case, data):
        if not case.formula:
            return None
        self.torch._dynamo.reset()
        function, arguments = case.formula(self.torch, data)
        compiled = self.torch.compile(function)
        return lambda: compiled(*arguments)


class Paddle(Peer):
    def __init__(self, name, threads):
        super().__init__(name, threads)
        self.paddle = importlib.import_module("paddle")

    def call(self, case, data):
        return case.paddle(self.paddle, data) if case.paddle else None


class OnnxRuntime(Peer):
    def __init__(self, name, threads):
        super().__init__(name, threads)
        self.runtime = importlib.import_module("onnxruntime")
        self.onnx = importlib.import_module("onnx")
        self.numpy = importlib.import_module("numpy")
        self.threads = threads

    def call(self, case, data):
        if not case.onnx:
            return None
        operator, values, attributes, outputs = case.onnx(data)
        feeds = {name: self.numpy.asarray(value) for name, value in values.items()}
        domain = attributes.pop("domain", "")
        helper = self.onnx.helper
        node = helper.make_node(operator, list(feeds), [f"y{i}" for i in range(outputs)], domain=domain, **attributes)
        inputs = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
            for name, value in feeds.items()
        ]
        results = [self.onnx.ValueInfoProto(name=f"y{i}") for i in range(outputs)]
        graph = helper.make_graph([node], "peer", inputs, results)
        opsets = [helper.make_opsetid("", 21)] + ([helper.make_opsetid(domain, 1)] if domain else [])
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        settings = self.runtime.SessionOptions()
        settings.intra_op_num_threads = self.threads
        session = self.runtime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
        return lambda: session.run(None, feeds)


KINDS = {"torch": Torch, "compile": Compiled, "paddle": Paddle, "onnxruntime": OnnxRuntime}


class Tools:
    def __init__(self, wanted, threads):
        self.peers, self.notes = [], []
        for name in wanted:
            try:
                self.peers.append(KINDS[name](name, threads))
            except ImportError as error:
                self.notes.append(f"no {name}: {error}")
        try:
            self.roofline = Roofline(threads)
        except (OSError, subprocess.CalledProcessError) as error:
            self.roofline = NoRoofline()
            self.notes.append(f"no share of a copy: {error}")

    @staticmethod
    def rest():
        """Wait, because threads of other libraries spin for a while after a call."""
        time.sleep(0.2)
