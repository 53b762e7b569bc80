"""More losses, and the distances they are built from. `reduction` works as in losses.py."""

from __future__ import annotations

import math

from tutor._storage.layout import broadcast_shapes
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Axis, Number, TensorLike
from tutor.core.engine import apply
from tutor.errors import DTypeError, ShapeError
from tutor.methods.tensor import Tensor
from tutor.nn.functional.losses import alike, as_tensor, reduced

# ---- distances -----------------------------------------------------------------------------------


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


# ---- losses of two -------------------------------------------------------------------------------


@spelled
def smooth_l1_loss(
    input: Tensor, target: TensorLike, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """d**2 / (2 beta) for d = |x - t| < beta, else d - beta / 2: huber_loss / beta, and l1_loss for
    beta = 0 (Girshick 2015)"""
    away = input - alike("smooth_l1_loss", input, target)
    edge, size = checks.number("smooth_l1_loss(beta=...)", beta, 0, nan=False), away.abs()
    if edge == 0:
        return reduced(size, reduction)
    loss = apply("where", size < edge, away * away * (0.5 / edge), size - edge / 2)
    return reduced(loss, reduction)


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


@spelled
def gaussian_nll_loss(
    input: Tensor, target: TensorLike, var: Tensor | Number, full: bool = False, eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """(ln v + (x - t)**2 / v) / 2 with v = max(var, eps); `full` adds ln(2 pi) / 2. With it, this
    is minus the logarithm of the normal density at t, with mean x and variance v"""
    t = alike("gaussian_nll_loss", input, target)
    wide = (
        var
        if isinstance(var, Tensor)
        else input.like(checks.number("gaussian_nll_loss(var)", var, 0))
    )
    if wide.shape not in (input.shape, input.shape[:-1], (*input.shape[:-1], 1), ()):
        raise ShapeError(
            f"gaussian_nll_loss of {input.shape}, var {wide.shape}", "the shapes differ",
            "give one variance for each number, or one for each row",
        )  # fmt: skip
    if wide.shape == input.shape[:-1] and wide.ndim < input.ndim:
        wide = wide.unsqueeze(-1)
    v = wide.maximum(checks.number("gaussian_nll_loss(eps=...)", eps, 0))
    away = input - t
    loss = (v.log() + away * away / v) * 0.5
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


@spelled
def poisson_nll_loss(
    input: Tensor, target: TensorLike, log_input: bool = True, full: bool = False,
    eps: float = 1e-8, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """e**x - t x, or, without log_input, x - t ln(x + eps): minus the log-probability of t events
    where e**x (or x) are expected, without the term ln t!. `full` adds that term, for t above 1, by
    Stirling's formula t ln t - t + ln(2 pi t) / 2"""
    t = alike("poisson_nll_loss", input, target).cast(input.dtype)
    least = checks.number("poisson_nll_loss(eps=...)", eps, 0)
    loss = input.exp() - t * input if log_input else input - t * (input + least).log()
    if full:
        many = t > 1
        n = apply("where", many, t, 1.0)
        loss = loss + apply("where", many, n * n.log() - n + (n * (2 * math.pi)).log() * 0.5, 0.0)
    return reduced(loss, reduction)


@spelled
def soft_margin_loss(input: Tensor, target: TensorLike, reduction: str = "mean") -> Tensor:
    """ln(1 + e**(-t x)), for targets t of 1 and -1"""
    return reduced((-alike("soft_margin_loss", input, target) * input).softplus(), reduction)


@spelled
def hinge_embedding_loss(
    input: Tensor, target: TensorLike, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """x where t is 1, max(0, margin - x) where t is -1, for distances x of similar/unlike pairs"""
    t = alike("hinge_embedding_loss", input, target)
    apart = (number("hinge_embedding_loss", margin) - input).relu()
    loss = apply("where", t == 1, input, apply("where", t == -1, apart, 0.0))
    return reduced(loss, reduction)


# ---- losses of three -----------------------------------------------------------------------------


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
