"""Networks out of layers, in Python alone.

    class Net(hs.nn.Module):
        def __init__(self):
            self.hidden, self.out = hs.nn.Linear(64, 32), hs.nn.Linear(32, 10)

        def forward(self, x):
            return self.out(self.hidden(x).relu())

A module holds arrays and settings, and nothing else: parameters are arrays that require a gradient, buffers those that
do not. They are found in its attributes, in modules there, and in lists, tuples and dicts of both. Whether a layer is in
training says hs.train_mode, where arrays are made hs.device, what numbers they begin with hs.seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from halfstep import _core, ops
from halfstep.arrays import array, device, is_training, no_grad, ones, uniform, where, zeros


def parameter(values: Any) -> array:
    """An array that is learned."""
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


class Module:
    """What layers and networks inherit from: they say what `forward` computes."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: found no forward(), expected a method that computes the outputs")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def named_arrays(self) -> dict[str, array]:
        """Parameters and buffers by their names, such as "layers.0.weight"; one that is there twice has its first name."""
        return dict(_found(self, "", []))

    def named_parameters(self) -> dict[str, array]:
        return {name: each for name, each in self.named_arrays().items() if each.requires_grad}

    def parameters(self) -> list[array]:
        return list(self.named_parameters().values())

    def buffers(self) -> list[array]:
        return [each for each in self.named_arrays().values() if not each.requires_grad]

    def state_dict(self) -> dict[str, Any]:
        """Copies of parameters and buffers as arrays of NumPy."""
        return {name: each.numpy() for name, each in self.named_arrays().items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Assigns what state_dict gave. Raises Error, and nothing is changed, where names, types or extents differ."""
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
            raise _core.Error(f"load_state_dict: {type(self).__name__}: found {'; '.join(sorted(wrong))}")
        with no_grad():
            for name, values in given.items():
                own[name].assign(values)

    def zero_grad(self) -> None:
        for each in self.parameters():
            each.grad = None


class Linear(Module):
    """x @ weight.T + bias. Both begin uniform within 1 / sqrt(inputs) of zero."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        self.weight = _uniform((outputs, inputs), inputs**-0.5)
        self.bias = _uniform((outputs,), inputs**-0.5) if bias else None

    def forward(self, x: array) -> array:
        return ops.linear(x, self.weight, self.bias)


def _pair(value: int | tuple[int, int]) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else value


class Conv2d(Module):
    """Cross-correlation of images [n, c, h, w]. Weights and bias begin uniform within 1 / sqrt(channels / groups * kernel) of zero."""

    def __init__(
        self, channels: int, outputs: int, kernel: int | tuple[int, int], stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] = 0, dilation: int | tuple[int, int] = 1, groups: int = 1, bias: bool = True,
    ) -> None:  # fmt: skip
        height, width = _pair(kernel)
        bound = (channels // groups * height * width) ** -0.5
        self.weight = _uniform((outputs, channels // groups, height, width), bound)
        self.bias = _uniform((outputs,), bound) if bias else None
        self.stride, self.dilation, self.groups = _pair(stride), _pair(dilation), groups
        self.pad = _pair(padding) * 2

    def forward(self, x: array) -> array:
        return ops.conv2d(x, self.weight, self.bias, groups=self.groups, stride=self.stride, dilation=self.dilation, pad=self.pad)


class BatchNorm2d(Module):
    """Normalizes channels: in training by the batch, whose statistics go into `mean` and `variance`; else by these."""

    def __init__(self, channels: int, epsilon: float = 1e-5, momentum: float = 0.9) -> None:
        self.weight, self.bias = parameter(ones((channels,))), parameter(zeros((channels,)))
        self.mean, self.variance = zeros((channels,)), ones((channels,))
        self.epsilon, self.momentum = epsilon, momentum

    def forward(self, x: array) -> array:
        given = (x, self.weight, self.bias, self.mean, self.variance)
        if not is_training():
            return ops.batch_norm(*given, epsilon=self.epsilon, momentum=self.momentum).out
        found = ops.batch_norm(*given, epsilon=self.epsilon, momentum=self.momentum, is_test=False)
        self.mean.assign(found.mean_out.detach())
        self.variance.assign(found.variance_out.detach())
        return found.out


class LayerNorm(Module):
    """Normalizes over the last axes, which have the extents of `shape`."""

    def __init__(self, shape: int | tuple[int, ...], epsilon: float = 1e-5) -> None:
        dims = (shape,) if isinstance(shape, int) else shape
        self.weight, self.bias = parameter(ones(dims)), parameter(zeros(dims))
        self.epsilon = epsilon

    def forward(self, x: array) -> array:
        return ops.layer_norm(x, self.weight, self.bias, axis=-self.weight.ndim, epsilon=self.epsilon).out


class Embedding(Module):
    """Rows of a table by whole numbers. It begins uniform within 1 of zero."""

    def __init__(self, count: int, width: int) -> None:
        self.weight = _uniform((count, width), 1.0)

    def forward(self, ids: array) -> array:
        return ops.gather(self.weight, ids.astype("i64"), axis=0)


class Dropout(Module):
    """In training zeroes each element with probability `rate` and divides the others by 1 - rate."""

    def __init__(self, rate: float = 0.5) -> None:
        if not 0 <= rate < 1:
            raise _core.Error(f"Dropout: found rate {rate}, expected 0 or more and less than 1")
        self.rate = rate

    def forward(self, x: array) -> array:
        if not is_training() or self.rate == 0:
            return x
        with device(x.place):
            is_kept = uniform(x.shape) >= self.rate
        return where(is_kept, x / (1 - self.rate), 0.0)


class ReLU(Module):
    def forward(self, x: array) -> array:
        return ops.relu(x)


class GELU(Module):
    """By the error function; approximate: by the hyperbolic tangent."""

    def __init__(self, approximate: bool = False) -> None:
        self.approximate = approximate

    def forward(self, x: array) -> array:
        return ops.gelu(x, approximate=self.approximate)


class Tanh(Module):
    def forward(self, x: array) -> array:
        return ops.tanh(x)


class Sigmoid(Module):
    def forward(self, x: array) -> array:
        return ops.sigmoid(x)


class MaxPool2d(Module):
    """The largest value of each window; the stride is the kernel where none is given."""

    def __init__(self, kernel: int | tuple[int, int], stride: int | tuple[int, int] | None = None, padding: int | tuple[int, int] = 0) -> None:
        self.kernel = _pair(kernel)
        self.stride = self.kernel if stride is None else _pair(stride)
        self.pad = _pair(padding) * 2

    def forward(self, x: array) -> array:
        return ops.max_pool2d(x, kernel=self.kernel, stride=self.stride, pad=self.pad)


class AvgPool2d(MaxPool2d):
    """The mean of each window, in which padding counts as zeros."""

    def forward(self, x: array) -> array:
        return ops.avg_pool2d(x, kernel=self.kernel, stride=self.stride, pad=self.pad)


class Flatten(Module):
    """Joins the axes from `axis` on."""

    def __init__(self, axis: int = 1) -> None:
        self.axis = axis

    def forward(self, x: array) -> array:
        return x.flatten(self.axis)


class Sequential(Module):
    """One after the other."""

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
    """tanh(x @ weight.T + bias + h @ recurrent.T), the next h. All begin uniform within 1 / sqrt(width) of zero."""

    gates = 1

    def __init__(self, inputs: int, width: int) -> None:
        bound = width**-0.5
        self.weight = _uniform((self.gates * width, inputs), bound)
        self.recurrent = _uniform((self.gates * width, width), bound)
        self.bias = _uniform((self.gates * width,), bound)
        self.width = width

    def _sums(self, x: array, h: array) -> array:
        return ops.linear(x, self.weight, self.bias) + ops.linear(h, self.recurrent)

    def forward(self, x: array, h: Any) -> Any:
        return ops.tanh(self._sums(x, h))


class LSTMCell(RNNCell):
    """The next (h, c) of a long short-term memory; rows of the weights are its gates input, forget, cell, output."""

    gates = 4

    def forward(self, x: array, state: tuple[array, array]) -> tuple[array, array]:
        h, c = state
        sums = self._sums(x, h)
        taken, kept, cell, given = (sums[:, place * self.width : (place + 1) * self.width] for place in range(4))
        c = ops.sigmoid(kept) * c + ops.sigmoid(taken) * ops.tanh(cell)
        return ops.sigmoid(given) * ops.tanh(c), c


def cross_entropy(logits: array, labels: array) -> array:
    """The mean of -log softmax(logits)[label] over samples; logits [n, classes, ...], labels [n, ...] of i32 or i64."""
    return ops.softmax_cross_entropy_loss(logits, labels).loss


def mse(found: array, expected: Any) -> array:
    """The mean of the squared differences."""
    difference: array = found - expected
    return (difference * difference).mean()
