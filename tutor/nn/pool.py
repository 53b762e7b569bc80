"""Pooling, and resizing pictures, as layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from tutor._storage import layout
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Sizes
from tutor.methods import windows
from tutor.methods.tensor import Tensor
from tutor.methods.windows import each
from tutor.nn import functional as F  # noqa: N812 - as everybody writes it
from tutor.nn.functional import pools
from tutor.nn.functional.resampling import max_unpool
from tutor.nn.module import Module


class Pool(Module):
    """A window that moves over the last axes; the default `stride` is its size."""

    dims = 2

    def settings(self, kernel_size: Sizes, stride: Sizes | None, padding: Sizes) -> None:
        size = each(kernel_size, self.dims, "kernel_size")
        step = size if stride is None else each(stride, self.dims, "stride")
        self.options: dict[str, Any] = {
            "kernel_size": size, "stride": step, "padding": each(padding, self.dims, "padding", 0)
        }  # fmt: skip


@spelled
class MaxPool(Pool):
    """The largest element of each window: see tutor.methods.windows.max_pool; with return_indices,
    its position as well."""

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
        dilation: Sizes = 1, return_indices: bool = False, ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        self.settings(kernel_size, stride, padding)
        self.options["dilation"] = each(dilation, self.dims, "dilation")
        self.options["ceil_mode"] = bool(ceil_mode)
        self.options["return_indices"] = bool(return_indices)

    def forward(self, x: Tensor) -> Tensor:
        found: Any = pools.max_pool(x, **self.options, dims=self.dims)  # a pair, with indices
        return cast(Tensor, found)


@spelled
class AvgPool(Pool):
    """The mean of each window: see tutor.methods.windows.avg_pool"""

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
        ceil_mode: bool = False, count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:  # fmt: skip
        self.settings(kernel_size, stride, padding)
        self.options["ceil_mode"] = bool(ceil_mode)
        self.options["count_include_pad"] = bool(count_include_pad)
        if divisor_override is not None:
            layout.positive(divisor_override, "AvgPool(divisor_override=...)")
        self.options["divisor_override"] = divisor_override

    def forward(self, x: Tensor) -> Tensor:
        return windows.avg_pool(x, **self.options, dims=self.dims)


@spelled
class MaxUnpool(Pool):
    """Zeros, with x's numbers where MaxPool(return_indices=True) found them"""

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        self.settings(kernel_size, stride, padding)

    def forward(self, x: Tensor, indices: Tensor, output_size: Sizes | None = None) -> Tensor:
        return max_unpool(x, indices, **self.options, output_size=output_size, dims=self.dims)


@spelled
class Adaptive(Module):
    """A pool with `output_size` places, whatever the input's size; None keeps an axis."""

    dims = 2

    def __init__(self, output_size: Sizes) -> None:
        several = output_size if isinstance(output_size, (tuple, list)) else (output_size,)
        each([1 if n is None else n for n in several], self.dims, "output_size")
        self.output_size = output_size


class AdaptiveAvgPool(Adaptive):
    """The mean of output_size windows that cover each axis after (N, C) evenly"""

    def forward(self, x: Tensor) -> Tensor:
        return windows.adaptive_avg_pool(x, self.output_size, dims=self.dims)


