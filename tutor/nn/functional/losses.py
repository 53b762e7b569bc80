"""Losses: how far a prediction is from its target.

They take `reduction`: "mean" (the default), "sum", or "none" for one number per element or row.
"""

from __future__ import annotations

from tutor._storage import array_like
from tutor._storage.layout import whole_number
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Number, TensorLike
from tutor.core.engine import apply
from tutor.dtype import int64
from tutor.errors import DomainError, DTypeError, OutOfRangeError, ShapeError
from tutor.methods.tensor import Tensor


def reduced(loss: Tensor, reduction: str) -> Tensor:
    """The losses unreduced, their mean, or their sum."""
    checks.one_of("a loss with reduction=...", reduction, ("mean", "sum", "none"))
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def alike(name: str, input: Tensor, target: TensorLike) -> Tensor:
    """`target` as a Tensor of input's shape. Broadcasting (N,) against (N, 1) would silently
    compare every prediction with every target."""
    beside = as_tensor(name, input, target)
    if beside.shape != input.shape:
        raise ShapeError(
            f"{name} of an input {input.shape} and a target {beside.shape}",
            "the shapes differ, and a loss compares element with element",
            "reshape one of them: .squeeze(-1) takes an axis of size 1 away",
        )
    return beside


def as_tensor(name: str, input: Tensor, target: TensorLike) -> Tensor:
    """`target` as a Tensor; input must be one."""
    checks.tensor(f"{name}(input)", input)
    return target if isinstance(target, Tensor) else input.wrap(target)


@spelled
def mse_loss(input: Tensor, target: TensorLike, reduction: str = "mean") -> Tensor:
    """(x - t)**2"""
    away = input - alike("mse_loss", input, target)
    return reduced(away * away, reduction)


@spelled
def l1_loss(input: Tensor, target: TensorLike, reduction: str = "mean") -> Tensor:
    """|x - t|"""
    return reduced((input - alike("l1_loss", input, target)).abs(), reduction)


@spelled
def huber_loss(
    input: Tensor, target: TensorLike, reduction: str = "mean", delta: float = 1.0
) -> Tensor:
    """d**2 / 2 for d = |x - t| < delta, else delta (d - delta / 2): a square that continues as a
    straight line (Huber 1964, "Robust estimation of a location parameter")."""
    if not checks.number("huber_loss(delta=...)", delta) > 0:
        raise DomainError(f"huber_loss({delta=})", "no distance", "give a delta above 0")
    away = input - alike("huber_loss", input, target)
    size = away.abs()
    loss = apply("where", size < delta, away * away * 0.5, (size - delta / 2) * delta)
    return reduced(loss, reduction)


@spelled
def binary_cross_entropy_with_logits(
    input: Tensor, target: TensorLike, weight: Tensor | Number | None = None,
    reduction: str = "mean", pos_weight: Tensor | Number | None = None,
) -> Tensor:  # fmt: skip
    """-(t ln s + (1 - t) ln(1 - s)) with s = sigmoid(x), for targets t from 0 to 1

    Computed as (1 - t) x + (1 + (pos_weight - 1) t) ln(1 + e**-x), which does not overflow.
    """
    t = alike("binary_cross_entropy_with_logits", input, target).cast(input.dtype)
    for given in (weight, pos_weight):
        if given is not None and not array_like.is_tensor(given):
            checks.number("a weight of binary_cross_entropy_with_logits", given)
    positive = 1.0 if pos_weight is None else (pos_weight - 1.0) * t + 1.0
    loss = (1 - t) * input + (-input).softplus() * positive
    return reduced(loss if weight is None else loss * weight, reduction)


