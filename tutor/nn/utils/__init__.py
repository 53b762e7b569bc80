"""What is done to all gradients, or all parameters, at once."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tutor.errors import GraphError, ShapeError
from tutor.ground import checks
from tutor.ground.recording import no_grad
from tutor.ground.spelling import spelled
from tutor.methods.tensor import Tensor
from tutor.nn.utils import rnn as rnn
from tutor.ops.movement import cat
from tutor.optim.clipping import get_total_norm, gradients, scale


def several(name: str, parameters: Tensor | Iterable[Tensor]) -> tuple[Tensor, ...]:
    if isinstance(parameters, Tensor):
        return (parameters,)
    given: Any = list(parameters) if hasattr(parameters, "__next__") else parameters
    return checks.tensors(name, given)


@spelled
@no_grad
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:  # fmt: skip
    """Scale all gradients by min(1, max_norm / (norm + 1e-6)), in place, where norm is that of all
    their numbers together; returns the norm (Pascanu, Mikolov & Bengio 2013)

    Nothing is read back to Python, so that it can be recorded; unless `error_if_nonfinite`, which
    raises GraphError for a norm that is nan or infinite.
    """
    most = checks.number("clip_grad_norm_(max_norm=...)", max_norm, 0, nan=False)
    found = gradients(several("clip_grad_norm_", parameters))
    total: Tensor = get_total_norm(found, norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise GraphError(
            f"clip_grad_norm_ of gradients with the norm {total.item()}", "they are not finite",
            "look for what overflows, or leave error_if_nonfinite out",
        )  # fmt: skip
    scale(found, most, total)
    return total


@spelled
@no_grad
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Bring every number of every gradient into +-clip_value, in place."""
    most = checks.number("clip_grad_value_(clip_value=...)", clip_value, 0, nan=False)
    for g in gradients(several("clip_grad_value_", parameters)):
        g.clamp_(-most, most)


@spelled
def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All their numbers in one row, one Tensor after the other."""
    given = several("parameters_to_vector", parameters)
    if not given:
        raise ShapeError("parameters_to_vector", "no Tensors", "give model.parameters()")
    return cat([t.flatten() for t in given])


@spelled
@no_grad
def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Write such a row back into them. ShapeError where the counts differ; nothing is changed."""
    given = several("vector_to_parameters", parameters)
    row = checks.tensor("vector_to_parameters(vec)", vec)
    if row.shape != (sum(t.numel() for t in given),):
        raise ShapeError(
            f"vector_to_parameters of {row.shape}", f"{sum(t.numel() for t in given)} numbers are "
            "in the parameters", "give what parameters_to_vector gave"
        )  # fmt: skip
    at = 0
    for t in given:
        t.assign(row[at : at + t.numel()].reshape(t.shape))
        at += t.numel()
