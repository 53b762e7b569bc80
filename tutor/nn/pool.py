"""Pools, and what makes pictures larger or smaller, as layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tutor.ground import checks, layout
from tutor.ground.spelling import spelled
from tutor.ground.typing import Sizes
from tutor.methods.tensor import Tensor
from tutor.methods.windows import each
from tutor.nn import functional as F  # noqa: N812 - as everybody writes it
from tutor.nn.module import Module


class Pool(Module):
    """A window that moves over the last axes; without a `stride`, by its own size."""

    dims = 2

    def settings(self, kernel_size: Sizes, stride: Sizes | None, padding: Sizes) -> None:
        size = each(kernel_size, self.dims, "kernel_size")
        step = size if stride is None else each(stride, self.dims, "stride")
        self.options: dict[str, Any] = {
            "kernel_size": size, "stride": step, "padding": each(padding, self.dims, "padding", 0)
        }  # fmt: skip


class Adaptive(Module):
    """A pool that gives `output_size` places, whatever there were; None keeps an axis."""

    dims = 2

    def __init__(self, output_size: Sizes) -> None:
        several = output_size if isinstance(output_size, (tuple, list)) else (output_size,)
        each([1 if n is None else n for n in several], self.dims, "output_size")
        self.output_size = output_size


@spelled
class MaxPool1d(Pool):
    """The largest in each window of x (N, C, L): see tutor.methods.windows.max_pool; with
    return_indices, where it stood, too."""

    dims = 1

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
        dilation: Sizes = 1, return_indices: bool = False, ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        self.settings(kernel_size, stride, padding)
        self.options["dilation"] = each(dilation, 1, "dilation")
        self.options["ceil_mode"] = bool(ceil_mode)
        if return_indices:
            self.options["return_indices"] = True

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = F.max_pool1d(x, **self.options)
        return found


@spelled
class MaxPool2d(Pool):
    """The largest in each window of x (N, C, H, W): see tutor.methods.windows.max_pool; with
    return_indices, where it stood, too."""

    dims = 2

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
        dilation: Sizes = 1, return_indices: bool = False, ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        self.settings(kernel_size, stride, padding)
        self.options["dilation"] = each(dilation, 2, "dilation")
        self.options["ceil_mode"] = bool(ceil_mode)
        if return_indices:
            self.options["return_indices"] = True

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = F.max_pool2d(x, **self.options)
        return found


@spelled
class MaxPool3d(Pool):
    """The largest in each window of x (N, C, D, H, W): see tutor.methods.windows.max_pool; with
    return_indices, where it stood, too."""

    dims = 3

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
        dilation: Sizes = 1, return_indices: bool = False, ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        self.settings(kernel_size, stride, padding)
        self.options["dilation"] = each(dilation, 3, "dilation")
        self.options["ceil_mode"] = bool(ceil_mode)
        if return_indices:
            self.options["return_indices"] = True

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = F.max_pool3d(x, **self.options)
        return found


@spelled
class AvgPool1d(Pool):
    """The mean of each window of x (N, C, L): see tutor.methods.windows.avg_pool"""

    dims = 1

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
        ceil_mode: bool = False, count_include_pad: bool = True,
    ) -> None:  # fmt: skip
        self.settings(kernel_size, stride, padding)
        self.options["ceil_mode"] = bool(ceil_mode)
        self.options["count_include_pad"] = bool(count_include_pad)

    def forward(self, x: Tensor) -> Tensor:
        return F.avg_pool1d(x, **self.options)


@spelled
class AvgPool2d(Pool):
    """The mean of each window of x (N, C, H, W): see tutor.methods.windows.avg_pool"""

    dims = 2

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
        ceil_mode: bool = False, count_include_pad: bool = True,
    ) -> None:  # fmt: skip
        self.settings(kernel_size, stride, padding)
        self.options["ceil_mode"] = bool(ceil_mode)
        self.options["count_include_pad"] = bool(count_include_pad)

    def forward(self, x: Tensor) -> Tensor:
        return F.avg_pool2d(x, **self.options)


@spelled
class AvgPool3d(Pool):
    """The mean of each window of x (N, C, D, H, W): see tutor.methods.windows.avg_pool"""

    dims = 3

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
        ceil_mode: bool = False, count_include_pad: bool = True,
    ) -> None:  # fmt: skip
        self.settings(kernel_size, stride, padding)
        self.options["ceil_mode"] = bool(ceil_mode)
        self.options["count_include_pad"] = bool(count_include_pad)

    def forward(self, x: Tensor) -> Tensor:
        return F.avg_pool3d(x, **self.options)


@spelled
class AdaptiveAvgPool1d(Adaptive):
    """The mean of output_size windows that cover each axis behind (N, C) evenly, 1 of them"""

    dims = 1

    def __init__(self, output_size: Sizes) -> None:
        super().__init__(output_size)

    def forward(self, x: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(x, self.output_size)


@spelled
class AdaptiveAvgPool2d(Adaptive):
    """The mean of output_size windows that cover each axis behind (N, C) evenly, 2 of them"""

    dims = 2

    def __init__(self, output_size: Sizes) -> None:
        super().__init__(output_size)

    def forward(self, x: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(x, self.output_size)


@spelled
class AdaptiveAvgPool3d(Adaptive):
    """The mean of output_size windows that cover each axis behind (N, C) evenly, 3 of them"""

    dims = 3

    def __init__(self, output_size: Sizes) -> None:
        super().__init__(output_size)

    def forward(self, x: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(x, self.output_size)


@spelled
class AdaptiveMaxPool1d(Adaptive):
    """The largest of output_size windows that cover each axis behind (N, C) evenly, 1 of them"""

    dims = 1

    def __init__(self, output_size: Sizes) -> None:
        super().__init__(output_size)

    def forward(self, x: Tensor) -> Tensor:
        return F.adaptive_max_pool1d(x, self.output_size)


@spelled
class AdaptiveMaxPool2d(Adaptive):
    """The largest of output_size windows that cover each axis behind (N, C) evenly, 2 of them"""

    dims = 2

    def __init__(self, output_size: Sizes) -> None:
        super().__init__(output_size)

    def forward(self, x: Tensor) -> Tensor:
        return F.adaptive_max_pool2d(x, self.output_size)


@spelled
class AdaptiveMaxPool3d(Adaptive):
    """The largest of output_size windows that cover each axis behind (N, C) evenly, 3 of them"""

    dims = 3

    def __init__(self, output_size: Sizes) -> None:
        super().__init__(output_size)

    def forward(self, x: Tensor) -> Tensor:
        return F.adaptive_max_pool3d(x, self.output_size)


@spelled
class MaxUnpool1d(Pool):
    """Zeros, with x's numbers where MaxPool1d(return_indices=True) found them"""

    dims = 1

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        self.settings(kernel_size, stride, padding)

    def forward(self, x: Tensor, indices: Tensor, output_size: Sizes | None = None) -> Tensor:
        return F.max_unpool1d(x, indices, **self.options, output_size=output_size)


@spelled
class MaxUnpool2d(Pool):
    """Zeros, with x's numbers where MaxPool2d(return_indices=True) found them"""

    dims = 2

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        self.settings(kernel_size, stride, padding)

    def forward(self, x: Tensor, indices: Tensor, output_size: Sizes | None = None) -> Tensor:
        return F.max_unpool2d(x, indices, **self.options, output_size=output_size)


@spelled
class Upsample(Module):
    """x (N, C, *S) with other sizes: `size`, or S * scale_factor. See F.interpolate."""

    def __init__(
        self, size: Sizes | None = None, scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest", align_corners: bool | None = None,
    ) -> None:  # fmt: skip
        modes = ("nearest", "linear", "bilinear", "trilinear", "area")
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
    """(N, C, H r, W r) -> (N, C r², H, W): PixelShuffle backwards"""

    def __init__(self, downscale_factor: int) -> None:
        self.downscale_factor = layout.positive(downscale_factor, "PixelUnshuffle's factor")

    def forward(self, x: Tensor) -> Tensor:
        return F.pixel_unshuffle(x, self.downscale_factor)
