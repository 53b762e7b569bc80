"""The backward walk, step by step: the op visited, its incoming gradient, what it passes on."""

from __future__ import annotations

from typing import Any, NamedTuple

from tutor.core.engine import engine
from tutor.core.engine.grad_mode import walking
from tutor.core.op import Op
from tutor.errors import GraphError


class Visit(NamedTuple):
    """One step: `op` receives `gradient` and passes `shares` on: an (edge, gradient) for each input
    that requires one. The edge is the Op that made the input, or the input if it is a leaf."""

    op: Any
    gradient: Any
    shares: list[tuple[Any, Any]]


def visits(y: Any) -> list[Visit]:
    """The steps of `y.backward()`, in order, computed on the side: no `.grad` changes and the graph
    is not freed. If y holds several numbers, it is the gradient of their sum.

    Raises GraphError as backward() does: for a freed graph, or a saved value that has changed.

        >>> from tutor import Tensor
        >>> x = Tensor(3.0, requires_grad=True)
        >>> [(type(v.op).__name__, v.gradient.item()) for v in visits((x + 2) * 4)]
        [('Mul', 1.0), ('Add', 4.0)]
    """
    if getattr(y, "op", None) is None or not hasattr(y.op, "saved"):
        raise GraphError("a walk backward", f"no op of tutor made this {type(y).__name__}",
                         "compute it from a Tensor(..., requires_grad=True), or, for classes of "
                         "your own, give visits=[(op, gradient), ...]")  # fmt: skip
    walk = engine.walk(y, engine.order(y.op), y.like(1), keep=True, linked=False, ask=None)
    visited: list[Any] = walking(False, list, walk)
    return [Visit(op, g, shares) for op, g, shares in visited if isinstance(op, Op)]
