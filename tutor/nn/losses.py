"""Losses as layers: each applies the function of the same name in tutor.nn.functional, which has
the formula, to an input and a target.

`reduction` is "mean", "sum" or "none"; for KLDivLoss also "batchmean".
"""

from __future__ import annotations

from tutor._storage import layout
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Axis, Number, TensorLike
from tutor.methods.tensor import Tensor
from tutor.nn import functional as F  # noqa: N812 - as everybody writes it
from tutor.nn.module import Module

REDUCTIONS = ("mean", "sum", "none")


class Loss(Module):
    """The base class of the losses."""

    def reduced_by(self, reduction: str, more: tuple[str, ...] = ()) -> None:
        what = f"{type(self).__name__}(reduction=...)"
        self.reduction = checks.one_of(what, reduction, (*REDUCTIONS, *more))

    def real(self, name: str, x: float, least: float = -float("inf")) -> float:
        """A setting as a float; an error unless it is a number of at least `least`."""
        return float(checks.number(f"{type(self).__name__}({name}=...)", x, least, nan=False))

    weight: Tensor | None
    pos_weight: Tensor | None

    def given(self, name: str, t: Tensor | None) -> None:
        """A setting that is a Tensor: a buffer, saved with the model but not trained."""
        if t is not None:
            checks.tensor(f"{type(self).__name__}({name}=...)", t)
        self.register_buffer(name, t)


@spelled
class MSELoss(Loss):
    """(x - t)**2"""

    def __init__(self, reduction: str = "mean") -> None:
        self.reduced_by(reduction)

    def forward(self, input: Tensor, target: TensorLike) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


@spelled
class L1Loss(Loss):
    """|x - t|"""

    def __init__(self, reduction: str = "mean") -> None:
        self.reduced_by(reduction)

    def forward(self, input: Tensor, target: TensorLike) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


@spelled
class HuberLoss(Loss):
    """d**2 / 2 for d = |x - t| < delta, else delta (d - delta / 2)"""

    def __init__(self, delta: float = 1.0, reduction: str = "mean") -> None:
        self.delta = self.real("delta", delta)
        self.reduced_by(reduction)

    def forward(self, input: Tensor, target: TensorLike) -> Tensor:
        return F.huber_loss(input, target, delta=self.delta, reduction=self.reduction)


@spelled
class SmoothL1Loss(Loss):
    """d**2 / (2 beta) for d = |x - t| < beta, else d - beta / 2"""

    def __init__(self, beta: float = 1.0, reduction: str = "mean") -> None:
        self.beta = self.real("beta", beta, 0)
        self.reduced_by(reduction)

    def forward(self, input: Tensor, target: TensorLike) -> Tensor:
        return F.smooth_l1_loss(input, target, beta=self.beta, reduction=self.reduction)


@spelled
class BCELoss(Loss):
    """-(t ln p + (1 - t) ln(1 - p)) for probabilities p"""

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        self.given("weight", weight)
        self.reduced_by(reduction)

    def forward(self, input: Tensor, target: TensorLike) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


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
        return F.binary_cross_entropy_with_logits(
            input, target, weight=self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


@spelled
class KLDivLoss(Loss):
    """t (ln t - x) for log-probabilities x; "batchmean" is the divergence itself"""

    def __init__(self, log_target: bool = False, reduction: str = "mean") -> None:
        self.log_target = bool(log_target)
        self.reduced_by(reduction, ("batchmean",))

    def forward(self, input: Tensor, target: TensorLike) -> Tensor:
        return F.kl_div(input, target, log_target=self.log_target, reduction=self.reduction)


@spelled
class PoissonNLLLoss(Loss):
    """e**x - t x: see F.poisson_nll_loss"""

    def __init__(
        self, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean"
    ) -> None:
        self.log_input, self.full = bool(log_input), bool(full)
        self.eps = self.real("eps", eps, 0)
        self.reduced_by(reduction)

    def forward(self, input: Tensor, target: TensorLike) -> Tensor:
        return F.poisson_nll_loss(
            input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


@spelled
class GaussianNLLLoss(Loss):
    """(ln v + (x - t)**2 / v) / 2: see F.gaussian_nll_loss"""

    def __init__(self, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        self.full, self.eps = bool(full), self.real("eps", eps, 0)
        self.reduced_by(reduction)

    def forward(self, input: Tensor, target: TensorLike, var: Tensor | Number) -> Tensor:
        return F.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )


@spelled
class SoftMarginLoss(Loss):
    """ln(1 + e**(-t x)), for targets 1 and -1"""

    def __init__(self, reduction: str = "mean") -> None:
        self.reduced_by(reduction)

    def forward(self, input: Tensor, target: TensorLike) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


@spelled
class HingeEmbeddingLoss(Loss):
    """x where t is 1, max(0, margin - x) where it is -1"""

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        self.margin = self.real("margin", margin)
        self.reduced_by(reduction)

    def forward(self, input: Tensor, target: TensorLike) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


@spelled
class MarginRankingLoss(Loss):
    """max(0, margin - t (x1 - x2))"""

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        self.margin = self.real("margin", margin)
        self.reduced_by(reduction)

    def forward(self, input1: Tensor, input2: Tensor, target: TensorLike) -> Tensor:
        return F.margin_ranking_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


@spelled
class CosineEmbeddingLoss(Loss):
    """1 - cos(x1, x2) where t is 1, max(0, cos(x1, x2) - margin) where it is -1"""

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        self.margin = self.real("margin", margin)
        self.reduced_by(reduction)

    def forward(self, input1: Tensor, input2: Tensor, target: TensorLike) -> Tensor:
        return F.cosine_embedding_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


@spelled
class TripletMarginLoss(Loss):
    """max(0, |a - p| - |a - n| + margin): see F.triplet_margin_loss"""

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        self.margin, self.p = self.real("margin", margin), self.real("p", p)
        self.eps, self.swap = self.real("eps", eps), bool(swap)
        self.reduced_by(reduction)

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


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
        return F.cross_entropy(
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
        return F.nll_loss(input, target, self.weight, self.ignore_index, self.reduction)


def class_number(kind: str, ignore_index: int | None) -> int | None:
    if ignore_index is None:
        return None
    return layout.whole_number(ignore_index, f"{kind}(ignore_index=...)")


@spelled
class CosineSimilarity(Module):
    """x1 · x2 / (|x1| |x2|) along the axis: see F.cosine_similarity"""

    def __init__(self, axis: Axis = 1, eps: float = 1e-8) -> None:
        self.axis = layout.whole_number(axis, "CosineSimilarity(axis=...)")
        self.eps = float(checks.number("CosineSimilarity(eps=...)", eps, 0))

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.axis, self.eps)


@spelled
class PairwiseDistance(Module):
    """|x1 - x2 + eps|, the p-norm along the last axis: see F.pairwise_distance"""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False) -> None:
        self.p = float(checks.number("PairwiseDistance(p=...)", p, 0))
        self.eps = float(checks.number("PairwiseDistance(eps=...)", eps))
        self.keepdims = bool(keepdims)

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.p, self.eps, self.keepdims)
