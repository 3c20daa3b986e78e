"""The measured cases: each operator with its operands, its minimal traffic, and equivalent functions of other
libraries.
"""

import dataclasses
import functools
from typing import Callable, Optional

import numpy as np

import halfstep

F32 = np.float32
SCALE, ZERO_POINT, LOW, HIGH = 0.05, 7, -128, 127


def aligned(array):
    """Copy the elements to memory at a cache line, as other libraries' tensors are. NumPy's may begin anywhere."""
    memory = np.empty(array.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    to = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    to[...] = array
    return to


class Data:
    """Tensors of about `mib` MiB as floats, made once."""

    def __init__(self, mib):
        self.mib = mib
        rows = max(1, int(mib * (1 << 20) / 4 / (64 * 1024)))
        self.shape = (rows, 64, 32, 32)

    @functools.cached_property
    def x(self):
        return aligned(np.random.default_rng(1).uniform(-4, 6, self.shape).astype(F32))

    @functools.cached_property
    def dy(self):
        return aligned(np.random.default_rng(2).uniform(-1, 1, self.shape).astype(F32))

    @functools.cached_property
    def codes(self):
        return aligned(np.random.default_rng(3).integers(0, 256, self.shape, np.uint8))

    @functools.cached_property
    def other_codes(self):
        return aligned(np.random.default_rng(4).integers(0, 256, self.shape, np.uint8))

    def scale(self, axis=None, dtype=F32):
        return np.full(1 if axis is None else self.shape[axis], SCALE, dtype)

    def zero_point(self, axis=None, dtype=np.int32):
        return np.full(1 if axis is None else self.shape[axis], ZERO_POINT, dtype)


def ones(count=1):
    return np.ones(count, F32)


@dataclasses.dataclass
class Case:
    """A case. `reads` and `writes` are the minimal passes over the elements, in bytes for each. None: not memory-bound.
    """

    operator: str
    operands: Callable
    reads: Optional[float]
    writes: Optional[float]
    attributes: dict = dataclasses.field(default_factory=dict)
    note: str = ""
    torch: Optional[Callable] = None
    formula: Optional[Callable] = None
    paddle: Optional[Callable] = None
    onnx: Optional[Callable] = None

    @property
    def title(self):
        return f"{self.operator} {self.note}".strip()

    @property
    def is_memory_bound(self):
        return self.reads is not None

    def traffic(self, data):
        return ((self.reads or 4) + (self.writes or 4)) * np.prod(data.shape)

    def own(self, data):
        function, operands = getattr(halfstep.ops, self.operator), self.operands(data)
        return lambda: function(*operands, **self.attributes)


# ---- formulas in full, for torch.compile


def clamp_round(torch, x, scale, zero_point, low=LOW, high=HIGH):
    return (torch.clamp(torch.round(x * (1.0 / scale)) + zero_point, low, high) - zero_point) * scale


def affine_formula(torch, data):
    return (lambda x: clamp_round(torch, x, SCALE, ZERO_POINT)), (torch.from_numpy(data.x),)


def affine_codes_formula(torch, data):
    def codes(x):
        return torch.clamp(torch.round(x * (1.0 / SCALE)) + ZERO_POINT, 0, 255).to(torch.uint8)

    return codes, (torch.from_numpy(data.x),)


def affine_values_formula(torch, data):
    return (lambda q: (q.to(torch.float32) - ZERO_POINT) * SCALE), (torch.from_numpy(data.codes),)


def affine_grad_formula(torch, data):
    def grad(x, dy):
        steps = torch.round(x * (1.0 / SCALE)) + ZERO_POINT
        return torch.where((steps >= LOW) & (steps <= HIGH), dy, 0.0)

    return grad, (torch.from_numpy(data.x), torch.from_numpy(data.dy))


def channel_formula(torch, data):
    scale, zero_point = (torch.from_numpy(p).reshape(1, -1, 1, 1) for p in (data.scale(1), data.zero_point(1)))
    return (lambda x: clamp_round(torch, x, scale, zero_point)), (torch.from_numpy(data.x),)


def abs_max_formula(dequantize, dims=None):
    def formula(torch, data):
        def quantize(x):
            scale = x.abs().amax() if dims is None else x.abs().amax(dims, keepdim=True)
            v = (127.0 / scale) * torch.clamp(x, -scale, scale)
            q = torch.trunc(v + torch.copysign(torch.full_like(v, 0.5), v))
            return q * scale / 127.0 if dequantize else q

        return quantize, (torch.from_numpy(data.x),)

    return formula


def test_formula(dequantize):
    def formula(torch, data):
        def quantize(x, scale):
            v = (127.0 / scale) * torch.clamp(x, -scale, scale)
            q = torch.trunc(v + torch.copysign(torch.full_like(v, 0.5), v))
            return q * scale / 127.0 if dequantize else q

        return quantize, (torch.from_numpy(data.x), torch.ones(1))

    return formula


# ---- equivalent functions of PyTorch eager


def torch_call(name, *parameters, grad=False):
    """Return a function that calls a PyTorch operator. `parameters` after x are values, or functions of data that
    return arrays.
    """

    def make(torch, data):
        function = getattr(torch, name)
        values = [torch.from_numpy(p(data)) if callable(p) else p for p in parameters]
        x = torch.from_numpy(data.x)
        if not grad:
            return lambda: function(x, *values)
        y = function(x.clone().requires_grad_(), *values)
        dy = torch.from_numpy(data.dy)
        leaf = y.grad_fn.next_functions[0][0].variable
        return lambda: torch.autograd.grad(y, leaf, dy, retain_graph=True)

    return make


def torch_codes(torch, data):
    x = torch.from_numpy(data.x)
    return lambda: torch.quantize_per_tensor(x, SCALE, ZERO_POINT, torch.quint8)


def torch_values(torch, data):
    q = torch.quantize_per_tensor(torch.from_numpy(data.x), SCALE, ZERO_POINT, torch.quint8)
    return lambda: q.dequantize()


def torch_fused(torch, data):
    x, on = torch.from_numpy(data.x), torch.ones(1, dtype=torch.int64)
    state = [torch.zeros(1), torch.ones(1), torch.ones(1), torch.zeros(1, dtype=torch.int32)]
    return lambda: torch.fused_moving_avg_obs_fake_quant(x, on, on, *state, 0.01, 0, 255, -1)


# ---- equivalent functions of Paddle eager


def paddle_call(name, *parameters, operand="x"):
    """Return a function that calls a Paddle operator. Arguments are in the positional order of _C_ops, which has no
    defaults.
    """

    def make(paddle, data):
        function = getattr(paddle._C_ops, name)
        values = [paddle.to_tensor(p(data)) if callable(p) else p for p in parameters]
        x = paddle.to_tensor(getattr(data, operand))
        return lambda: function(x, *values)

    return make


def state(data):
    return ones()


def window(data):
    return np.zeros(10000, F32)


def onnx_call(operator, feeds, outputs=1, **attributes):
    return lambda data: (operator, feeds(data), dict(attributes), outputs)


def x_of(data):
    return [data.x]


def affine(data, axis=None):
    return [data.x, data.scale(axis), data.zero_point(axis)]


QMIN_QMAX = {"quant_min": LOW, "quant_max": HIGH}
CODE_RANGE = {"code_min": LOW, "code_max": HIGH}
TENSOR = (SCALE, ZERO_POINT, LOW, HIGH)

OWN = [
    Case("fake_quantize", affine, 4, 4, CODE_RANGE, formula=affine_formula),
    Case("fake_quantize", lambda d: affine(d, 1), 4, 4, CODE_RANGE | {"axis": 1}, "axis=1", formula=channel_formula),
    Case("fake_quantize_grad", lambda d: [*affine(d), d.dy], 8, 4, CODE_RANGE, formula=affine_grad_formula),
    Case("quantize", affine, 4, 1, formula=affine_codes_formula),
    Case("dequantize", lambda d: [d.codes, d.scale(), d.zero_point()], 1, 4, formula=affine_values_formula),
]

PADDLE = [
    Case("fake_quantize_abs_max", x_of, 8, 4, formula=abs_max_formula(False), paddle=paddle_call("fake_quantize_abs_max", 8, 1)),
    Case("fake_quantize_dequantize_abs_max", x_of, 8, 4, formula=abs_max_formula(True),
         paddle=paddle_call("fake_quantize_dequantize_abs_max", 8, 1)),
    Case("fake_channel_wise_quantize_abs_max", x_of, 4, 4, note="quant_axis=0", formula=abs_max_formula(False, (1, 2, 3)),
         paddle=paddle_call("fake_channel_wise_quantize_abs_max", 8, 1, 0, False)),
    Case("fake_channel_wise_quantize_abs_max", x_of, 8, 4, {"quant_axis": 1}, "quant_axis=1", formula=abs_max_formula(False, (0, 2, 3)),
         paddle=paddle_call("fake_channel_wise_quantize_abs_max", 8, 1, 1, False)),
    Case("fake_channel_wise_quantize_dequantize_abs_max", x_of, 4, 4, note="quant_axis=0", formula=abs_max_formula(True, (1, 2, 3)),
         paddle=paddle_call("fake_channel_wise_quantize_dequantize_abs_max", 8, 1, 0)),
    Case("fake_channel_wise_quantize_dequantize_abs_max", x_of, 8, 4, {"quant_axis": 1}, "quant_axis=1",
         formula=abs_max_formula(True, (0, 2, 3)), paddle=paddle_call("fake_channel_wise_quantize_dequantize_abs_max", 8, 1, 1)),
    Case("fake_quantize_range_abs_max", lambda d: [d.x, ones(), np.zeros(1, np.int64), window(d)], 8, 4, formula=abs_max_formula(False),
         paddle=paddle_call("fake_quantize_range_abs_max", state, lambda d: np.zeros(1, np.int64), 10000, 8, False, 1)),
    Case("fake_quantize_range_abs_max", lambda d: [d.x, ones()], 4, 4, {"is_test": True}, "is_test", formula=test_formula(False),
         paddle=paddle_call("fake_quantize_range_abs_max", state, lambda d: np.zeros(1, np.int64), 10000, 8, True, 1)),
    Case("fake_quantize_moving_average_abs_max", lambda d: [d.x, ones(), ones(), ones()], 8, 4, formula=abs_max_formula(False),
         paddle=paddle_call("fake_quantize_moving_average_abs_max", state, state, state, 0.9, 8, False, 1)),
    Case("fake_quantize_dequantize_moving_average_abs_max", lambda d: [d.x, ones(), ones(), ones()], 8, 4, formula=abs_max_formula(True),
         paddle=paddle_call("fake_quantize_dequantize_moving_average_abs_max", state, state, state, 0.9, 8, False, 1)),
    Case("fake_quantize_dequantize_moving_average_abs_max", lambda d: [d.x, ones()], 4, 4, {"is_test": True}, "is_test",
         formula=test_formula(True),
         paddle=paddle_call("fake_quantize_dequantize_moving_average_abs_max", state, state, state, 0.9, 8, True, 1)),
    Case("moving_average_abs_max_scale", lambda d: [d.x, ones(), ones()], 4, 4),
    Case("straight_through_estimator_grad", lambda d: [d.dy], 4, 4,
         paddle=paddle_call("fake_quantize_dequantize_abs_max_grad", 8, 1, operand="dy")),
    Case("quantize_linear", lambda d: [d.x, ones(), np.zeros(1, F32)], 4, 4, {"quant_axis": -1}),
    Case("dequantize_linear", lambda d: [d.x, ones(), np.zeros(1, F32)], 4, 4, {"quant_axis": -1}),
    Case("fake_dequantize_max_abs", lambda d: [d.x, ones()], 4, 4, {"max_range": 127.0},
         paddle=paddle_call("fake_dequantize_max_abs", state, 127.0)),
    Case("fake_channel_wise_dequantize_max_abs", lambda d: [d.x, [ones(d.shape[0])]], 4, 4),
]

TORCH = [
    Case("fake_quantize_per_tensor_affine", x_of, 4, 4, {"scale": SCALE, "zero_point": ZERO_POINT, **QMIN_QMAX},
         torch=torch_call("fake_quantize_per_tensor_affine", *TENSOR), formula=affine_formula),
    Case("fake_quantize_per_tensor_affine_grad", lambda d: [d.x, d.dy], 8, 4, {"scale": SCALE, "zero_point": ZERO_POINT, **QMIN_QMAX},
         torch=torch_call("fake_quantize_per_tensor_affine", *TENSOR, grad=True), formula=affine_grad_formula),
    Case("fake_quantize_per_tensor_affine_tensor_qparams", affine, 4, 4, QMIN_QMAX,
         torch=torch_call("fake_quantize_per_tensor_affine", Data.scale, Data.zero_point, LOW, HIGH), formula=affine_formula),
    Case("fake_quantize_per_channel_affine", lambda d: affine(d, 1), 4, 4, {"axis": 1, **QMIN_QMAX}, "axis=1",
         torch=torch_call("fake_quantize_per_channel_affine", lambda d: d.scale(1), lambda d: d.zero_point(1), 1, LOW, HIGH),
         formula=channel_formula),
    Case("fake_quantize_per_channel_affine", lambda d: affine(d, 3), 4, 4, {"axis": 3, **QMIN_QMAX}, "axis=3",
         torch=torch_call("fake_quantize_per_channel_affine", lambda d: d.scale(3), lambda d: d.zero_point(3), 3, LOW, HIGH)),
    Case("fake_quantize_per_channel_affine_grad", lambda d: [*affine(d, 1), d.dy], 8, 4, {"axis": 1, **QMIN_QMAX}, "axis=1",
         torch=torch_call("fake_quantize_per_channel_affine", lambda d: d.scale(1), lambda d: d.zero_point(1), 1, LOW, HIGH, grad=True)),
    Case("fake_quantize_learnable_per_tensor_affine", lambda d: [d.x, d.scale(), d.zero_point(dtype=F32)], 4, 4, QMIN_QMAX,
         torch=torch_call("_fake_quantize_learnable_per_tensor_affine", Data.scale, lambda d: d.zero_point(dtype=F32), LOW, HIGH),
         formula=affine_formula),
    Case("fake_quantize_learnable_per_tensor_affine_grad", lambda d: [d.x, d.scale(), d.zero_point(dtype=F32), d.dy], 8, 4, QMIN_QMAX,
         torch=torch_call("_fake_quantize_learnable_per_tensor_affine", Data.scale, lambda d: d.zero_point(dtype=F32), LOW, HIGH,
                          grad=True)),
    Case("fake_quantize_learnable_per_channel_affine", lambda d: [d.x, d.scale(1), d.zero_point(1, F32)], 4, 4, {"axis": 1, **QMIN_QMAX},
         "axis=1", torch=torch_call("_fake_quantize_learnable_per_channel_affine", lambda d: d.scale(1), lambda d: d.zero_point(1, F32), 1,
                                    LOW, HIGH), formula=channel_formula),
    Case("fake_quantize_learnable_per_channel_affine_grad", lambda d: [d.x, d.scale(1), d.zero_point(1, F32), d.dy], 8, 4,
         {"axis": 1, **QMIN_QMAX}, "axis=1",
         torch=torch_call("_fake_quantize_learnable_per_channel_affine", lambda d: d.scale(1), lambda d: d.zero_point(1, F32), 1, LOW, HIGH,
                          grad=True)),
    Case("fused_moving_avg_obs_fake_quant", lambda d: [d.x, np.zeros(1, F32), ones(), ones(), np.zeros(1, np.int32)], 8, 4,
         torch=torch_fused),
    Case("quantize_per_tensor", x_of, 4, 1, {"scale": SCALE, "zero_point": ZERO_POINT}, torch=torch_codes, formula=affine_codes_formula),
    Case("dequantize_per_tensor", lambda d: [d.codes], 1, 4, {"scale": SCALE, "zero_point": ZERO_POINT}, torch=torch_values,
         formula=affine_values_formula),
    Case("min_max_observer", lambda d: [d.x, np.full((), np.inf, F32), np.full((), -np.inf, F32)], 4, 0,
         torch=lambda torch, d: (lambda x: lambda: torch.aminmax(x))(torch.from_numpy(d.x)),
         formula=lambda torch, d: ((lambda x: torch.aminmax(x)), (torch.from_numpy(d.x),))),
]

ONNX = [
    Case("onnx_quantize_linear", lambda d: [d.x, d.scale()[0], d.zero_point(dtype=np.uint8)[0]], 4, 1, formula=affine_codes_formula,
         onnx=onnx_call("QuantizeLinear", lambda d: {"x": d.x, "s": d.scale()[0], "z": d.zero_point(dtype=np.uint8)[0]})),
    Case("onnx_quantize_linear", lambda d: [d.x, d.scale(1), d.zero_point(1, np.uint8)], 4, 1, {"axis": 1}, "axis=1",
         onnx=onnx_call("QuantizeLinear", lambda d: {"x": d.x, "s": d.scale(1), "z": d.zero_point(1, np.uint8)}, axis=1)),
    Case("onnx_dequantize_linear", lambda d: [d.codes, d.scale()[0], d.zero_point(dtype=np.uint8)[0]], 1, 4, formula=affine_values_formula,
         onnx=onnx_call("DequantizeLinear", lambda d: {"x": d.codes, "s": d.scale()[0], "z": d.zero_point(dtype=np.uint8)[0]})),
    Case("dynamic_quantize_linear", x_of, 8, 1, onnx=onnx_call("DynamicQuantizeLinear", lambda d: {"x": d.x}, 3)),
]


def qlinear(d, *tensors):
    """Return codes with scale and zero point for each tensor, then those of the result."""
    scale, zero_point = np.asarray(F32(SCALE)), np.asarray(np.uint8(ZERO_POINT))
    return [part for tensor in tensors for part in (tensor, scale, zero_point)] + [scale, zero_point]


def qlinear_feeds(*names):
    return lambda d: {f"i{i}": part for i, part in enumerate(qlinear(d, *(getattr(d, name) for name in names)))}


MICROSOFT = {"domain": "com.microsoft"}
ONNX += [
    Case("qlinear_add", lambda d: qlinear(d, d.codes, d.other_codes), 2, 1,
         onnx=onnx_call("QLinearAdd", qlinear_feeds("codes", "other_codes"), **MICROSOFT)),
    Case("qlinear_leaky_relu", lambda d: qlinear(d, d.codes), 1, 1,
         onnx=onnx_call("QLinearLeakyRelu", qlinear_feeds("codes"), alpha=0.01, **MICROSOFT)),
    Case("qlinear_sigmoid", lambda d: qlinear(d, d.codes), 1, 1,
         onnx=onnx_call("QLinearSigmoid", qlinear_feeds("codes"), **MICROSOFT)),
]

FAMILY = OWN + PADDLE + TORCH + ONNX
