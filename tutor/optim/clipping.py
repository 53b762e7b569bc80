"""Clipping: gradients that are too large are scaled down before a step.

    loss.backward()
    norm = clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()

It works on Tensors, in place, so a function under tutor.jit may clip, and follows the gradients.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tutor._storage import bounds_checks
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.core.engine import apply
from tutor.core.engine.grad_mode import no_grad
from tutor.dtype import float32
from tutor.errors import DomainError
from tutor.methods.tensor import Tensor
from tutor.optim.limits import Limit

LARGEST = Limit("a number above 0", 0, math.inf, "least", "1.0")


def several(name: str, parameters: Tensor | Iterable[Tensor]) -> tuple[Tensor, ...]:
    """One Tensor, or any number of them, as a tuple. DTypeError for anything else."""
    if isinstance(parameters, Tensor):
        return (parameters,)
    given: Any = list(parameters) if hasattr(parameters, "__next__") else parameters
    return checks.tensors(name, given)


def gradients(name: str, parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    """The gradients of the parameters that have one."""
    return [p.grad for p in several(name, parameters) if p.grad is not None]


@spelled
@no_grad()
def get_total_norm(tensors: Iterable[Tensor], norm_type: float = 2.0) -> Tensor:
    """The norm of all numbers of all tensors, (sum |x|^p)^(1/p), as one Tensor of shape (); for
    `norm_type=inf` the largest |x|. 16-bit floats are added in float32. 0 for no tensors."""
    asked = f"a norm of type {norm_type!r}"
    order = Limit("a number above 0, or inf", 0, math.inf, "least", "2.0").checked(asked, norm_type)
    given = several("get_total_norm", tensors)
    wide = [t.cast(float32) if t.dtype.itemsize == 2 else t for t in given if t.numel()]
    if not wide:
        return Tensor(0.0, device="cpu")
    total: Tensor
    if order == math.inf:
        total = wide[0].abs().max()
        for t in wide[1:]:
            total = apply("maximum", total, t.abs().max())
        return total
    terms = [(t * t).sum() if order == 2 else (t.abs() ** order).sum() for t in wide]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total.sqrt() if order == 2 else total ** (1 / order)


@spelled
@no_grad()
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor
) -> None:
    """g <- g * min(1, max_norm / (total_norm + 1e-6)) for the gradient of each parameter"""
    largest = LARGEST.checked(f"clipping with max_norm={max_norm!r}", max_norm)
    factor = apply("minimum", largest / (total_norm + 1e-6), 1.0)
    for g in gradients("clip_grads_with_norm_", parameters):
        g.mul_(factor.cast(g.dtype))


@spelled
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scale all gradients, in place, so that their total norm is at most max_norm; returns the norm
    before scaling, a Tensor of shape () (Pascanu et al. 2013, "On the difficulty of training
    recurrent neural networks").

    A nan among them makes all of them nan; an infinity becomes nan, and all others 0.
    `error_if_nonfinite=True` raises DomainError instead, and changes nothing; it reads the number,
    which a recorded function (tutor.jit) cannot. DomainError also for a max_norm that is nan, below
    0, or 0, which would stop all learning.
    """
    LARGEST.checked(f"clipping with max_norm={max_norm!r}", max_norm)
    params = several("clip_grad_norm_", parameters)
    total: Tensor = get_total_norm(gradients("clip_grad_norm_", params), norm_type)
    if error_if_nonfinite:
        bounds_checks.opened("clip_grad_norm_ with error_if_nonfinite=True")
        if not math.isfinite(total.item()):
            raise DomainError(
                f"clip_grad_norm_ of {len(params)} parameters",
                f"the norm of their gradients is {total.item()}",
                "look for the op that made it: a log of 0, a division by 0, a rate too large",
            )
    clip_grads_with_norm_(params, max_norm, total)
    return total


@spelled
@no_grad()
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """g <- min(max(g, -clip_value), clip_value) for each number of the gradients, in place"""
    largest = LARGEST.checked(f"clip_grad_value_ with clip_value={clip_value!r}", clip_value)
    for g in gradients("clip_grad_value_", parameters):
        g.clamp_(-largest, largest)
