"""The backward walk, step by step: which op is visited, what arrives, what it hands on."""

from __future__ import annotations

from typing import Any, NamedTuple

from tutor.core.engine import engine
from tutor.errors import GraphError
from tutor.recording import no_grad


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
    pending, found = {y.op: y.like(1)}, list[Visit]()
    with no_grad():
        for op in engine.order(y.op):
            g = pending.pop(op, None)
            if g is None:
                continue
            grads = op.backward(g, *(op.saved or ()))
            shares = []
            pairs = zip(op.inputs, grads if isinstance(grads, tuple) else (grads,), strict=True)
            for (x, gx), needed in zip(pairs, op.needs, strict=True):
                if needed and gx is not None:
                    gx = engine._fit(op, x, gx)  # the one place where broadcasting is undone
                    shares.append((x, gx))
                    if x.op is not None:
                        pending[x.op] = pending[x.op] + gx if x.op in pending else gx
            found.append(Visit(op, g, shares))
    return found