@spelled
def cross_entropy(
    input: Tensor, target: TensorLike, weight: Tensor | None = None,
    ignore_index: int | None = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """-ln softmax(x)[t], for logits x (N, C) or (N, C, *S) and class numbers t (N) or (N, *S)

    weight (C) scales the loss of each class; "mean" divides by the sum of the weights. Rows whose
    target is ignore_index do not count (the default None ignores no row; PyTorch's is -100).
    label_smoothing e mixes each target with the mean over all classes, (1 - e) to e (Szegedy et al.
    2016). Targets may also be probabilities, of x's shape and a float dtype.
    """
    t = as_tensor("cross_entropy", input, target)
    rows = by_rows("cross_entropy", input)
    checks.number("cross_entropy(label_smoothing=...)", label_smoothing, 0, 1, nan=False)
    weight, ignore_index = settings(weight, ignore_index)
    if t.dtype.is_float:
        t = alike("cross_entropy", input, t) * (1 - label_smoothing)
        t = t + label_smoothing / rows.shape[-1]
        weights = t if weight is None else t * by_class(weight, input)
        loss = -(input.log_softmax(min(1, input.ndim - 1)) * weights).sum(min(1, input.ndim - 1))
        return reduced(loss, reduction)
    if weight is None and ignore_index is None and not label_smoothing:
        return rows.cross_entropy(t, reduction=reduction)
    logs = rows.log_softmax(-1)
    losses, counts = picked(logs, t, weight, ignore_index)
    loss = total(losses, counts, reduction)
    if not label_smoothing:
        return loss
    every = -(logs if weight is None else logs * weight).sum(-1)
    kept = every if ignore_index is None else apply("where", t == ignore_index, 0.0, every)
    smooth = total(kept, counts, reduction) / rows.shape[-1]
    return loss * (1 - label_smoothing) + smooth * label_smoothing


def by_rows(name: str, input: Tensor) -> Tensor:
    """(N, C, *S) as (N, *S, C)."""
    return input.movedim(1, -1) if checks.at_least(name, input, 1).ndim > 1 else input


def settings(weight: Tensor | None, ignore_index: int | None) -> tuple[Tensor | None, int | None]:
    """Checks the optional settings of a loss over classes."""
    weight = weight if weight is None else checks.tensor("the weight of a loss", weight)
    return weight, ignore_index if ignore_index is None else whole_number(
        ignore_index, "ignore_index"
    )


def by_class(weight: Tensor, input: Tensor) -> Tensor:
    """Weights (C), shaped to broadcast against (N, C, *S)."""
    return weight.reshape((-1, *[1] * max(input.ndim - 2, 0)))


@spelled
def nll_loss(
    input: Tensor, target: TensorLike, weight: Tensor | None = None,
    ignore_index: int | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """-x[t], for log-probabilities x (N, C) or (N, C, *S) and classes t: see cross_entropy."""
    t, (weight, ignore_index) = as_tensor("nll_loss", input, target), settings(weight, ignore_index)
    rows = by_rows("nll_loss", input)
    losses, counts = picked(rows, t, weight, ignore_index)
    return total(losses, counts, reduction)


def picked(
    logs: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int | None
) -> tuple[Tensor, Tensor]:
    """-weight * logs at the target, and the weight, for each row (..., C)."""
    if not target.dtype.is_integer:
        raise DTypeError(
            f"class numbers of {target.dtype.name}", "a class is a whole number", "cast to int64"
        )
    if target.shape != logs.shape[:-1]:
        raise ShapeError(
            f"targets {target.shape} for rows {logs.shape[:-1]} of {logs.shape[-1]} classes",
            "there must be one target for each row",
            "give (N, C) with (N), or (N, C, *S) with (N, *S)",
        )
    if weight is not None and weight.shape != logs.shape[-1:]:
        raise ShapeError(f"weight {weight.shape}", f"{logs.shape[-1]} classes", "one for each")
    ignored = None if ignore_index is None else target == ignore_index
    safe = (target if ignored is None else apply("where", ignored, 0, target)).cast(int64)
    place = apply("where", safe < 0, logs.shape[-1], safe)  # not a class, so the kernel refuses it
    try:
        at_target = logs.gather(-1, place.unsqueeze(-1)).squeeze(-1)
    except OutOfRangeError:
        raise OutOfRangeError(
            f"targets for {logs.shape[-1]} classes",
            checks.span(safe),
            f"give classes from 0 to {logs.shape[-1] - 1}; ignore_index= names a number that is to"
            " count nothing",
        ) from None
    counts = logs.like(1, target.shape)
    if weight is not None:
        counts = weight.index_select(0, place.flatten()).reshape(place.shape)
    if ignored is not None:
        counts = apply("where", ignored, 0.0, counts)
    if ignored is not None:  # 0 * inf would be nan
        at_target = apply("where", ignored, 0.0, at_target)
    return -at_target * counts, counts


def total(losses: Tensor, counts: Tensor, reduction: str) -> Tensor:
    """Like `reduced`, but with a weighted mean."""
    if reduction == "mean":
        return losses.sum() / counts.sum()
    return reduced(losses, reduction)
