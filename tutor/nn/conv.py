"""Convolutions over the last axes of x (N, C, *S), window by window, and their transposes, as
functions and as layers."""

from __future__ import annotations

from typing import Any

from tutor._storage import layout
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import DTypeLike, Padding, Sizes
from tutor.errors import ShapeError
from tutor.methods import windows
from tutor.methods.tensor import Tensor
from tutor.methods.windows import check_groups, each
from tutor.nn.module import Module
from tutor.nn.operands import check_dtype


def conv(x: Tensor, weight: Tensor, *settings: Any, dims: int, **more: Any) -> Tensor:
    """tutor.methods.windows.conv, for inputs of the weight's dtype"""
    check_dtype(f"conv{dims}d", x, weight)
    z: Tensor = windows.conv(x, weight, *settings, dims=dims, **more)
    return z


def conv_transpose(x: Tensor, weight: Tensor, *settings: Any, dims: int, **more: Any) -> Tensor:
    """tutor.methods.windows.conv_transpose, for inputs of the weight's dtype"""
    check_dtype(f"conv_transpose{dims}d", x, weight)
    z: Tensor = windows.conv_transpose(x, weight, *settings, dims=dims, **more)
    return z


@spelled
def conv1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1,
    padding: Padding = 0, dilation: Sizes = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """A convolution over the last axis of x (N, C, L): see tutor.methods.windows.conv"""
    return conv(input, weight, bias, stride, padding, dilation, groups, dims=1)


@spelled
def conv2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1,
    padding: Padding = 0, dilation: Sizes = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """A convolution over the last two axes of x (N, C, H, W): see tutor.methods.windows.conv"""
    return conv(input, weight, bias, stride, padding, dilation, groups, dims=2)


@spelled
def conv3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1,
    padding: Padding = 0, dilation: Sizes = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """A convolution over the last three axes of x (N, C, D, H, W): see tutor.methods.windows.conv.
    It has no kernel: the windows are copied side by side for one matrix product."""
    return conv(input, weight, bias, stride, padding, dilation, groups, dims=3)


@spelled
def conv_transpose1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1,
    padding: Padding = 0, output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> Tensor:  # fmt: skip
    """The transpose (adjoint) of `conv1d`: see tutor.methods.windows.conv_transpose"""
    return conv_transpose(
        input, weight, bias, stride, padding, output_padding, groups, dilation, dims=1
    )


@spelled
def conv_transpose2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1,
    padding: Padding = 0, output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> Tensor:  # fmt: skip
    """The transpose (adjoint) of `conv2d`: see tutor.methods.windows.conv_transpose"""
    return conv_transpose(
        input, weight, bias, stride, padding, output_padding, groups, dilation, dims=2
    )


@spelled
def conv_transpose3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1,
    padding: Padding = 0, output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> Tensor:  # fmt: skip
    """The transpose of `conv3d`, by a matrix product: see tutor.methods.windows.conv_transpose"""
    return conv_transpose(
        input, weight, bias, stride, padding, output_padding, groups, dilation, dims=3
    )


# ---- layers --------------------------------------------------------------------------------------


class Window(Module):
    """The base of both kinds: a weight with a window, a bias, and how the window moves.

    The weight starts uniform in +-sqrt(6 / (fan_in + fan_out)) (Glorot & Bengio 2010), the bias
    (out_channels) at 0.
    """

    dims = 2

    def begin(
        self, in_channels: int, out_channels: int, kernel_size: Sizes, groups: int, bias: bool,
        dtype: DTypeLike, is_transposed: bool = False,
    ) -> None:  # fmt: skip
        kind = type(self).__name__
        size = each(kernel_size, self.dims, "kernel_size")
        inputs = self.in_channels = layout.whole_number(in_channels, f"channels of {kind}")
        outputs = self.out_channels = layout.whole_number(out_channels, f"channels of {kind}")
        self.groups = layout.positive(groups, f"{kind}(groups=...)")
        first, second = (inputs, outputs) if is_transposed else (outputs, inputs)
        shape = (first, second // self.groups, *size)
        check_groups(self.groups, inputs, inputs, outputs, shape)
        self.weight = Tensor.glorot_uniform(*shape, dtype=dtype, requires_grad=True)
        self.bias = Tensor.zeros(outputs, dtype=dtype, requires_grad=True) if bias else None

    def settings(self, stride: Sizes, padding: Padding, dilation: Sizes) -> None:
        if not isinstance(padding, str):
            padding = each(padding, self.dims, "padding", 0)
        self.options: dict[str, Any] = {
            "stride": each(stride, self.dims, "stride"),
            "padding": padding,
            "dilation": each(dilation, self.dims, "dilation"),
        }


@spelled
class Conv(Window):
    """A convolution, x (N, in_channels, *S) -> (N, out_channels, *S'): see
    tutor.methods.windows.conv. `kernel_size`, `stride`, `padding` and `dilation` are one number or
    one per axis of S; the weight is (out_channels, in_channels / groups, *kernel_size)."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes = 1,
        padding: Padding = 0, dilation: Sizes = 1, groups: int = 1, bias: bool = True,
        *, dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        self.begin(in_channels, out_channels, kernel_size, groups, bias, dtype)
        self.settings(stride, padding, dilation)

    def forward(self, x: Tensor) -> Tensor:
        return conv(x, self.weight, self.bias, **self.options, groups=self.groups, dims=self.dims)


@spelled
class ConvTranspose(Window):
    """A transposed convolution, x (N, in_channels, *S) -> (N, out_channels, *S'), S' larger: see
    tutor.methods.windows.conv_transpose. The weight is (in_channels, out_channels / groups,
    *kernel_size)."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes = 1,
        padding: Sizes = 0, output_padding: Sizes = 0, groups: int = 1, bias: bool = True,
        dilation: Sizes = 1, *, dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        self.begin(in_channels, out_channels, kernel_size, groups, bias, dtype, is_transposed=True)
        self.settings(stride, each(padding, self.dims, "padding", 0), dilation)
        self.options["output_padding"] = each(output_padding, self.dims, "output_padding", 0)
        free = zip(self.options["output_padding"], self.options["stride"],
                   self.options["dilation"], strict=True)  # fmt: skip
        if any(extra >= max(step, gap) for extra, step, gap in free):
            raise ShapeError(
                f"{type(self).__name__}({output_padding=}, {stride=})", "it is no smaller than the "
                "stride", "use an output_padding below stride, or dilation"
            )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return conv_transpose(
            x, self.weight, self.bias, **self.options, groups=self.groups, dims=self.dims
        )


# ---- layers, by number of axes -------------------------------------------------------------------


class Conv1d(Conv):
    """A convolution of x (N, in_channels, L): see Conv, and F.conv1d."""

    dims = 1


class Conv2d(Conv):
    """A convolution of x (N, in_channels, H, W): see Conv, and F.conv2d."""

    dims = 2


class Conv3d(Conv):
    """A convolution of x (N, in_channels, D, H, W): see Conv, and F.conv3d."""

    dims = 3


class ConvTranspose1d(ConvTranspose):
    """A transposed convolution of x (N, in_channels, L): see ConvTranspose."""

    dims = 1


class ConvTranspose2d(ConvTranspose):
    """A transposed convolution of x (N, in_channels, H, W): see ConvTranspose."""

    dims = 2


class ConvTranspose3d(ConvTranspose):
    """A transposed convolution of x (N, in_channels, D, H, W): see ConvTranspose."""

    dims = 3
