"""Norms: scale numbers to mean 0 and variance 1 (or to a mean square of 1), then by a weight.

They differ in the numbers they average over: one row (layer norm, RMS norm), a group of channels
(group norm), or one channel over the whole batch (batch norm).
"""

from __future__ import annotations

import math

from tutor._storage.layout import Shape, checked_shape, positive
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Number, Sizes
from tutor.core.engine import apply
from tutor.core.engine.grad_mode import no_grad
from tutor.dtype import DType, float32, float64
from tutor.errors import DomainError, DTypeError, ShapeError
from tutor.methods.tensor import Tensor
from tutor.ops.norm import BatchNorm


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
    groups, channels = positive(num_groups, "group_norm(num_groups=...)"), x.shape[1]
    if channels % groups:
        raise ShapeError(
            f"group_norm of shape {x.shape} in {groups} groups",
            f"{channels} channels do not divide by {groups}",
            "give a number of groups that divides the channels",
        )
    per_channel("group_norm", channels, weight=weight, bias=bias)
    if not x.numel():
        return x
    rows = x.reshape((x.shape[0], groups, -1))
    out = layer_norm(rows, rows.shape[-1], eps=eps).reshape(x.shape)
    out = out if weight is None else out * beside(weight, x)
    return out if bias is None else out + beside(bias, x)


@spelled
def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None,
    weight: Tensor | None = None, bias: Tensor | None = None, training: bool = False,
    momentum: Number | Tensor = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """(x - mean) / sqrt(var + eps) * weight + bias for each channel of x (N, C, *S), mean and
    variance over all else (Ioffe and Szegedy 2015); running_mean, running_var, weight, bias (C)

    Training uses this batch's mean and variance (divided by the count n), and moves each running
    statistic, if given, to (1 - momentum) running + momentum new in place, with the variance
    divided by n - 1. Evaluation uses the running ones. `momentum` may be a Tensor of one number, so
    that it can change between calls of a recorded step. ShapeError in training with a single number
    per channel, which has no variance.
    """
    x = floats("batch_norm", checks.at_least("batch_norm", input, 2))
    given = {"running_mean": running_mean, "running_var": running_var}
    per_channel("batch_norm", x.shape[1], weight=weight, bias=bias, **given)
    eps = small("batch_norm", eps)
    if not isinstance(momentum, Tensor):
        checks.number("batch_norm(momentum=...)", momentum)
    if not training:
        if running_mean is None or running_var is None:
            raise DomainError(
                "batch_norm(training=False)",
                "running_mean or running_var is None",
                "give both, or training=True, which takes those of the batch",
            )
        return evaluated(x, running_mean, running_var, weight, bias, eps)
    channels = x.shape[1]
    n = x.numel() // max(channels, 1)
    if n < 2 and channels:
        raise ShapeError(
            f"batch_norm in training of shape {x.shape}",
            f"{n} numbers for each channel, of which no variance can be told",
            "give a larger batch, or evaluate: model.eval(), training=False",
        )
    rows = x.reshape((x.shape[0], channels, math.prod(x.shape[2:])))
    w = x.wrap(1.0, x.dtype, (channels,)) if weight is None else weight
    b = x.wrap(0.0, x.dtype, (channels,)) if bias is None else bias
    op = BatchNorm(rows, w, b, eps=eps)
    out: Tensor = op.apply()
    follow(running_mean, running_var, op.mean, op.var, n, momentum)
    return out.reshape(x.shape)


def evaluated(
    x: Tensor, mean: Tensor, var: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias, as one factor for x and one added term."""
    scale = (widened(var) + eps).rsqrt()
    scale = scale if weight is None else scale * weight
    away = widened(mean) * scale
    shift = -away if bias is None else bias - away
    found: Tensor = apply("mul_add", widened(x), beside(scale, x), beside(shift, x))
    return found if found.dtype is x.dtype else found.cast(x.dtype)


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


def widened(x: Tensor) -> Tensor:
    """x in the dtype for its mean and squares: half floats become float32."""
    wide: DType = x.dtype if x.dtype.itemsize >= float32.itemsize else float32
    return x if x.dtype is wide else x.cast(wide)


@no_grad
def follow(
    running_mean: Tensor | None, running_var: Tensor | None, mean: Tensor, var: Tensor, n: int,
    momentum: Number | Tensor,
) -> None:  # fmt: skip
    """Move the running statistics towards those of a batch of n per channel, in place."""
    if running_mean is not None:
        running_mean += (mean - running_mean) * momentum
    if running_var is not None:
        new = var * (n / max(n - 1, 1))
        running_var += (new - running_var) * momentum


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
    x = floats(name, input)
    sizes = checked_shape(normalized_shape, f"{name}(normalized_shape=...)")
    first = x.ndim - len(sizes)
    if not sizes or first < 0 or x.shape[first:] != sizes:
        raise ShapeError(
            f"{name} of shape {x.shape} over normalized_shape {sizes}",
            "that is not how x's shape ends" if sizes else "it names no axis",
            "give the sizes of x's last axes, for example x.shape[-1]",
        )
    for t in affine:
        if t is not None and checks.tensor(f"the weight or bias of {name}", t).shape != sizes:
            raise ShapeError(
                f"{name} over normalized_shape {sizes}",
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
