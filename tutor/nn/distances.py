"""Distances and similarities of vectors, and the losses built from them. `reduction` works as in
tutor/nn/losses.py."""

from __future__ import annotations

import math

from tutor._storage import layout
from tutor._storage.layout import broadcast_shapes
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Axis, TensorLike
from tutor.core.engine import apply
from tutor.errors import DTypeError, ShapeError
from tutor.methods.tensor import Tensor
from tutor.nn.losses import Loss, alike, as_tensor, reduced
from tutor.nn.module import Module


@spelled
def normalize(input: Tensor, p: float = 2.0, axis: Axis = 1, eps: float = 1e-12) -> Tensor:
    """x / max(|x|, eps), with the p-norm |x| along the axis: vectors of length 1"""
    x: Tensor = checks.tensor("normalize(input)", input)
    return x / length("normalize", x, p, axis, eps)


def length(name: str, x: Tensor, p: float, axis: Axis, eps: float) -> Tensor:
    """max(|x|, eps) along the axis, kept with size 1; its gradient is 0 where x is 0."""
    least = checks.number(f"{name}(eps=...)", eps, 0)
    if checks.number(f"{name}(p=...)", p) != 2:
        return x.norm(p, axis, keepdims=True).maximum(least)
    return root((x * x).sum(axis, keepdims=True), least * least)


def root(squares: Tensor, least: float) -> Tensor:
    """sqrt(max(squares, least)), with gradient 0 where the squares are below `least`, even for
    least=0: sqrt has an infinite slope at 0, and 0 * inf is nan."""
    inside = squares > least
    return apply("where", inside, apply("where", inside, squares, 1.0).sqrt(), math.sqrt(least))


@spelled
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False
) -> Tensor:
    """|x1 - x2 + eps|, the p-norm along the last axis"""
    checks.tensors("pairwise_distance", (x1, x2))
    away: Tensor = x1 - x2 + checks.number("pairwise_distance(eps=...)", eps)
    checks.at_least("pairwise_distance", away, 1)
    order = checks.number("pairwise_distance(p=...)", p)
    return away.norm(order, -1, keepdims=bool(keepdims))


@spelled
def cosine_similarity(x1: Tensor, x2: Tensor, axis: Axis = 1, eps: float = 1e-8) -> Tensor:
    """x1 · x2 / (max(|x1|, eps) max(|x2|, eps)) along the axis: 1 for vectors of one direction

    Both are first broadcast to one shape, including the axis itself: a size of 1 against 3 means
    three equal numbers, and its norm is that of all three.
    """
    checks.tensors("cosine_similarity", (x1, x2))
    shape = broadcast_shapes("cosine_similarity", x1.shape, x2.shape)
    whole = (x.expand(shape) for x in (x1, x2))
    a, b = (x / length("cosine_similarity", x, 2, axis, eps) for x in whole)
    return (a * b).sum(axis)


# ---- losses --------------------------------------------------------------------------------------


