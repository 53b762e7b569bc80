"""The backward walk, step by step: which op is visited, what arrives, what it hands on."""

from __future__ import annotations

from typing import Any, NamedTuple

from tutor.core.engine import engine
from tutor.core.engine.grad_mode import walking
from tutor.core.op import Op
from tutor.errors import GraphError


class Visit(NamedTuple):
    """One step: `op` gets `gradient` and hands `shares` on, one (input, gradient) for each input
    that wants one."""

    op: Any
    gradient: Any
    shares: list[tuple[Any, Any]]


def visits(y: Any) -> list[Visit]:
    """What `y.backward()` would do, in its order, done on the side: no `.grad` is touched and the
    graph is not freed. Where y holds several numbers, it is the gradient of their sum.

    Raises GraphError as backward() does: where the graph was freed, or a saved value changed.

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
