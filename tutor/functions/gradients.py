"""Gradients by function call: `backward(loss)` adds them to `.grad`; `grad(y, xs)` returns them and
does not touch `.grad`."""

from __future__ import annotations

from typing import Any, Literal, overload

from tutor._storage.bounds_checks import before_read
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import TensorLike
from tutor.core.engine import engine
from tutor.core.engine.grad_mode import asking, walking
from tutor.errors import GraphError
from tutor.methods.tensor import Tensor

Tensors = tuple[Tensor, ...] | list[Tensor]


@spelled
def backward(root: Tensor, gradient: TensorLike | None = None, *, retain_graph: bool | None = None,
             create_graph: bool = False) -> None:  # fmt: skip
    """`backward(loss)`: the same as `loss.backward()`; see `Engine.backward`."""
    engine.backward(root, gradient, retain_graph, create_graph)


@overload
def grad(
    y: Tensor, xs: Tensor, gradient: TensorLike | None = None, *, retain_graph: bool | None = None,
    create_graph: bool = False, allow_unused: Literal[False] = False,
) -> Tensor: ...  # fmt: skip
@overload
def grad(
    y: Tensor, xs: Tensor, gradient: TensorLike | None = None, *, retain_graph: bool | None = None,
    create_graph: bool = False, allow_unused: bool,
) -> Tensor | None: ...  # fmt: skip
@overload
def grad(
    y: Tensor, xs: Tensors, gradient: TensorLike | None = None, *, retain_graph: bool | None = None,
    create_graph: bool = False, allow_unused: Literal[False] = False,
) -> tuple[Tensor, ...]: ...  # fmt: skip
@overload
def grad(
    y: Tensor, xs: Tensors, gradient: TensorLike | None = None, *, retain_graph: bool | None = None,
    create_graph: bool = False, allow_unused: bool,
) -> tuple[Tensor | None, ...]: ...  # fmt: skip
@spelled
def grad(
    y: Tensor, xs: Tensor | Tensors, gradient: TensorLike | None = None, *,
    retain_graph: bool | None = None, create_graph: bool = False, allow_unused: bool = False,
) -> Tensor | tuple[Tensor | None, ...] | None:  # fmt: skip
    """d y / d x for each x of `xs`: a tuple for a tuple or list, one Tensor for one.

    Any tensors that require grad will do, leaves or computed ones. Only the graph between y and xs
    is walked. `gradient` is d (what you want) / d y, needed unless y holds one number. The walk
    frees the graph unless `retain_graph`; `create_graph` keeps it and records the walk, for higher
    derivatives. GraphError if an x does not require grad, or if y was not computed from it; with
    `allow_unused` the latter gives None.

        >>> from tutor import Tensor
        >>> x = Tensor(3.0, requires_grad=True)
        >>> (slope,) = grad(x**3, (x,), create_graph=True)
        >>> slope.item(), grad(slope, x)
        (27.0, Tensor(18.))
    """
    wanted = tuple(xs) if isinstance(xs, (tuple, list)) else (xs,)
    for x in wanted:
        if not getattr(x, "requires_grad", False):
            raise GraphError(
                "grad(y, xs) by an x that does not require grad",
                f"{type(x).__name__} of shape {getattr(x, 'shape', None)}",
                "call x.requires_grad_() before y is computed from it",
            )
    seed = engine.seed(y, gradient)
    if create_graph:
        before_read.graph(y)
    ops, nodes = engine.order(y.op), [x.op or x for x in wanted]
    targets, reached = set(nodes), {y.op or y}.union(*[op.edges for op in ops])
    for i, node in enumerate(nodes):
        if node not in reached and not allow_unused:
            raise _unused(wanted[i], i)
    between = set(targets)  # plus the ops that pass gradients on to them
    for op in reversed(ops):  # oldest first
        if not between.isdisjoint(op.edges):
            between.add(op)
    keep = create_graph if retain_graph is None else retain_graph
    ask = asking(create_graph)

    def walked() -> dict[Any, Any]:
        walk = engine.walk(y, ops, seed, keep, create_graph, ask, between)
        arrived = {node: g for node, g, _ in walk if node in targets}
        return dict(zip(arrived, engine.owned(arrived.values(), seed), strict=True))

    found = walking(create_graph, walked)
    for i, node in enumerate(nodes):
        if node not in found and not allow_unused:
            raise _unused(wanted[i], i)
    result = tuple([found.get(node) for node in nodes])
    return result if isinstance(xs, (tuple, list)) else result[0]


def _unused(x: Any, i: int) -> GraphError:
    return GraphError(
        f"grad(y, xs) by xs[{i}], of shape {x.shape}",
        "y was not computed from it, or no gradient comes so far",
        "leave it out, or pass allow_unused=True to get None for it",
    )
