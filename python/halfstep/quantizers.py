"""Quantizers of your own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halfstep import _core
from halfstep._core import OwnQuantizer, QuantizerSite
from halfstep.arrays import array

class Quantizer:
    """A quantizer of your own, for `quantize(..., quantizers={SELECTOR: quantizer})`.

    A subclass defines `forward` and `gradient` with operators of halfstep.ops and of `array`. They are traced once for
    each quantized value, so they cannot read elements. The state is a dict of arrays with the shapes that
    `initial_state` returned. Training updates the entries for which `gradient` returns a derivative.

    A quantizer that also defines `scale` becomes integers. `forward` must then compute
    `(clamp(round(x / scale) + zero_point, code_min, code_max) - zero_point) * scale`, with the rounding of the platform.
    `convert` checks this.

    Attributes:
        weights: Whether a pattern of layers selects their weights, not their results.
        code_min: Least integer code. Default: that of the platform.
        code_max: Largest integer code.

    Example:
        class Ternary(hs.Quantizer):
            weights = True

            def initial_state(self, low, high):
                return {"step": (high - low) / 2}

            def forward(self, x, state):
                return hs.ops.round(x=x / state["step"]).clip(-1, 1) * state["step"]

            def gradient(self, x, state):
                return {"x": 1.0}
    """

    weights = False
    code_min: int | None = None
    code_max: int | None = None

    def initial_state(self, low: array, high: array) -> Mapping[str, Any]:
        """Return the state after calibration.

        Args:
            low: Least observed value, at most 0, with a shape that broadcasts against the quantized value: one number, or one for
                each output channel of a weight.
            high: Largest observed value.
        """
        return {}

    def forward(self, x: array, state: dict[str, array]) -> array:
        """Return the quantized values, with the type and shape of x."""
        raise NotImplementedError

    def gradient(self, x: array, state: dict[str, array]) -> Mapping[str, Any]:
        """Return the derivative of each element of the result with respect to "x" and to entries of the state, by name.

        Each broadcasts to the shape of x.
        """
        raise NotImplementedError

    def scale(self, state: dict[str, array]) -> array:
        """Return the distance of two levels: one number, or one for each output channel of a weight."""
        raise NotImplementedError

    def zero_point(self, state: dict[str, array]) -> Any:
        """Return the code of 0. Default: 0."""
        return 0.0

    @property
    def name(self) -> str:
        """Name of the quantizer in reports and messages: that of its class."""
        return type(self).__name__


def _at(layer: str, error: Any) -> Any:
    """Return the error with its layer."""
    error.layer = error.diagnostics[0]["layer"] = layer
    return error


def _defines(quantizer: Quantizer, method: str) -> bool:
    return getattr(type(quantizer), method) is not getattr(Quantizer, method)


def check(quantizers: Mapping[str, Any]) -> None:
    """Check that the quantizers have the methods that they need.

    Raises:
        TypeError: A value is not a Quantizer.
        Error: A class lacks a method.
    """
    for selector, quantizer in quantizers.items():
        if not isinstance(quantizer, Quantizer):
            raise TypeError(f"quantizers: {selector!r}: found {quantizer!r}, expected a halfstep.Quantizer")
        for method in ("forward", "gradient"):
            if not _defines(quantizer, method):
                raise _at(selector, _core.error("own_quantizer_without_method", selector, quantizer.name, method))


def _array(quantizer: Quantizer, site: QuantizerSite, name: str, value: Any) -> array:
    try:
        made = array(value)
        return made if made.dtype == "f32" or name == "result" else made.astype("f32")
    except TypeError as error:
        found = type(value).__name__
        raise _at(site.layer, _core.error("own_quantizer_result", site.layer, quantizer.name, name, found, "an array of f32")) from error


def _network(quantizer: Quantizer, site: QuantizerSite, state: dict[str, array]) -> Any:
    """Trace the methods of a quantizer for a site."""
    outputs: list[str] = []

    def run(given: list[array]) -> list[array]:
        def entries() -> dict[str, array]:
            return dict(zip(state, given[1:]))

        values: dict[str, Any] = {"result": quantizer.forward(given[0], entries())}
        derivatives = quantizer.gradient(given[0], entries())
        unknown = sorted(derivatives.keys() - {"x", *state})
        if unknown or "x" not in derivatives:
            found, expected = ", ".join(derivatives) or "none", ", ".join(["x", *state])
            raise _at(site.layer, _core.error("own_quantizer_gradient", site.layer, quantizer.name, found, expected))
        values.update((f"derivative.{name}", value) for name, value in derivatives.items())
        if _defines(quantizer, "scale"):
            values.update(scale=quantizer.scale(entries()), zero_point=quantizer.zero_point(entries()))
        outputs[:] = values
        return [_array(quantizer, site, name, value) for name, value in values.items()]

    inputs: list[tuple[str, str, list[int | None]]] = [("x", str(site.type[0]), list(site.type[1]))]
    inputs.extend((name, "f32", list[int | None](value.shape)) for name, value in state.items())
    return _core.network_of_function(quantizer.name, inputs, run, outputs, lambda _: "")


def put(network: Any, quantizers: Mapping[str, Quantizer]) -> tuple[Any, str, str]:
    """Replace quantizers of a prepared network. Return the network and its report as text and JSON."""
    chosen: dict[str, tuple[Quantizer, list[QuantizerSite]]] = {}
    for selector, quantizer in quantizers.items():
        sites: dict[str, list[QuantizerSite]] = {}
        for site in _core.quantizer_sites(network, selector, quantizer.weights):
            sites.setdefault(site.scale, []).append(site)
        chosen.update((scale, (quantizer, of_scale)) for scale, of_scale in sites.items())
    own: list[OwnQuantizer] = []
    for scale, (quantizer, of_scale) in chosen.items():
        first = of_scale[0]
        low, high = array(first.low), array(first.high)
        state = {name: array(value, "f32") for name, value in quantizer.initial_state(low, high).items()}
        networks = {site.quantizer: _network(quantizer, site, state) for site in of_scale}
        codes = None if quantizer.code_min is None or quantizer.code_max is None else (quantizer.code_min, quantizer.code_max)
        elements = {name: value.elements() for name, value in state.items()}
        own.append(
            OwnQuantizer(name=quantizer.name, layer=first.layer, scale=scale, state=elements, networks=networks, codes=codes)
        )
    return _core.put_quantizers(network, own)