class AdaptiveMaxPool(Adaptive):
    """The largest element of each of output_size windows that cover each axis after (N, C) evenly;
    with return_indices, its position as well."""

    @spelled
    def __init__(self, output_size: Sizes, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = bool(return_indices)

    def forward(self, x: Tensor) -> Tensor:
        found: Any = pools.adaptive(x, self.output_size, self.return_indices, self.dims)
        return cast(Tensor, found)  # a pair, with indices


# ---- by number of axes ---------------------------------------------------------------------------


class MaxPool1d(MaxPool):
    """The largest element of each window of x (N, C, L): see MaxPool"""

    dims = 1


class MaxPool2d(MaxPool):
    """The largest element of each window of x (N, C, H, W): see MaxPool"""

    dims = 2


class MaxPool3d(MaxPool):
    """The largest element of each window of x (N, C, D, H, W): see MaxPool"""

    dims = 3


class AvgPool1d(AvgPool):
    """The mean of each window of x (N, C, L): see AvgPool"""

    dims = 1


class AvgPool2d(AvgPool):
    """The mean of each window of x (N, C, H, W): see AvgPool"""

    dims = 2


class AvgPool3d(AvgPool):
    """The mean of each window of x (N, C, D, H, W): see AvgPool"""

    dims = 3


class AdaptiveAvgPool1d(AdaptiveAvgPool):
    """The mean of output_size windows that cover x (N, C, L) evenly"""

    dims = 1


class AdaptiveAvgPool2d(AdaptiveAvgPool):
    """The mean of output_size windows that cover x (N, C, H, W) evenly"""

    dims = 2


class AdaptiveAvgPool3d(AdaptiveAvgPool):
    """The mean of output_size windows that cover x (N, C, D, H, W) evenly"""

    dims = 3


class AdaptiveMaxPool1d(AdaptiveMaxPool):
    """The largest element of each of output_size windows that cover x (N, C, L) evenly"""

    dims = 1


class AdaptiveMaxPool2d(AdaptiveMaxPool):
    """The largest element of each of output_size windows that cover x (N, C, H, W) evenly"""

    dims = 2


class AdaptiveMaxPool3d(AdaptiveMaxPool):
    """The largest element of each of output_size windows that cover x (N, C, D, H, W) evenly"""

    dims = 3


class MaxUnpool1d(MaxUnpool):
    """Zeros, with the numbers of x (N, C, L) where MaxPool1d(return_indices=True) found them"""

    dims = 1


class MaxUnpool2d(MaxUnpool):
    """Zeros, with the numbers of x (N, C, H, W) where MaxPool2d(return_indices=True) found them"""

    dims = 2


class MaxUnpool3d(MaxUnpool):
    """Zeros, with the numbers of x (N, C, D, H, W) where MaxPool3d(return_indices=True) found
    them"""

    dims = 3


@spelled
class Upsample(Module):
    """x (N, C, *S) resized to `size`, or to S * scale_factor. See F.interpolate."""

    def __init__(
        self, size: Sizes | None = None, scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest", align_corners: bool | None = None,
    ) -> None:  # fmt: skip
        modes = ("nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area")
        self.mode = checks.one_of("Upsample(mode=...)", mode, modes)
        if size is not None:
            size = layout.whole_numbers(size, "Upsample(size=...)")
        factors = scale_factor if isinstance(scale_factor, (tuple, list)) else (scale_factor,)
        for factor in factors:
            if factor is not None:
                checks.number("Upsample(scale_factor=...)", factor, 0, nan=False)
        self.size, self.scale_factor, self.align_corners = size, scale_factor, align_corners

    def forward(self, x: Tensor) -> Tensor:
        return F.interpolate(x, self.size, self.scale_factor, self.mode, self.align_corners)


@spelled
class PixelShuffle(Module):
    """(N, C r², H, W) -> (N, C, H r, W r), r the upscale_factor (Shi et al. 2016)"""

    def __init__(self, upscale_factor: int) -> None:
        self.upscale_factor = layout.positive(upscale_factor, "PixelShuffle(upscale_factor=...)")

    def forward(self, x: Tensor) -> Tensor:
        return F.pixel_shuffle(x, self.upscale_factor)


@spelled
class PixelUnshuffle(Module):
    """(N, C, H r, W r) -> (N, C r², H, W): the reverse of PixelShuffle"""

    def __init__(self, downscale_factor: int) -> None:
        self.downscale_factor = layout.positive(downscale_factor, "PixelUnshuffle's factor")

    def forward(self, x: Tensor) -> Tensor:
        return F.pixel_unshuffle(x, self.downscale_factor)
