"""Norms of channels that can keep running statistics: batch norm, over the examples and places of
each channel, and instance norm, over the places of each example's channel."""

from __future__ import annotations

import math

from tutor._storage import layout
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import DTypeLike, Number
from tutor.core.engine import apply
from tutor.core.engine.grad_mode import no_grad
from tutor.dtype import DType, float32
from tutor.errors import DomainError, ShapeError
from tutor.methods.tensor import Tensor
from tutor.nn.module import Module
from tutor.nn.norm import beside, floats, group_norm, learnt, per_channel, small
from tutor.ops import norm


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
    op = norm.BatchNorm(rows, w, b, eps=eps)
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


@spelled
def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None,
    weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True,
    momentum: Number | Tensor = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """(x - mean) / sqrt(var + eps) * weight + bias, mean and variance over the places of each
    channel of each example of x (N, C, *S); weight, bias and the running statistics are (C)
    (Ulyanov, Vedaldi & Lempitsky 2016)

    With use_input_stats the running statistics, if given, move towards the means and (unbiased,
    n - 1) variances, averaged over the examples; without it they are used to normalize. ShapeError
    for channels of a single number.
    """
    x = floats("instance_norm", checks.at_least("instance_norm", input, 3))
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, False, 0.0, eps)
    n = math.prod(x.shape[2:])
    if n < 2 and x.numel():
        raise ShapeError(
            f"instance_norm of shape {x.shape}", "one number for each channel, which has no "
            "variance", "give more places"
        )  # fmt: skip
    given = {"running_mean": running_mean, "running_var": running_var}
    per_channel("instance_norm", x.shape[1], **given)
    if not isinstance(momentum, Tensor):
        checks.number("instance_norm(momentum=...)", momentum)
    found = group_norm(x, max(x.shape[1], 1), weight, bias, eps)
    if running_mean is not None or running_var is not None:
        axes, seen = tuple(range(2, x.ndim)), x.detach()
        mean, var = seen.mean(axes).mean(0), seen.var(axes, correction=0).mean(0)
        follow(running_mean, running_var, mean, var, n, momentum)
    return found


# ---- layers --------------------------------------------------------------------------------------


class Running(Module):
    """A norm that keeps a running mean and variance of its inputs in training.

    `weight` and `bias` (num_features) start at 1 and 0; the state is `running_mean`, `running_var`
    and `num_batches_tracked`. momentum=None weights all batches equally.
    """

    axes: tuple[int, ...] = ()  # how many axes an input may have
    shapes = ""

    @spelled  # only this: a wrapper would slow down every call
    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
        affine: bool = True, track_running_stats: bool = True, *, dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        kind = type(self).__name__
        self.num_features = layout.positive(num_features, f"{kind}(num_features=...)")
        self.eps, self.momentum = small(kind, eps), momentum
        if momentum is not None:
            self.momentum = float(checks.number(f"{kind}(momentum=...)", momentum, 0, 1, nan=False))
        shape = (self.num_features,)
        self.weight, self.bias = (learnt(shape, affine, value, dtype) for value in (1, 0))
        self.track_running_stats = bool(track_running_stats)
        tracked = self.track_running_stats
        zeros, ones = Tensor.zeros(shape, dtype=dtype), Tensor.ones(shape, dtype=dtype)
        count = Tensor(0)
        self.register_buffer("running_mean", zeros if tracked else None)
        self.register_buffer("running_var", ones if tracked else None)
        self.register_buffer("num_batches_tracked", count if tracked else None)

    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def checked(self, x: Tensor) -> Tensor:
        """x; ShapeError unless it has this norm's axes and num_features channels."""
        kind = type(self).__name__
        shape = checks.tensor(kind, x).shape
        if len(shape) not in self.axes:
            raise ShapeError(
                f"{kind} of shape {shape}", f"{len(shape)} axes", f"give {self.shapes}"
            )
        channels = shape[self.channel_axis(len(shape))]
        if channels != self.num_features:
            raise ShapeError(
                f"{kind}({self.num_features}) of shape {shape}", f"{channels} channels",
                f"make it {kind}({channels}), or give {self.num_features} channels",
            )  # fmt: skip
        return x

    def channel_axis(self, ndim: int) -> int:
        """The axis of the channels: after the examples."""
        return 1

    @no_grad
    def counted(self) -> float | Tensor:
        """Count a batch, and return its weight in the running statistics."""
        count = self.num_batches_tracked
        if count is None:
            return 0.0
        count.add_(1)
        return 1 / count if self.momentum is None else self.momentum


class BatchNorm(Running):
    """In training it uses the batch's mean and variance, and moves the running ones towards them;
    in eval() it uses the running ones (Ioffe & Szegedy 2015)."""

    def forward(self, x: Tensor) -> Tensor:
        self.checked(x)
        batch = self.training or self.running_mean is None
        share = self.counted() if self.training else 0.0
        return batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, batch, share, self.eps
        )


class BatchNorm1d(BatchNorm):
    """A batch norm of x (N, C) or (N, C, L): see BatchNorm. ShapeError for other shapes."""

    axes, shapes = (2, 3), "(N, C) or (N, C, L)"


class BatchNorm2d(BatchNorm):
    """A batch norm of x (N, C, H, W): see BatchNorm. ShapeError for other shapes."""

    axes, shapes = (4,), "(N, C, H, W)"


class BatchNorm3d(BatchNorm):
    """A batch norm of x (N, C, D, H, W): see BatchNorm. ShapeError for other shapes."""

    axes, shapes = (5,), "(N, C, D, H, W)"


class InstanceNorm(Running):
    """Uses the mean and variance of each channel of each example, over its places (Ulyanov et al.
    2016). track_running_stats keeps running averages of their means over the batch, for eval()."""

    @spelled  # only this: a wrapper would slow down every call
    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
        affine: bool = False, track_running_stats: bool = False, *, dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype=dtype)

    def forward(self, x: Tensor) -> Tensor:
        self.checked(x)
        single = x.ndim < self.axes[-1]
        own = self.training or self.running_mean is None
        kept = (self.running_mean, self.running_var) if not own or self.training else (None, None)
        z = instance_norm(x.unsqueeze(0) if single else x, *kept, self.weight, self.bias, own,
                            self.momentum or 0.0, self.eps)  # fmt: skip
        return z.squeeze(0) if single else z

    def channel_axis(self, ndim: int) -> int:
        """The axis of the channels: after the examples, if there are any."""
        return ndim - self.axes[0]


class InstanceNorm1d(InstanceNorm):
    """An instance norm of x (C, L) or (N, C, L): see InstanceNorm."""

    axes, shapes = (2, 3), "(C, L) or (N, C, L)"


class InstanceNorm2d(InstanceNorm):
    """An instance norm of x (C, H, W) or (N, C, H, W): see InstanceNorm."""

    axes, shapes = (3, 4), "(C, H, W) or (N, C, H, W)"