@spelled
def hinge_embedding_loss(
    input: Tensor, target: TensorLike, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """x where t is 1, max(0, margin - x) where t is -1, for distances x of similar/unlike pairs"""
    t = alike("hinge_embedding_loss", input, target)
    apart = (number("hinge_embedding_loss", margin) - input).relu()
    loss = apply("where", t == 1, input, apply("where", t == -1, apart, 0.0))
    return reduced(loss, reduction)


@spelled
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: TensorLike, margin: float = 0.0,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """max(0, margin - t (x1 - x2)): x1 should be larger where t is 1, x2 where t is -1"""
    other = alike("margin_ranking_loss", input1, input2)
    t = alike("margin_ranking_loss", input1, target)
    loss = (number("margin_ranking_loss", margin) - t * (input1 - other)).relu()
    return reduced(loss, reduction)


@spelled
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: TensorLike, margin: float = 0.0,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """1 - c where t is 1, max(0, c - margin) where t is -1; c is the cosine similarity of rows of
    x1 and x2 (N, D), for targets (N)"""
    other = alike("cosine_embedding_loss", input1, input2)
    t = as_tensor("cosine_embedding_loss", input1, target)
    if t.shape != input1.shape[:-1] or not input1.ndim:
        raise ShapeError(
            f"cosine_embedding_loss of inputs {input1.shape} and a target {t.shape}",
            "there must be one target for each row", "give (N, D), (N, D) and (N)",
        )  # fmt: skip
    tiny = 1e-12  # added to the squares: the cosine with a row of zeros is 0
    lengths = ((input1 * input1).sum(-1) + tiny) * ((other * other).sum(-1) + tiny)
    cosine = (input1 * other).sum(-1) / lengths.sqrt()
    apart = (cosine - number("cosine_embedding_loss", margin)).relu()
    loss = apply("where", t == 1, 1 - cosine, apply("where", t == -1, apart, 0.0))
    return reduced(loss, reduction)


@spelled
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0,
    eps: float = 1e-6, swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """max(0, |a - p| - |a - n| + margin), distances between rows: the anchor should be closer to
    the positive example than to the negative one (Schroff et al. 2015); with `swap` the negative's
    distance is the smaller of its distances to the anchor and to the positive example"""
    near, far = (alike("triplet_margin_loss", anchor, x) for x in (positive, negative))
    gap = number("triplet_margin_loss", margin)
    away = pairwise_distance(anchor, far, p, eps)
    if swap:
        away = away.minimum(pairwise_distance(near, far, p, eps))
    return reduced((pairwise_distance(anchor, near, p, eps) - away + gap).relu(), reduction)


def number(name: str, margin: float) -> float:
    found = checks.number(f"{name}(margin=...)", margin)
    if not math.isfinite(found):
        raise DTypeError(f"{name}({margin=})", "it is not finite", "give a number, for example 1.0")
    return float(found)


# ---- layers --------------------------------------------------------------------------------------


@spelled
class CosineSimilarity(Module):
    """x1 · x2 / (|x1| |x2|) along the axis: see F.cosine_similarity"""

    def __init__(self, axis: Axis = 1, eps: float = 1e-8) -> None:
        self.axis = layout.whole_number(axis, "CosineSimilarity(axis=...)")
        self.eps = float(checks.number("CosineSimilarity(eps=...)", eps, 0))

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return cosine_similarity(x1, x2, self.axis, self.eps)


@spelled
class PairwiseDistance(Module):
    """|x1 - x2 + eps|, the p-norm along the last axis: see F.pairwise_distance"""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False) -> None:
        self.p = float(checks.number("PairwiseDistance(p=...)", p, 0))
        self.eps = float(checks.number("PairwiseDistance(eps=...)", eps))
        self.keepdims = bool(keepdims)

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return pairwise_distance(x1, x2, self.p, self.eps, self.keepdims)


@spelled
class HingeEmbeddingLoss(Loss):
    """x where t is 1, max(0, margin - x) where it is -1"""

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        self.margin = self.real("margin", margin)
        self.reduced_by(reduction)

    def forward(self, input: Tensor, target: TensorLike) -> Tensor:
        return hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


@spelled
class MarginRankingLoss(Loss):
    """max(0, margin - t (x1 - x2))"""

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        self.margin = self.real("margin", margin)
        self.reduced_by(reduction)

    def forward(self, input1: Tensor, input2: Tensor, target: TensorLike) -> Tensor:
        return margin_ranking_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


@spelled
class CosineEmbeddingLoss(Loss):
    """1 - cos(x1, x2) where t is 1, max(0, cos(x1, x2) - margin) where it is -1"""

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        self.margin = self.real("margin", margin)
        self.reduced_by(reduction)

    def forward(self, input1: Tensor, input2: Tensor, target: TensorLike) -> Tensor:
        return cosine_embedding_loss(
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
        return triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )
