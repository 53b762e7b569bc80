"""Norms: give numbers mean 0 and variance 1 (or a mean square of 1), and then a learnt scale and
shift.

They differ in the numbers they average over: layer norm and RMS norm over the last axes of each
example, group norm over groups of an example's channels; in tutor/nn/batch_norm.py, batch norm over
the examples and places of each channel, instance norm over the places of each example's channel.
"""

from __future__ import annotations

import math

from tutor._storage import layout
from tutor._storage.layout import Shape
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import DTypeLike, Sizes
from tutor.core.engine import apply
from tutor.dtype import float32, float64
from tutor.errors import DTypeError, ShapeError
from tutor.methods.tensor import Tensor
from tutor.nn.module import Module


@spelled
def layer_norm(
    input: Tensor, normalized_shape: Sizes, weight: Tensor | None = None,
    bias: Tensor | None = None, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """(x - mean) / sqrt(var + eps) * weight + bias, mean and variance over the trailing axes
    `normalized_shape`, which is also the shape of weight and bias (Ba, Kiros and Hinton 2016)

    The variance is the biased one, divided by the count. ShapeError if x does not end with
    `normalized_shape`.
    """
    x, axes = trailing("layer_norm", input, normalized_shape, weight, bias)
    rows = by_rows(x, axes)
    w, b = (by_place(t, rows, fill) for t, fill in ((weight, 1.0), (bias, 0.0)))
    found: Tensor = apply("layer_norm", rows, w, b, eps=small("layer_norm", eps))
    return found if len(axes) == 1 else found.reshape(x.shape)


@spelled
def rms_norm(
    input: Tensor, normalized_shape: Sizes, weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:  # fmt: skip
    """x / sqrt(mean of x**2 + eps) * weight over the trailing axes `normalized_shape`: a layer norm
    that does not subtract the mean (Zhang and Sennrich 2019)

    `eps` defaults to the distance from 1 to the next number of the dtype used to compute it,
    float64 or float32. ShapeError if x does not end with `normalized_shape`.
    """
    x, axes = trailing("rms_norm", input, normalized_shape, weight)
    rows = by_rows(x, axes)
    w = by_place(weight, rows, 1.0)
    least = (float64 if x.dtype is float64 else float32).eps
    eps = least if eps is None else small("rms_norm", eps)
    found: Tensor = apply("rms_norm", rows, w, eps=eps)
    return found if len(axes) == 1 else found.reshape(x.shape)


@spelled
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Layer norm over each of `num_groups` groups of channels of x (N, C, *S), including all their
    places; weight (C), bias (C) (Wu and He 2018)

    ShapeError if the channels do not divide evenly into the groups.
    """
    x = floats("group_norm", checks.at_least("group_norm", input, 2))
    channels = x.shape[1]
    groups = groups_of("group_norm", num_groups, channels)
    per_channel("group_norm", channels, weight=weight, bias=bias)
    rows = x if x.ndim == 3 else x.reshape((x.shape[0], channels, math.prod(x.shape[2:])))
    w = x.wrap(1.0, x.dtype, (channels,)) if weight is None else weight
    b = x.wrap(0.0, x.dtype, (channels,)) if bias is None else bias
    found: Tensor = apply("group_norm", rows, w, b, groups=groups, eps=small("group_norm", eps))
    return found if x.ndim == 3 else found.reshape(x.shape)


# ---- layers --------------------------------------------------------------------------------------


@spelled
class LayerNorm(Module):
    """(x - mean) / sqrt(var + eps) * weight + bias over the last axes, `normalized_shape`, of each
    example; weight and bias also have that shape (Ba, Kiros & Hinton 2016)."""

    def __init__(
        self, normalized_shape: Sizes, eps: float = 1e-5, elementwise_affine: bool = True,
        bias: bool = True, *, dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        self.normalized_shape = sizes("LayerNorm", normalized_shape)
        self.eps = small("LayerNorm", eps)
        self.weight = learnt(self.normalized_shape, elementwise_affine, 1, dtype)
        self.bias = learnt(self.normalized_shape, elementwise_affine and bias, 0, dtype)

    def forward(self, x: Tensor) -> Tensor:
        return layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


@spelled
class RMSNorm(Module):
    """x / sqrt(mean of x**2 + eps) * weight over the last axes, `normalized_shape` (Zhang &
    Sennrich 2019); eps=None means the distance from 1 to the next number of the dtype."""

    def __init__(
        self, normalized_shape: Sizes, eps: float | None = None, elementwise_affine: bool = True,
        *, dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        self.normalized_shape = sizes("RMSNorm", normalized_shape)
        self.eps = None if eps is None else small("RMSNorm", eps)
        self.weight = learnt(self.normalized_shape, elementwise_affine, 1, dtype)

    def forward(self, x: Tensor) -> Tensor:
        return rms_norm(x, self.normalized_shape, self.weight, self.eps)


@spelled
class GroupNorm(Module):
    """A layer norm over each of `num_groups` groups of the channels of x (N, C, ...), and all their
    places; weight (C), bias (C) (Wu & He 2018). ShapeError if num_groups does not divide C."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
        *, dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        self.num_channels = layout.positive(num_channels, "GroupNorm(num_channels=...)")
        self.num_groups = groups_of("GroupNorm", num_groups, self.num_channels)
        self.eps, shape = small("GroupNorm", eps), (self.num_channels,)
        self.weight, self.bias = (learnt(shape, affine, value, dtype) for value in (1, 0))

    def forward(self, x: Tensor) -> Tensor:
        if checks.at_least("GroupNorm", x, 2).shape[1] != self.num_channels:
            raise ShapeError(
                f"GroupNorm({self.num_groups}, {self.num_channels}) of shape {x.shape}",
                f"{x.shape[1]} channels", f"give (N, {self.num_channels}, ...)",
            )  # fmt: skip
        return group_norm(x, self.num_groups, self.weight, self.bias, self.eps)


def learnt(shape: tuple[int, ...], wanted: bool, value: float, dtype: DTypeLike) -> Tensor | None:
    """A learnt scale (starts at 1) or shift (starts at 0), or None if not wanted."""
    return Tensor.full(shape, value, dtype=dtype, requires_grad=True) if wanted else None


# ---- what they have in common --------------------------------------------------------------------


def by_rows(x: Tensor, axes: Shape) -> Tensor:
    """x (..., *normalized_shape) as (..., n)"""
    if len(axes) == 1:
        return x
    return x.reshape((*x.shape[: axes[0]], math.prod(x.shape[axes[0] :])))


def by_place(t: Tensor | None, rows: Tensor, fill: float) -> Tensor:
    """One number for each place of a row (n); `fill` if t is None."""
    if t is None:
        return rows.wrap(fill, rows.dtype, rows.shape[-1:])
    return t if t.ndim == 1 else t.reshape((-1,))


def beside(channels: Tensor, x: Tensor) -> Tensor:
    """One number for each channel (C), shaped to broadcast against x (N, C, *S)."""
    places = len(x.shape) - 2
    if places == 0:
        return channels
    found: Tensor = apply("reshape", channels, shape=(x.shape[1], *[1] * places))
    return found


# ---- checks --------------------------------------------------------------------------------------


def floats(name: str, x: Tensor) -> Tensor:
    if not checks.tensor(f"{name}(input)", x).dtype.is_float:
        raise DTypeError(
            f"{name} of {x.dtype.name}", "its results are fractions", "cast it to a float dtype"
        )
    return x


def small(name: str, eps: float) -> float:
    return float(checks.number(f"{name}(eps=...)", eps, 0))


def trailing(
    name: str, input: Tensor, normalized_shape: Sizes, *affine: Tensor | None
) -> tuple[Tensor, Shape]:
    """x, and the axes `normalized_shape` that it must end with."""
    x, last = floats(name, input), sizes(name, normalized_shape)
    first = x.ndim - len(last)
    if first < 0 or x.shape[first:] != last:
        raise ShapeError(
            f"{name} of shape {x.shape} over normalized_shape {last}",
            "that is not how x's shape ends",
            "give the sizes of x's last axes, for example x.shape[-1]",
        )
    for t in affine:
        if t is not None and checks.tensor(f"the weight or bias of {name}", t).shape != last:
            raise ShapeError(
                f"{name} over normalized_shape {last}",
                f"a weight or bias of shape {t.shape}",
                "give one number for each place of normalized_shape",
            )
    return x, tuple(range(first, x.ndim))


def per_channel(name: str, channels: int, **given: Tensor | None) -> None:
    for what, t in given.items():
        if t is not None and checks.tensor(f"{name}({what}=...)", t).shape != (channels,):
            raise ShapeError(
                f"{name} of {channels} channels",
                f"{what} has shape {t.shape}",
                f"give one number for each channel: ({channels},)",
            )


def sizes(name: str, normalized_shape: Sizes) -> Shape:
    """The sizes of the last axes, at least one."""
    found = layout.checked_shape(normalized_shape, f"{name}(normalized_shape=...)")
    if not found:
        raise ShapeError(
            f"{name}({normalized_shape=})", "it names no axis",
            "give the sizes of the last axes, for example x.shape[-1]",
        )  # fmt: skip
    return found


def groups_of(name: str, num_groups: int, channels: int) -> int:
    """The number of groups, into which the channels must divide."""
    groups = layout.positive(num_groups, f"{name}(num_groups=...)")
    if channels % groups:
        raise ShapeError(
            f"{name} of {channels} channels in {groups} groups", "the channels do not divide by it",
            "the number of channels must be a multiple of num_groups",
        )  # fmt: skip
    return groups
