"""Layers over spatial axes: arrays [n, c, ...] with 1, 2 or 3 axes after the channels. halfstep.nn has all layers.

A number stands for all axes, and a tuple has one number for each.
"""

from __future__ import annotations

from typing import Any

from halfstep import _core
from halfstep.arrays import array
from halfstep.creation import full, ones, zeros
from halfstep.modules import Module, parameter, unsupported, within
from halfstep.renamed import renamed

_PAD_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _numbers(value: Any, axes: int, setting: str) -> list[int]:
    numbers = [value] * axes if isinstance(value, int) else list(value)
    if len(numbers) != axes:
        raise _core.error("layer_setting_invalid", setting, repr(value), f"1 or {axes} numbers")
    return numbers


class _Conv(Module):
    axes = 0

    @renamed(channels="in_channels", outputs="out_channels", kernel="kernel_size")
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] = 1,
        padding: int | str | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros",
    ) -> None:  # fmt: skip
        kernel = self._by_axis("kernel_size", kernel_size)
        _check_groups(type(self).__name__, in_channels, out_channels, groups)
        if padding_mode not in _PAD_MODES:
            raise _core.error("layer_setting_invalid", f"{type(self).__name__}: padding_mode", repr(padding_mode), ", ".join(_PAD_MODES))
        self.stride, self.dilation = self._by_axis("stride", stride), self._by_axis("dilation", dilation)
        self.pad = self._pads(padding, kernel)
        self.pad_mode, self.groups = _PAD_MODES[padding_mode], groups
        fan_in = in_channels // groups * _product(kernel)
        self.weight = within((out_channels, in_channels // groups, *kernel), fan_in)
        self.bias = within((out_channels,), fan_in) if bias else None

    def _by_axis(self, name: str, value: Any) -> list[int]:
        return _numbers(value, self.axes, f"{type(self).__name__}: {name}")

    def _pads(self, padding: Any, kernel: list[int]) -> list[int]:
        """Return the padding before each axis, then after each."""
        if padding == "same" and max(self.stride) == 1:
            whole = [(extent - 1) * step for extent, step in zip(kernel, self.dilation)]
            return [each // 2 for each in whole] + [each - each // 2 for each in whole]
        if isinstance(padding, str) and padding != "valid":
            raise _core.error("layer_setting_invalid", f"{type(self).__name__}: padding", repr(padding), "numbers, 'valid', or 'same' with a stride of 1")
        return self._by_axis("padding", 0 if padding == "valid" else padding) * 2

    def forward(self, x: array) -> array:
        result: array = _core.conv(x, self.weight, self.bias, self.stride, self.dilation, self.pad, self.groups, self.pad_mode)
        return result


def _product(numbers: list[int]) -> int:
    product = 1
    for number in numbers:
        product *= number
    return product


def _check_groups(layer: str, in_channels: int, out_channels: int, groups: int) -> None:
    if groups < 1 or in_channels % groups or out_channels % groups:
        raise _core.error("layer_setting_invalid", f"{layer}: groups", str(groups), f"a divisor of {in_channels} and {out_channels} channels")


class Conv1d(_Conv):
    """Cross-correlation of [n, in_channels, length]. Padding is zeros, or with padding_mode "reflect", "replicate" or
    "circular". padding="same" keeps the length.

    Initial values of weight and bias are uniform in +-1 / sqrt(in_channels / groups * elements of the kernel). The
    layer is computed as a Conv2d of images of height 1.
    """

    axes = 1


class Conv2d(_Conv):
    """Cross-correlation of images [n, in_channels, h, w]. Pairs of numbers are (height, width). See Conv1d."""

    axes = 2


class Conv3d(_Conv):
    """Cross-correlation of volumes [n, in_channels, d, h, w]. See Conv1d."""

    axes = 3


class _ConvTranspose(Module):
    axes = 0

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] = 1,
        padding: int | tuple[int, ...] = 0, output_padding: int | tuple[int, ...] = 0, groups: int = 1, bias: bool = True,
        dilation: int | tuple[int, ...] = 1, padding_mode: str = "zeros",
    ) -> None:  # fmt: skip
        name = type(self).__name__
        unsupported(name, {"padding_mode": (padding_mode, "zeros")})
        _check_groups(name, in_channels, out_channels, groups)
        kernel, self.stride, pad, self.output_padding, self.dilation = (
            _numbers(value, self.axes, f"{name}: {setting}")
            for setting, value in (
                ("kernel_size", kernel_size), ("stride", stride), ("padding", padding), ("output_padding", output_padding), ("dilation", dilation),
            )
        )  # fmt: skip
        self.pad, self.groups = pad * 2, groups
        fan_in = out_channels // groups * _product(kernel)
        self.weight = within((in_channels, out_channels // groups, *kernel), fan_in)
        self.bias = within((out_channels,), fan_in) if bias else None

    def forward(self, x: array) -> array:
        result: array = _core.conv_transpose(x, self.weight, self.bias, self.stride, self.dilation, self.pad, self.groups, self.output_padding)
        return result


class ConvTranspose1d(_ConvTranspose):
    """Transposed convolution of [n, in_channels, length].

    Initial values of weight and bias are uniform in +-1 / sqrt(out_channels / groups * elements of the kernel).
    """

    axes = 1


class ConvTranspose2d(_ConvTranspose):
    """Transposed convolution of images [n, in_channels, h, w]. See ConvTranspose1d."""

    axes = 2


class ConvTranspose3d(_ConvTranspose):
    """Transposed convolution of volumes [n, in_channels, d, h, w]. See ConvTranspose1d."""

    axes = 3


class _Pool(Module):
    axes = 0

    def _windows(self, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool) -> None:
        name = type(self).__name__
        self.kernel_size = _numbers(kernel_size, self.axes, f"{name}: kernel_size")
        self.stride = self.kernel_size if stride is None else _numbers(stride, self.axes, f"{name}: stride")
        self.pad, self.ceil_mode = _numbers(padding, self.axes, f"{name}: padding") * 2, ceil_mode


class _MaxPool(_Pool):
    @renamed(kernel="kernel_size")
    def __init__(
        self, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] | None = None, padding: int | tuple[int, ...] = 0,
        dilation: int | tuple[int, ...] = 1, return_indices: bool = False, ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        unsupported(type(self).__name__, {"return_indices": (return_indices, False)})
        self._windows(kernel_size, stride, padding, ceil_mode)
        self.dilation = _numbers(dilation, self.axes, f"{type(self).__name__}: dilation")

    def forward(self, x: array) -> array:
        result: array = _core.max_pool(x, self.kernel_size, self.stride, self.dilation, self.pad, self.ceil_mode)
        return result


class MaxPool1d(_MaxPool):
    """Maximum of each window of [n, c, length]. The default stride is the kernel size. Padding is never selected.
    ceil_mode adds a last window that is not complete.
    """

    axes = 1


class MaxPool2d(_MaxPool):
    """Maximum of each window of images [n, c, h, w]. See MaxPool1d."""

    axes = 2


class MaxPool3d(_MaxPool):
    """Maximum of each window of volumes [n, c, d, h, w]. See MaxPool1d."""

    axes = 3


class AvgPool1d(_Pool):
    """Mean of each window of [n, c, length]. The default stride is the kernel size. Padding counts as zeros, or with
    count_include_pad=False not at all.
    """

    axes = 1

    def __init__(
        self, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] | None = None, padding: int | tuple[int, ...] = 0,
        ceil_mode: bool = False, count_include_pad: bool = True,
    ) -> None:  # fmt: skip
        self._windows(kernel_size, stride, padding, ceil_mode)
        self.count_include_pad = count_include_pad

    def forward(self, x: array) -> array:
        result: array = _core.avg_pool(x, self.kernel_size, self.stride, self.pad, self.ceil_mode, self.count_include_pad)
        return result


class AvgPool2d(AvgPool1d):
    """Mean of each window of images [n, c, h, w]. See AvgPool1d."""

    axes = 2

    @renamed(kernel="kernel_size")
    def __init__(
        self, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] | None = None, padding: int | tuple[int, ...] = 0,
        ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> None:  # fmt: skip
        unsupported(type(self).__name__, {"divisor_override": (divisor_override, None)})
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)


class AvgPool3d(AvgPool2d):
    """Mean of each window of volumes [n, c, d, h, w]. See AvgPool1d."""

    axes = 3


class _InstanceNorm(Module):
    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False, track_running_stats: bool = False) -> None:
        unsupported(type(self).__name__, {"track_running_stats": (track_running_stats, False)})
        self.num_features, self.eps = num_features, eps
        self.weight = parameter(ones((num_features,))) if affine else None
        self.bias = parameter(zeros((num_features,))) if affine else None

    def forward(self, x: array) -> array:
        result: array = _core.instance_norm(x, self.weight, self.bias, self.num_features, self.eps)
        return result


