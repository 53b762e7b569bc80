"""Derivatives by PyTorch's names: code with `torch.autograd.grad(...)` only changes its import.

`grad` returns a tuple, even for one input, and takes PyTorch's keywords; `tutor.grad` returns a
Tensor for one. `Function`, `backward`, `no_grad`, `enable_grad`, `set_grad_enabled` and
`detect_anomaly` are those of `tutor`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.core.engine.grad_mode import enable_grad, no_grad, set_grad_enabled
from tutor.errors import ArgumentError
from tutor.functions import gradients
from tutor.functions.custom import Function
from tutor.functions.gradients import backward
from tutor.methods.tensor import Tensor

__all__ = ["Function", "backward", "enable_grad", "grad", "no_grad", "set_grad_enabled"]


@spelled
def grad(
    outputs: Tensor | Sequence[Tensor], inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None, create_graph: bool = False, allow_unused: bool = False,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """d outputs / d x for each x of `inputs`, as a tuple: see `tutor.grad`

    Several outputs are summed, each weighted by its element of `grad_outputs` (None means 1, for a
    single number). ArgumentError unless `grad_outputs` has one for each.

        >>> from tutor import Tensor
        >>> x = Tensor([1.0, 2.0], requires_grad=True)
        >>> grad((x**2).sum(), x)
        (Tensor([2., 4.]),)
    """
    ys, xs = several("outputs", outputs), several("inputs", inputs)
    gs: Any = grad_outputs if isinstance(grad_outputs, (tuple, list)) else (grad_outputs,) * len(ys)
    if not ys or len(gs) != len(ys) or (len(ys) > 1 and isinstance(grad_outputs, Tensor)):
        raise ArgumentError(
            f"autograd.grad of {len(ys)} outputs", f"{checks.said(grad_outputs)} as grad_outputs",
            "give at least one output, and a list of as many gradients",
        )  # fmt: skip
    y, g = ys[0], gs[0]
    if len(ys) > 1:
        parts = [o if w is None else (o * w).sum() for o, w in zip(ys, gs, strict=True)]
        y, g = sum(parts[1:], parts[0]), None
    return gradients.grad(
        y, xs, g, retain_graph=retain_graph, create_graph=create_graph, allow_unused=allow_unused
    )


def several(name: str, given: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """One Tensor, or those of a list, as a tuple. DTypeError for anything else."""
    found = given if isinstance(given, (tuple, list)) else (given,)
    return tuple([checks.tensor(f"autograd.grad({name})", t) for t in found])
