"""Optimizers. The learning rate is an array, so it may change between steps of a captured function."""

from __future__ import annotations

from collections.abc import Iterable
from halfstep import _core, ops
from halfstep.arrays import array
from halfstep.creation import full, ones, zeros_like
from halfstep.switches import device, no_grad


class _Optimizer:
    def __init__(self, parameters: Iterable[array], learning_rate: float) -> None:
        self.learned = list(parameters)
        if not self.learned or not all(each.requires_grad for each in self.learned):
            raise _core.error("parameters_without_gradient", type(self).__name__, len(self.learned))
        with device(self.learned[0].place):
            self.rate = full((1,), learning_rate)

    @property
    def learning_rate(self) -> float:
        """Current learning rate."""
        return float(self.rate)

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        with device(self.rate.place):
            self.rate.assign(full((1,), value))

    def zero_grad(self) -> None:
        """Remove the gradients of all parameters."""
        for each in self.learned:
            each.grad = None

    def step(self) -> None:
        """Update each parameter that has a gradient."""
        with no_grad():
            for place, each in enumerate(self.learned):
                if each.grad is not None:
                    self._update(each, each.grad, place)

    def _update(self, parameter: array, gradient: array, place: int) -> None:
        raise NotImplementedError


def _like(parameter: array) -> array:
    with no_grad():
        return zeros_like(parameter)


def _one_at(parameter: array) -> array:
    with device(parameter.place):
        return ones((1,))


class SGD(_Optimizer):
    """Stochastic gradient descent.

    velocity = momentum * velocity + gradient + weight_decay * parameter. Each step subtracts learning_rate * velocity.

    Args:
        parameters: Arrays that require a gradient.
        learning_rate: Step size.
        momentum: Share of the velocity that is kept. Default: 0.
        weight_decay: Default: 0.

    Raises:
        Error: There is no parameter, or one does not require a gradient.
    """

    def __init__(self, parameters: Iterable[array], learning_rate: float, momentum: float = 0.0, weight_decay: float = 0.0) -> None:
        super().__init__(parameters, learning_rate)
        self.momentum, self.weight_decay = momentum, weight_decay
        self.velocities = [_like(each) for each in self.learned]

    def _update(self, parameter: array, gradient: array, place: int) -> None:
        velocity = self.velocities[place]
        found = ops.sgd_momentum(parameter, gradient, velocity, self.rate, momentum=self.momentum, weight_decay=self.weight_decay)
        parameter.assign(found.param_out)
        velocity.assign(found.velocity_out)


class Adam(_Optimizer):
    """Adam (Kingma and Ba, 2015), with decoupled weight decay (Loshchilov and Hutter, 2019).

    Args:
        parameters: Arrays that require a gradient.
        learning_rate: Step size.
        betas: Decay rates of the two moments.
        epsilon: Added to the denominator.
        weight_decay: Default: 0.

    Raises:
        Error: There is no parameter, or one does not require a gradient.
    """

    def __init__(
        self, parameters: Iterable[array], learning_rate: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8, weight_decay: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(parameters, learning_rate)
        self.betas, self.epsilon, self.weight_decay = betas, epsilon, weight_decay
        self.moments = [(_like(each), _like(each)) for each in self.learned]
        self.powers = [(_one_at(each), _one_at(each)) for each in self.learned]

    def _update(self, parameter: array, gradient: array, place: int) -> None:
        (moment1, moment2), (power1, power2), (beta1, beta2) = self.moments[place], self.powers[place], self.betas
        found = ops.adam(
            parameter, gradient, moment1, moment2, power1, power2, self.rate,
            beta1=beta1, beta2=beta2, epsilon=self.epsilon, weight_decay=self.weight_decay,
        )  # fmt: skip
        for each, following in zip((parameter, moment1, moment2, power1, power2), found):
            each.assign(following)