class InstanceNorm1d(_InstanceNorm):
    """Normalize each channel of each sample of [n, num_features, length]. With affine=True, weight and bias scale and
    move the channels. `momentum` has no effect, because there are no running statistics.
    """


class InstanceNorm2d(_InstanceNorm):
    """Normalize each channel of each image of [n, num_features, h, w]. See InstanceNorm1d."""


class InstanceNorm3d(_InstanceNorm):
    """Normalize each channel of each volume of [n, num_features, d, h, w]. See InstanceNorm1d."""


class GroupNorm(Module):
    """Normalize `num_groups` groups of neighbouring channels of each sample of [n, num_channels, ...]."""

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True) -> None:
        if num_groups < 1 or num_channels % num_groups:
            raise _core.error("layer_setting_invalid", "GroupNorm: num_groups", str(num_groups), f"a divisor of {num_channels} channels")
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.weight = parameter(ones((num_channels,))) if affine else None
        self.bias = parameter(zeros((num_channels,))) if affine else None

    def forward(self, x: array) -> array:
        result: array = _core.group_norm(x, self.weight, self.bias, self.num_channels, self.num_groups, self.eps)
        return result


class PReLU(Module):
    """x, or below zero weight * x, with one weight or one for each channel of axis 1."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25) -> None:
        self.weight = parameter(full((num_parameters,), init))

    def forward(self, x: array) -> array:
        result: array = _core.prelu(x, self.weight)
        return result


class Upsample(Module):
    """Other spatial extents of [n, c, ...], by resampling.

    Args:
        size: Extents of the result.
        scale_factor: Factors of the extents, instead of `size`.
        mode: "nearest", or "linear" (1 axis), "bilinear" or "bicubic" (2 axes), "trilinear" (3 axes).
        align_corners: Whether the centers of the corner elements stay in place, not their outer corners.
    """

    def __init__(
        self, size: int | tuple[int, ...] | None = None, scale_factor: float | tuple[float, ...] | None = None, mode: str = "nearest",
        align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    ) -> None:  # fmt: skip
        if (size is None) == (scale_factor is None):
            raise _core.error("layer_setting_invalid", "Upsample: size", f"{size!r} with scale_factor {scale_factor!r}", "one of the two")
        modes = ("nearest", "linear", "bilinear", "bicubic", "trilinear")
        if mode not in modes:
            raise _core.error("layer_setting_invalid", "Upsample: mode", repr(mode), ", ".join(modes))
        if mode == "nearest" and align_corners is not None:
            raise _core.error("layer_setting_invalid", "Upsample: align_corners", repr(align_corners), "None with mode 'nearest'")
        self.size: list[int] = [] if size is None else [size] if isinstance(size, int) else list(size)
        scales = () if scale_factor is None else (scale_factor,) if isinstance(scale_factor, (int, float)) else scale_factor
        self.scales = [float(each) for each in scales]
        unsupported("Upsample", {"recompute_scale_factor": (recompute_scale_factor or None, None)})
        if align_corners and not all(each.is_integer() for each in self.scales):  # The extents of the result would count.
            raise _core.error("layer_setting_unsupported", "Upsample: align_corners", f"True with scale_factor {scale_factor!r}", "whole factors, or a size")
        self.mode, self.align_corners = mode, bool(align_corners)

    def forward(self, x: array) -> array:
        result: array = _core.upsample(x, self.size, self.scales, self.mode, self.align_corners)
        return result
