"""Layers that give numbers mean 0 and variance 1, and then a learnt scale and shift.

They differ in what they average over: batch norm over the examples and places of each channel,
layer norm over the last axes of each example, group norm over groups of an example's channels,
instance norm over the places of each example's channel. tutor.nn.functional has the formulas.
"""

from __future__ import annotations

from tutor._storage import layout
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import DTypeLike, Sizes
from tutor.core.engine.grad_mode import no_grad
from tutor.errors import ShapeError
from tutor.methods.tensor import Tensor
from tutor.nn import functional as F  # noqa: N812 - as everybody writes it
from tutor.nn.module import Module


def learnt(shape: tuple[int, ...], wanted: bool, value: float, dtype: DTypeLike) -> Tensor | None:
    """A learnt scale (starts at 1) or shift (starts at 0), or None if not wanted."""
    return Tensor.full(shape, value, dtype=dtype, requires_grad=True) if wanted else None


def small(layer: Module, eps: float) -> float:
    return float(checks.number(f"{type(layer).__name__}(eps=...)", eps, 0))


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
        self.eps, self.momentum = small(self, eps), momentum
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
        return F.batch_norm(
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
        z = F.instance_norm(x.unsqueeze(0) if single else x, *kept, self.weight, self.bias, own,
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


@spelled
class LayerNorm(Module):
    """(x - mean) / sqrt(var + eps) * weight + bias over the last axes, `normalized_shape`, of each
    example; weight and bias also have that shape (Ba, Kiros & Hinton 2016)."""

    def __init__(
        self, normalized_shape: Sizes, eps: float = 1e-5, elementwise_affine: bool = True,
        bias: bool = True, *, dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        self.normalized_shape = sizes("LayerNorm", normalized_shape)
        self.eps = small(self, eps)
        self.weight = learnt(self.normalized_shape, elementwise_affine, 1, dtype)
        self.bias = learnt(self.normalized_shape, elementwise_affine and bias, 0, dtype)

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


@spelled
class RMSNorm(Module):
    """x / sqrt(mean of x**2 + eps) * weight over the last axes, `normalized_shape` (Zhang &
    Sennrich 2019); eps=None means the distance from 1 to the next number of the dtype."""

    def __init__(
        self, normalized_shape: Sizes, eps: float | None = None, elementwise_affine: bool = True,
        *, dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        self.normalized_shape = sizes("RMSNorm", normalized_shape)
        self.eps = None if eps is None else small(self, eps)
        self.weight = learnt(self.normalized_shape, elementwise_affine, 1, dtype)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)


@spelled
class GroupNorm(Module):
    """A layer norm over each of `num_groups` groups of the channels of x (N, C, ...), and all their
    places; weight (C), bias (C) (Wu & He 2018). ShapeError if num_groups does not divide C."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
        *, dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        self.num_groups = layout.positive(num_groups, "GroupNorm(num_groups=...)")
        self.num_channels = layout.positive(num_channels, "GroupNorm(num_channels=...)")
        if self.num_channels % self.num_groups:
            raise ShapeError(
                f"GroupNorm({num_groups}, {num_channels})",
                f"{num_channels} channels do not divide into {num_groups} groups",
                "num_channels must be a multiple of num_groups",
            )
        self.eps, shape = small(self, eps), (self.num_channels,)
        self.weight, self.bias = (learnt(shape, affine, value, dtype) for value in (1, 0))

    def forward(self, x: Tensor) -> Tensor:
        if checks.at_least("GroupNorm", x, 2).shape[1] != self.num_channels:
            raise ShapeError(
                f"GroupNorm({self.num_groups}, {self.num_channels}) of shape {x.shape}",
                f"{x.shape[1]} channels", f"give (N, {self.num_channels}, ...)",
            )  # fmt: skip
        return F.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)


def sizes(kind: str, normalized_shape: Sizes) -> tuple[int, ...]:
    """The sizes of the last axes, at least one."""
    found = layout.checked_shape(
        layout.whole_numbers(normalized_shape, f"{kind}(normalized_shape)")
    )
    if not found:
        raise ShapeError(
            f"{kind}({normalized_shape})", "no axis", "give the sizes of the last axes"
        )
    return found
