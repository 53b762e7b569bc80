"""Losses of classes and probabilities: cross-entropies, and the divergence of two distributions.
`reduction` works as in tutor/nn/losses.py."""

from __future__ import annotations

import math

from tutor._storage import array_like
from tutor._storage.layout import whole_number
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Number, TensorLike
from tutor.core.engine import apply
from tutor.dtype import int64
from tutor.errors import DTypeError, OutOfRangeError, ShapeError
from tutor.methods.tensor import Tensor
from tutor.nn.losses import Loss, alike, as_tensor, reduced


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
def binary_cross_entropy(
    input: Tensor, target: TensorLike, weight: Tensor | Number | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """-(t ln p + (1 - t) ln(1 - p)), for probabilities p; each logarithm is at least -100

    Where p is 0 or 1 the clipped logarithm has no slope. A p outside [0, 1] gives nan. For logits
    (numbers before the sigmoid) use binary_cross_entropy_with_logits instead.
    """
    t = alike("binary_cross_entropy", input, target).cast(input.dtype)
    loss = -(t * bounded_log(input) + (1 - t) * bounded_log(1 - input))
    if weight is not None and not isinstance(weight, Tensor):
        checks.number("binary_cross_entropy(weight=...)", weight)
    return reduced(loss if weight is None else loss * weight, reduction)


def bounded_log(p: Tensor) -> Tensor:
    """max(ln p, -100); nan below 0"""
    tiny = (p >= 0) & (p < math.exp(-100))
    return apply("where", tiny, -100.0, apply("where", tiny, 1.0, p).log())


@spelled
def kl_div(
    input: Tensor, target: TensorLike, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """t (ln t - x), for log-probabilities x and probabilities t (or, with log_target, their
    logarithms): how far the distribution t is from e**x (Kullback & Leibler 1951)

    reduction="batchmean" divides the sum by the size of the first axis: the true KL divergence.
    """
    t = alike("kl_div", input, target)
    if log_target:
        loss = t.exp() * (t - input)
    else:
        some = t > 0
        loss = apply("where", some, t * apply("where", some, t, 1.0).log(), 0.0) - t * input
    if reduction == "batchmean":
        checks.at_least("kl_div", loss, 1)
        return loss.sum() / max(loss.shape[0], 1)
    return reduced(loss, reduction)


IGNORED = "ignore_index= names a number that is to count nothing"


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
        try:
            return rows.cross_entropy(t, reduction=reduction)
        except OutOfRangeError as error:
            raise OutOfRangeError(error.asked, error.found, f"{error.do}; {IGNORED}") from error
    logs = rows.log_softmax(-1)
    losses, counts = picked(logs, t, weight, ignore_index)
    loss = total(losses, counts, reduction)
    if not label_smoothing:
        return loss
    every = -(logs if weight is None else logs * weight).sum(-1)
    kept = every if ignore_index is None else apply("where", t == ignore_index, 0.0, every)
    smooth = total(kept, counts, reduction) / rows.shape[-1]
    return loss * (1 - label_smoothing) + smooth * label_smoothing


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
            f"give classes from 0 to {logs.shape[-1] - 1}; {IGNORED}",
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


# ---- layers --------------------------------------------------------------------------------------


@spelled
class BCELoss(Loss):
    """-(t ln p + (1 - t) ln(1 - p)) for probabilities p"""

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        self.given("weight", weight)
        self.reduced_by(reduction)

    def forward(self, input: Tensor, target: TensorLike) -> Tensor:
        return binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


@spelled
class BCEWithLogitsLoss(Loss):
    """BCELoss of sigmoid(x), computed so that nothing overflows"""

    def __init__(
        self,
        weight: Tensor | None = None,
        pos_weight: Tensor | None = None,
        reduction: str = "mean",
    ) -> None:
        self.given("weight", weight)
        self.given("pos_weight", pos_weight)
        self.reduced_by(reduction)

    def forward(self, input: Tensor, target: TensorLike) -> Tensor:
        return binary_cross_entropy_with_logits(
            input, target, weight=self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


@spelled
class KLDivLoss(Loss):
    """t (ln t - x) for log-probabilities x; "batchmean" is the divergence itself"""

    def __init__(self, log_target: bool = False, reduction: str = "mean") -> None:
        self.log_target = bool(log_target)
        self.reduced_by(reduction, ("batchmean",))

    def forward(self, input: Tensor, target: TensorLike) -> Tensor:
        return kl_div(input, target, log_target=self.log_target, reduction=self.reduction)


@spelled
class CrossEntropyLoss(Loss):
    """-ln softmax(x)[t], for logits x (N, C, *S) and class numbers t (N, *S), or probabilities. The
    settings are those of F.cross_entropy. Do not put a softmax before it."""

    def __init__(
        self, weight: Tensor | None = None, ignore_index: int | None = None,
        reduction: str = "mean", label_smoothing: float = 0.0,
    ) -> None:  # fmt: skip
        self.given("weight", weight)
        self.ignore_index = class_number("CrossEntropyLoss", ignore_index)
        self.reduced_by(reduction)
        what = "CrossEntropyLoss(label_smoothing=...)"
        self.label_smoothing = float(checks.number(what, label_smoothing, 0, 1, nan=False))

    def forward(self, input: Tensor, target: TensorLike) -> Tensor:
        return cross_entropy(
            input, target, self.weight, self.ignore_index, self.reduction, self.label_smoothing
        )


@spelled
class NLLLoss(Loss):
    """-x[t], for log-probabilities x (N, C, *S) and class numbers t (N, *S): see F.nll_loss"""

    def __init__(
        self, weight: Tensor | None = None, ignore_index: int | None = None,
        reduction: str = "mean",
    ) -> None:  # fmt: skip
        self.given("weight", weight)
        self.ignore_index = class_number("NLLLoss", ignore_index)
        self.reduced_by(reduction)

    def forward(self, input: Tensor, target: TensorLike) -> Tensor:
        return nll_loss(input, target, self.weight, self.ignore_index, self.reduction)


def class_number(kind: str, ignore_index: int | None) -> int | None:
    if ignore_index is None:
        return None
    return whole_number(ignore_index, f"{kind}(ignore_index=...)")
