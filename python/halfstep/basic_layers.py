"""Layers that need no spatial axes and no sequences, and losses. halfstep.nn has all layers."""

from __future__ import annotations

from typing import Any

from halfstep import _core, ops
from halfstep.arrays import array
from halfstep.creation import normal, ones, zeros
from halfstep.modules import Module, parameter, unsupported, within
from halfstep.renamed import renamed, warn


class Linear(Module):
    """Linear layer: x @ weight.T + bias.

    Initial values of weight and bias are uniform in +-1 / sqrt(in_features).

    Args:
        in_features: Extent of the last axis of x.
        out_features: Extent of the last axis of the result.
        bias: Whether to add a bias.
    """

    @renamed(inputs="in_features", outputs="out_features")
    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        self.weight = within((out_features, in_features), in_features)
        self.bias = within((out_features,), in_features) if bias else None

    def forward(self, x: array) -> array:
        result: array = _core.linear(x, self.weight, self.bias)
        return result


class BatchNorm2d(Module):
    """Normalize the channels of [n, num_features, h, w]: in training mode by the batch, else by `running_mean` and
    `running_var`.

    Each training step updates both: running = (1 - momentum) * running + momentum * batch. The variance in
    `running_var` divides by the number of elements less one, as in torch.nn.
    """

    @renamed(channels="num_features", epsilon="eps")
    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1) -> None:
        if momentum > 0.5:
            warn("BatchNorm2d: momentum is the share of the new batch, as in torch.nn, and no longer that of the old statistics")
        self.weight, self.bias = parameter(ones((num_features,))), parameter(zeros((num_features,)))
        self.running_mean, self.running_var = zeros((num_features,)), ones((num_features,))
        self.eps, self.momentum = eps, momentum

    def forward(self, x: array) -> array:
        given = (x, self.weight, self.bias, self.running_mean, self.running_var)
        if not self._is_training():
            return ops.batch_norm(*given, epsilon=self.eps).out
        found = ops.batch_norm(*given, epsilon=self.eps, momentum=1 - self.momentum, is_test=False)
        self.running_mean.assign(found.mean_out.detach())
        self.running_var.assign(found.variance_out.detach())
        return found.out


class LayerNorm(Module):
    """Normalize over the last axes, whose shape is `normalized_shape`."""

    @renamed(shape="normalized_shape", epsilon="eps")
    def __init__(self, normalized_shape: int | tuple[int, ...], eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True) -> None:
        unsupported("LayerNorm", {"elementwise_affine": (elementwise_affine, True)})
        dims = (normalized_shape,) if isinstance(normalized_shape, int) else normalized_shape
        self.weight, self.bias = parameter(ones(dims)), parameter(zeros(dims)) if bias else None
        self.eps = eps

    def forward(self, x: array) -> array:
        return ops.layer_norm(x, self.weight, self.bias, axis=-self.weight.ndim, epsilon=self.eps).out


class Embedding(Module):
    """Look up rows of a table [num_embeddings, embedding_dim] by integers. Initial values are normally distributed."""

    @renamed(count="num_embeddings", width="embedding_dim")
    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, sparse: bool = False,
    ) -> None:  # fmt: skip
        unsupported("Embedding", {
            "padding_idx": (padding_idx, None), "max_norm": (max_norm, None), "scale_grad_by_freq": (scale_grad_by_freq, False), "sparse": (sparse, False),
        })  # fmt: skip
        self.weight = parameter(normal((num_embeddings, embedding_dim)))

    def forward(self, ids: array) -> array:
        return ops.gather(self.weight, ids.astype("i64"), axis=0)


class Dropout(Module):
    """In training mode, set each element to zero with probability `p` and divide the others by 1 - p.

    Raises:
        Error: `p` is not in [0, 1).
    """

    @renamed(rate="p")
    def __init__(self, p: float = 0.5) -> None:
        if not 0 <= p < 1:
            raise _core.error("dropout_rate_out_of_range", p)
        self.p = p

    def forward(self, x: array) -> array:
        if not self._is_training() or self.p == 0:
            return x
        result: array = _core.dropout(x, self.p)
        return result


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


class Flatten(Module):
    """Join the axes from `start_dim` on."""

    @renamed(axis="start_dim")
    def __init__(self, start_dim: int = 1) -> None:
        self.start_dim = start_dim

    def forward(self, x: array) -> array:
        return x.flatten(self.start_dim)


class Sequential(Module):
    """Apply layers in order. They are called "0", "1", ..."""

    def __init__(self, *layers: Module) -> None:
        for place, layer in enumerate(layers):
            setattr(self, str(place), layer)
        self.layers = list(layers)

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, place: int) -> Module:
        return self.layers[place]

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


class RNNCell(Module):
    """Compute the next h [n, hidden_size] of x [n, input_size]: tanh(x @ weight_ih.T + bias_ih + h @ weight_hh.T +
    bias_hh).

    Initial values are uniform in +-1 / sqrt(hidden_size).
    """

    gates = 1

    @renamed(inputs="input_size", width="hidden_size")
    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None:
        rows = self.gates * hidden_size
        self.weight_ih = within((rows, input_size), hidden_size)
        self.weight_hh = within((rows, hidden_size), hidden_size)
        self.bias_ih = within((rows,), hidden_size) if bias else None
        self.bias_hh = within((rows,), hidden_size) if bias else None
        self.hidden_size = hidden_size

    def _sums(self, x: array, h: array) -> array:
        return ops.linear(x, self.weight_ih, self.bias_ih) + ops.linear(h, self.weight_hh, self.bias_hh)

    def forward(self, x: array, h: Any) -> Any:
        return ops.tanh(self._sums(x, h))


class LSTMCell(RNNCell):
    """Compute the next state (h, c) of a long short-term memory. Call it with x and (h, c).

    Rows of the weights are the gates input, forget, cell, output.
    """

    gates = 4

    def forward(self, x: array, state: tuple[array, array]) -> tuple[array, array]:
        h, c = state
        sums = self._sums(x, h)
        taken, kept, cell, given = (sums[:, place * self.hidden_size : (place + 1) * self.hidden_size] for place in range(4))
        c = ops.sigmoid(kept) * c + ops.sigmoid(taken) * ops.tanh(cell)
        return ops.sigmoid(given) * ops.tanh(c), c


def cross_entropy(logits: array, labels: array) -> array:
    """Return the mean of -log softmax(logits)[label] over samples.

    Args:
        logits: [n, classes, ...].
        labels: [n, ...] of i32 or i64.
    """
    return ops.softmax_cross_entropy_loss(logits, labels).loss


def mse_loss(input: array, target: Any) -> array:
    """Return the mean squared difference."""
    difference: array = input - target
    return (difference * difference).mean()


def mse(found: array, expected: Any) -> array:
    """Former name of mse_loss."""
    warn("nn.mse is now nn.mse_loss")
    return mse_loss(found, expected)
