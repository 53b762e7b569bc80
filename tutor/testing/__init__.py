"""For authors of ops and kernels: does a derivative agree with its function?"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextvars import copy_context

from tutor._storage import layout
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import TensorLike
from tutor.errors import GraphError
from tutor.functions.doubt import busy
from tutor.methods.tensor import Tensor

Function = Callable[..., Tensor]


@spelled
def gradcheck(
    f: Function,
    *inputs: TensorLike,
    orders: int = 2,
    eps: float = 1e-6,
    tolerance: float = 1e-5,
    seed: int = 0,
) -> None:
    """Raise GraphError unless f's derivatives of the first `orders` orders are right at `inputs`.

    Everything is computed in float64, whatever the inputs are: in float32 the difference quotient
    alone is off by more than a wrong derivative would be. Random weights w reduce f's result, of
    any shape, to one number s(x); then, along a random direction d,

        (s(x + eps d) - s(x - eps d)) / (2 eps)   must be   sum_i d_i ds/dx_i

    to within `tolerance` relative to the larger of them and 1. The slope on the right is itself a
    function of x, and is checked the same way for the next order.
    """
    checks.function("gradcheck(f)", f)
    for name, value in (("eps", eps), ("tolerance", tolerance)):
        checks.number(f"gradcheck({name}=...)", value, 5e-324, nan=False)
    rng = random.Random(layout.whole_number(seed, "gradcheck(seed=...)"))
    xs = [_leaf(x if isinstance(x, Tensor) else Tensor(x)) for x in inputs]
    w = _random(rng, checks.tensor("gradcheck: what f returns", f(*xs)).shape)

    def s(*xs: Tensor) -> Tensor:
        return (f(*xs) * w).sum()

    wanted = layout.whole_number(orders, "gradcheck(orders=...)")
    last = checks.number("gradcheck(orders=...)", wanted, 1, 9)
    context = copy_context()
    context.run(busy.set, True)  # the comparison is made here anyway
    context.run(_compare, s, xs, rng, last, eps, tolerance)


def _compare(
    s: Function, xs: Sequence[Tensor], rng: random.Random, last: int, eps: float, tolerance: float
) -> None:
    for order in range(1, last + 1):
        ds = [_random(rng, x.shape) for x in xs]
        ahead = s(*[_leaf(x.detach() + d * eps) for x, d in zip(xs, ds, strict=True)]).item()
        behind = s(*[_leaf(x.detach() - d * eps) for x, d in zip(xs, ds, strict=True)]).item()
        numeric = (ahead - behind) / (2 * eps)
        analytic = slope(s, xs, ds).item()
        if not abs(numeric - analytic) <= tolerance * max(1.0, abs(numeric), abs(analytic)):
            raise GraphError(
                f"gradcheck, derivative of order {order}",
                f"backward says {analytic:.10g}, the difference quotient {numeric:.10g}",
                "compare the op's backward with its formula; near a kink or a jump, where there is"
                " no derivative, choose other inputs",
            )
        s = _slope_function(s, ds)


def slope(s: Function, xs: Sequence[Tensor], ds: Sequence[Tensor]) -> Tensor:
    """sum_i d_i ds/dx_i: how fast the number s(x) changes along the direction d."""
    y = s(*xs)
    total = y.detach().like(0)
    if not y.requires_grad:  # s does not depend on x: its slope is 0
        return total
    y.backward(create_graph=True)
    for x, d in zip(xs, ds, strict=True):
        if x.grad is not None:
            total = total + (x.grad * d).sum()
            x.grad = None
    return total


def _slope_function(s: Function, ds: Sequence[Tensor]) -> Function:
    return lambda *xs: slope(s, xs, ds)


def _leaf(x: Tensor) -> Tensor:
    return x.detach().cast("float64").copy().requires_grad_()


def _random(rng: random.Random, shape: tuple[int, ...]) -> Tensor:
    count = 1
    for size in shape:
        count *= size
    return Tensor([rng.uniform(-1, 1) for _ in range(count)], shape, dtype="float64")
