"""Utilities over all gradients, or all parameters, at once. Gradient clipping is implemented in
tutor/optim/clipping.py, and exported here because PyTorch has it here."""

from __future__ import annotations

from collections.abc import Iterable

from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.core.engine.grad_mode import no_grad
from tutor.errors import ShapeError
from tutor.methods.tensor import Tensor
from tutor.nn.utils import rnn
from tutor.ops.movement import cat
from tutor.optim.clipping import (
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
    several,
)

__all__ = [
    "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm",
    "parameters_to_vector", "rnn", "vector_to_parameters",
]  # fmt: skip


@spelled
def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All numbers of the parameters as one vector (n,), one Tensor after the other."""
    given = several("parameters_to_vector", parameters)
    if not given:
        raise ShapeError("parameters_to_vector", "no Tensors", "give model.parameters()")
    return cat([t.flatten() for t in given])


@spelled
@no_grad
def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Write such a vector into the parameters. ShapeError, before any change, if counts differ."""
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
