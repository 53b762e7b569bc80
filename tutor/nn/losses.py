"""Losses: how far a prediction is from its target, element by element. Functions, and layers that
apply them. tutor/nn/class_losses.py has the losses over classes, and tutor/nn/distances.py those
built from distances.

They take `reduction`: "mean" (the default), "sum", or "none" for one number per element or row.
"""

from __future__ import annotations

import math

from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Number, TensorLike
from tutor.core.engine import apply
from tutor.errors import DomainError, ShapeError
from tutor.methods.tensor import Tensor
from tutor.nn.module import Module

REDUCTIONS = ("mean", "sum", "none")


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


# ---- layers --------------------------------------------------------------------------------------


class Loss(Module):
    """The base class of the losses."""

    @spelled  # only this: a wrapper would slow down every call
    def __init__(self, reduction: str = "mean") -> None:
        self.reduced_by(reduction)

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


class MSELoss(Loss):
    """(x - t)**2"""

    def forward(self, input: Tensor, target: TensorLike) -> Tensor:
        return mse_loss(input, target, reduction=self.reduction)


class L1Loss(Loss):
    """|x - t|"""

    def forward(self, input: Tensor, target: TensorLike) -> Tensor:
        return l1_loss(input, target, reduction=self.reduction)


@spelled
class HuberLoss(Loss):
    """d**2 / 2 for d = |x - t| < delta, else delta (d - delta / 2)"""

    def __init__(self, delta: float = 1.0, reduction: str = "mean") -> None:
        self.delta = self.real("delta", delta)
        self.reduced_by(reduction)

    def forward(self, input: Tensor, target: TensorLike) -> Tensor:
        return huber_loss(input, target, delta=self.delta, reduction=self.reduction)


@spelled
class SmoothL1Loss(Loss):
    """d**2 / (2 beta) for d = |x - t| < beta, else d - beta / 2"""

    def __init__(self, beta: float = 1.0, reduction: str = "mean") -> None:
        self.beta = self.real("beta", beta, 0)
        self.reduced_by(reduction)

    def forward(self, input: Tensor, target: TensorLike) -> Tensor:
        return smooth_l1_loss(input, target, beta=self.beta, reduction=self.reduction)


@spelled
class GaussianNLLLoss(Loss):
    """(ln v + (x - t)**2 / v) / 2: see F.gaussian_nll_loss"""

    def __init__(self, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        self.full, self.eps = bool(full), self.real("eps", eps, 0)
        self.reduced_by(reduction)

    def forward(self, input: Tensor, target: TensorLike, var: Tensor | Number) -> Tensor:
        return gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )


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
        return poisson_nll_loss(
            input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class SoftMarginLoss(Loss):
    """ln(1 + e**(-t x)), for targets 1 and -1"""

    def forward(self, input: Tensor, target: TensorLike) -> Tensor:
        return soft_margin_loss(input, target, reduction=self.reduction)
