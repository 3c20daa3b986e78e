"""Networks made of layers, in Python alone.

    class Net(hs.nn.Module):
        def __init__(self):
            self.hidden, self.out = hs.nn.Linear(64, 32), hs.nn.Linear(32, 10)

        def forward(self, x):
            return self.out(self.hidden(x).relu())

A module holds only arrays and settings. Parameters are arrays that require a gradient, and buffers are the other
arrays. They are found in attributes, in modules, and in lists, tuples and dicts of both. Names and behaviour follow
torch.nn. Module.train() and Module.eval() set the mode of a module. Without either, hs.train_mode does. hs.device sets
where arrays are made, and hs.seed sets their initial random values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from halfstep import _core, ops
from halfstep.arrays import array, device, is_training, no_grad, ones, uniform, where, zeros
from halfstep.renamed import renamed, warn


def parameter(values: Any) -> array:
    """Return an array that training updates."""
    made = array(values).detach()
    made.requires_grad = True
    return made


def _uniform(shape: tuple[int, ...], bound: float) -> array:
    return parameter(uniform(shape, -bound, bound))


def _found(value: Any, name: str, met: list[Any]) -> Iterator[tuple[str, array]]:
    if isinstance(value, Module):
        parts = vars(value)
    elif isinstance(value, dict):
        parts = value
    elif isinstance(value, (list, tuple)):
        parts = {str(place): each for place, each in enumerate(value)}
    elif isinstance(value, array):
        parts = {}
    else:
        return
    if any(value is each for each in met):
        return
    met.append(value)
    if isinstance(value, array):
        yield name, value
    for key, each in parts.items():
        yield from _found(each, f"{name}.{key}" if name else str(key), met)


def _modules(value: Any, met: list[Any]) -> Iterator[Module]:
    if any(value is each for each in met):
        return
    met.append(value)
    if isinstance(value, Module):
        yield value
        value = list(vars(value).values())
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ():
        yield from _modules(each, met)


def _moved(value: Any, place: str, moved: list[tuple[array, array]]) -> Any:
    """Return the value with its arrays on the device. An array that occurs twice is moved once. Modules are left to
    Module.modules.
    """
    if isinstance(value, array):
        if value.place == place:
            return value
        for before, after in moved:
            if before is value:
                return after
        made = value.detach().to(place)
        made.requires_grad = value.requires_grad
        moved.append((value, made))
        return made
    if isinstance(value, (list, tuple)):
        return type(value)(_moved(each, place, moved) for each in value)
    if isinstance(value, dict):
        return {key: _moved(each, place, moved) for key, each in value.items()}
    return value


class Module:
    """Base class of layers and networks. `forward` defines the computation."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs of the module. Subclasses define it. Call the module itself to run it."""
        raise NotImplementedError(f"{type(self).__name__}: found no forward(), expected a method that computes the outputs")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    training: bool | None = None
    """Training mode of this module. None: use hs.train_mode."""

    def train(self, mode: bool = True) -> Module:
        """Set the mode of this module and its submodules: training, or with False evaluation. Return the module."""
        for each in self.modules():
            each.training = mode
        return self

    def eval(self) -> Module:
        """Set evaluation mode for this module and its submodules. Return the module."""
        return self.train(False)

    def modules(self) -> list[Module]:
        """Return this module and its submodules, each once."""
        return list(_modules(self, []))

    def to(self, device: str) -> Module:
        """Move parameters and buffers to a device: "cpu", "sim" or "cuda:0". Return the module.

        The parameters are new arrays. Make the optimizer after this call.
        """
        moved: list[tuple[array, array]] = []
        for each in self.modules():
            for name, value in vars(each).items():
                setattr(each, name, _moved(value, device, moved))
        return self

    def _is_training(self) -> bool:
        return is_training() if self.training is None else self.training

    def named_arrays(self) -> dict[str, array]:
        """Return parameters and buffers by name, such as "layers.0.weight". An array that occurs twice has its first
        name.
        """
        return dict(_found(self, "", []))

    def named_parameters(self) -> dict[str, array]:
        """Return the parameters by name."""
        return {name: each for name, each in self.named_arrays().items() if each.requires_grad}

    def parameters(self) -> list[array]:
        """Return the parameters."""
        return list(self.named_parameters().values())

    def buffers(self) -> list[array]:
        """Return the buffers."""
        return [each for each in self.named_arrays().values() if not each.requires_grad]

    def state_dict(self) -> dict[str, Any]:
        """Return copies of parameters and buffers as NumPy arrays."""
        return {name: each.numpy() for name, each in self.named_arrays().items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Assign the arrays of `state_dict`.

        Raises:
            Error: Names, types or shapes differ. Nothing is changed then.
        """
        own = self.named_arrays()
        wrong = [f"nothing for '{name}'" for name in own if name not in state]
        wrong += [f"'{name}', which the network does not have" for name in state if name not in own]
        given = {}
        for name in own.keys() & state.keys():
            with device(own[name].place):
                given[name] = array(state[name])
            found, expected = (f"{each.dtype}{list(each.shape)}" for each in (given[name], own[name]))
            if found != expected:
                wrong.append(f"'{name}' of {found}, expected {expected}")
        if wrong:
            raise _core.error("state_of_other_module", type(self).__name__, "; ".join(sorted(wrong)))
        with no_grad():
            for name, values in given.items():
                own[name].assign(values)

    def zero_grad(self) -> None:
        """Remove the gradients of all parameters."""
        for each in self.parameters():
            each.grad = None


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
        self.weight = _uniform((out_features, in_features), in_features**-0.5)
        self.bias = _uniform((out_features,), in_features**-0.5) if bias else None

    def forward(self, x: array) -> array:
        return ops.linear(x, self.weight, self.bias)


def _pair(value: int | tuple[int, int]) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else value


class Conv2d(Module):
    """Cross-correlation of images [n, in_channels, h, w], with zero padding. The result is [n, out_channels, h', w'].

    Initial values of weight and bias are uniform in +-1 / sqrt(in_channels / groups * kernel height * kernel width).
    Pairs of numbers are (height, width).
    """

    @renamed(channels="in_channels", outputs="out_channels", kernel="kernel_size")
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, int], stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] = 0, dilation: int | tuple[int, int] = 1, groups: int = 1, bias: bool = True,
    ) -> None:  # fmt: skip
        height, width = _pair(kernel_size)
        bound = (in_channels // groups * height * width) ** -0.5
        self.weight = _uniform((out_channels, in_channels // groups, height, width), bound)
        self.bias = _uniform((out_channels,), bound) if bias else None
        self.stride, self.dilation, self.groups = _pair(stride), _pair(dilation), groups
        self.pad = _pair(padding) * 2

    def forward(self, x: array) -> array:
        return ops.conv2d(x, self.weight, self.bias, groups=self.groups, stride=self.stride, dilation=self.dilation, pad=self.pad)


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
    def __init__(self, normalized_shape: int | tuple[int, ...], eps: float = 1e-5) -> None:
        dims = (normalized_shape,) if isinstance(normalized_shape, int) else normalized_shape
        self.weight, self.bias = parameter(ones(dims)), parameter(zeros(dims))
        self.eps = eps

    def forward(self, x: array) -> array:
        return ops.layer_norm(x, self.weight, self.bias, axis=-self.weight.ndim, epsilon=self.eps).out


class Embedding(Module):
    """Look up rows of a table [num_embeddings, embedding_dim] by integers. Initial values are uniform in +-1."""

    @renamed(count="num_embeddings", width="embedding_dim")
    def __init__(self, num_embeddings: int, embedding_dim: int) -> None:
        self.weight = _uniform((num_embeddings, embedding_dim), 1.0)

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
        with device(x.place):
            is_kept = uniform(x.shape) >= self.p
        return where(is_kept, x / (1 - self.p), 0.0)


class ReLU(Module):
    """Elementwise max(x, 0)."""
    def forward(self, x: array) -> array:
        return ops.relu(x)


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


class Tanh(Module):
    """Elementwise hyperbolic tangent."""
    def forward(self, x: array) -> array:
        return ops.tanh(x)


class Sigmoid(Module):
    """Elementwise 1 / (1 + exp(-x))."""
    def forward(self, x: array) -> array:
        return ops.sigmoid(x)


class MaxPool2d(Module):
    """Maximum of each window of images [n, c, h, w]. The default stride is the kernel size."""

    @renamed(kernel="kernel_size")
    def __init__(self, kernel_size: int | tuple[int, int], stride: int | tuple[int, int] | None = None, padding: int | tuple[int, int] = 0) -> None:
        self.kernel_size = _pair(kernel_size)
        self.stride = self.kernel_size if stride is None else _pair(stride)
        self.pad = _pair(padding) * 2

    def forward(self, x: array) -> array:
        return ops.max_pool2d(x, kernel=self.kernel_size, stride=self.stride, pad=self.pad)


class AvgPool2d(MaxPool2d):
    """Mean of each window of images [n, c, h, w]. Padding counts as zeros."""

    def forward(self, x: array) -> array:
        return ops.avg_pool2d(x, kernel=self.kernel_size, stride=self.stride, pad=self.pad)


class Flatten(Module):
    """Join the axes from `start_dim` on."""

    @renamed(axis="start_dim")
    def __init__(self, start_dim: int = 1) -> None:
        self.start_dim = start_dim

    def forward(self, x: array) -> array:
        return x.flatten(self.start_dim)


class Sequential(Module):
    """Apply layers in order."""

    def __init__(self, *layers: Module) -> None:
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
        bound, rows = hidden_size**-0.5, self.gates * hidden_size
        self.weight_ih = _uniform((rows, input_size), bound)
        self.weight_hh = _uniform((rows, hidden_size), bound)
        self.bias_ih = _uniform((rows,), bound) if bias else None
        self.bias_hh = _uniform((rows,), bound) if bias else None
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
