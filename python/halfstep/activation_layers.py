"""Activation functions as layers, with the names and defaults of torch.nn."""

from halfstep import ops
from halfstep.arrays import array
from halfstep.modules import Module
from halfstep.renamed import warn


class ReLU(Module):
    """Elementwise max(x, 0)."""

    def forward(self, x: array) -> array:
        return ops.relu(x)


class ReLU6(Module):
    """Elementwise x, limited to the range 0 to 6."""

    def forward(self, x: array) -> array:
        return ops.relu6(x)


class LeakyReLU(Module):
    """Elementwise x, or `negative_slope` * x below zero."""

    def __init__(self, negative_slope: float = 0.01) -> None:
        self.negative_slope = negative_slope

    def forward(self, x: array) -> array:
        return ops.leaky_relu(x, alpha=self.negative_slope)


class ELU(Module):
    """Elementwise x, or `alpha` * (exp(x) - 1) below zero."""

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def forward(self, x: array) -> array:
        return ops.elu(x, alpha=self.alpha)


class GELU(Module):
    """GELU by the error function, or with approximate="tanh" by the hyperbolic tangent."""

    def __init__(self, approximate: str = "none") -> None:
        if isinstance(approximate, bool):
            warn("GELU: approximate is 'none' or 'tanh', as in torch.nn")
            approximate = "tanh" if approximate else "none"
        if approximate not in ("none", "tanh"):
            raise ValueError(f"GELU: approximate: found {approximate!r}, expected 'none' or 'tanh'")
        self.approximate = approximate

    def forward(self, x: array) -> array:
        return ops.gelu(x, approximate=self.approximate == "tanh")


class SiLU(Module):
    """Elementwise x / (1 + exp(-x))."""

    def forward(self, x: array) -> array:
        return ops.silu(x)


class Mish(Module):
    """Elementwise x * tanh(log(1 + exp(x)))."""

    def forward(self, x: array) -> array:
        return ops.mish(x)


class Hardswish(Module):
    """Elementwise x * min(max(x + 3, 0), 6) / 6."""

    def forward(self, x: array) -> array:
        return ops.hard_swish(x)


class Hardsigmoid(Module):
    """Elementwise min(max(x + 3, 0), 6) / 6."""

    def forward(self, x: array) -> array:
        return ops.hard_sigmoid(x, alpha=1 / 6, beta=0.5)


class Softplus(Module):
    """Elementwise log(1 + exp(x))."""

    def forward(self, x: array) -> array:
        return ops.softplus(x)


class Tanh(Module):
    """Elementwise hyperbolic tangent."""

    def forward(self, x: array) -> array:
        return ops.tanh(x)


class Sigmoid(Module):
    """Elementwise 1 / (1 + exp(-x))."""

    def forward(self, x: array) -> array:
        return ops.sigmoid(x)


class Softmax(Module):
    """exp(x) divided by its sum along the axis `dim`."""

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, x: array) -> array:
        return ops.softmax(x, axis=self.dim)
