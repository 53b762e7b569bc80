"""Activation checkpointing: backward recomputes a part of a network instead of storing it.

    h = tutor.checkpoint(block, h)      # instead of h = block(h)

Only the part's inputs are stored; its forward runs twice (Chen et al. 2016, "Training deep nets
with sublinear memory cost"). A network of n such parts stores n inputs and, during backward, the
intermediate results of one part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tutor import random
from tutor.core.engine.casting import autocast, autocast_dtype
from tutor.core.engine.forward import serials
from tutor.core.engine.grad_mode import is_grad_enabled, recording
from tutor.core.op import Op
from tutor.core.op.edges import operand
from tutor.errors import GraphError
from tutor.functions.custom import Function
from tutor.functions.gradients import grad
from tutor.methods.tensor import Tensor


def checkpoint(function: Callable[..., Tensor], *inputs: Any, **params: Any) -> Tensor:
    """`function(*inputs, **params)`, a Tensor; backward recomputes its intermediate results.

    Inputs and the parameters that it reads get the same gradients, also higher-order ones. The
    second run sees the same random numbers and the same autocast. The function must be repeatable,
    and its side effects (running means, counts) happen twice. GraphError if it returns anything but
    one Tensor.
    """
    if not callable(function):
        raise GraphError(f"checkpoint of a {type(function).__name__}", "it cannot be called",
                         "give the function first, then its inputs")  # fmt: skip
    if not is_grad_enabled():
        return function(*inputs, **params)
    began, numbers = next(serials), _numbers().copy()
    out = function(*inputs, **params)
    if not isinstance(out, Tensor):
        raise GraphError(f"checkpoint({getattr(function, '__name__', 'function')}, ...)",
                         f"it returned {type(out).__name__}",
                         "let it return one Tensor; join several by cat or stack")  # fmt: skip
    if out.op is None or out.op.serial < began:  # no gradient passes through it
        return out
    given = [x for x in inputs if isinstance(x, Tensor)]
    read = [x for x in _read(out, began) if all((x.op or x) is not (t.op or t) for t in given)]
    lower = autocast_dtype()

    def again(tensors: tuple[Tensor, ...]) -> Tensor:
        """The function once more, with these tensors as its inputs."""
        rest = iter(tensors)
        args = [next(rest) if isinstance(x, Tensor) else x for x in kept]
        now = _numbers().copy()
        _numbers().assign(numbers)
        try:
            with autocast(lower or "bfloat16", enabled=lower is not None):
                return function(*args, **params)
        finally:
            _numbers().assign(now)

    kept = [_EMPTY if isinstance(x, Tensor) else x for x in inputs]
    return _Again.apply(*given, *read, out=out.detach(), again=again, given=len(given))


class _Again(Function):
    """z = out, whose gradient comes from `again`: it runs on the first `given` tensors and reads
    the others."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor, out: Tensor, again: Any, given: int) -> Tensor:
        ctx.save_for_backward(*tensors)
        ctx.again, ctx.given = again, given
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        tensors: tuple[Tensor, ...] = ctx.saved_tensors
        linked = is_grad_enabled()  # is this backward itself recorded?
        if not linked:  # otherwise the graph would continue behind the inputs
            own = [x.detach() for x in tensors[: ctx.given]]
            for x, before in zip(own, tensors, strict=False):
                x.requires_grad = before.requires_grad
            tensors = (*own, *tensors[ctx.given :])
        out = recording.during(True, ctx.again, tensors[: ctx.given])
        wanted = [i for i, x in enumerate(tensors) if x.requires_grad]
        found = grad(out, [tensors[i] for i in wanted], g, create_graph=linked, allow_unused=True)
        gradients: list[Tensor | None] = [None] * len(tensors)
        for i, gradient in zip(wanted, found, strict=True):
            gradients[i] = gradient
        return tuple(gradients)


_EMPTY = Tensor(0.0, device="cpu")  # a placeholder for an input


def _numbers() -> Tensor:
    """The state of the random stream: the seed and the counter, as a Tensor over their memory."""
    return Tensor(random.stream().buf, (2,), (1,), 0)


def _read(out: Tensor, began: int) -> list[Tensor]:
    """The tensors that require grad and from which `out` was computed since `began`."""
    found: dict[int, Tensor] = {}
    seen, unseen = {out.op}, [out.op]
    while unseen:
        op = unseen.pop()
        for edge, needed in zip(op.edges, op.needs, strict=True):
            if isinstance(edge, Op) and edge.serial > began:
                if edge not in seen:
                    seen.add(edge)
                    unseen.append(edge)
            elif needed:
                found.setdefault(id(edge), operand(edge))
    return list(found.values())
