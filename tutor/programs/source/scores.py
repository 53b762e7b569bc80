"""Scores: softmax, log_softmax, cross_entropy and its gradient, row by row (codegen/scores.py).

Sums are computed in double and rounded once, with the C library's exponentials, so all results are
correct within the class `sum`, not to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence

from tutor._storage.layout import axis_of
from tutor.backends.codegen import scores
from tutor.backends.codegen.expressions import stored
from tutor.backends.codegen.loops import Axis, Lines, Var, axes_of, joined, loops, named, ordered
from tutor.dtype import float64
from tutor.programs.source.call import Call, Function


class Scores:
    """The rows of x along one axis: `rows` are the outer loops, `line` is one of them."""

    def __init__(self, call: Call, axis: int, *others: Sequence[int]) -> None:
        """`others`: strides of the operands after x, over all axes except `axis`."""
        x, out = call.walks[1], call.walks[0]
        self.call = call
        self.kind = call.c.computed(x.buf.dtype)
        shape, alike = list(x.shape), out.shape == x.shape
        strides = [list(out.strides if alike else ()), list(x.strides)]
        self.size = shape.pop(axis) if shape else 1
        steps = [s.pop(axis) if s else 0 for s in strides]
        if not alike:  # one number for each row, or one in total
            strides[0] = list(out.strides or [0] * len(shape))
        rows = axes_of(shape, *strides, *others)
        self.rows = named(joined(ordered(rows)), "iabdefgh")
        along = Axis(self.size, (*steps, *[0] * len(others)))

        def at(j: str) -> list[Var]:
            return [*self.rows, *([Var(j, along)] if j != "0" else [])]

        self.line = scores.Line(
            x=lambda j: call.value(1, at(j)),
            put=lambda j, value: f"{call.place(0, at(j))} = {stored(call.dtype(0), value)};",
            size=str(self.size), kind=self.kind, wide="double",
            exp=call.c.called("exp", call.step.dtype is float64),
        )  # fmt: skip


def softmax(call: Call) -> Function:
    """e**(x - max) / sum e**(x - max), and its logarithm: x - max - ln sum e**(x - max)"""
    shape, axis = call.walks[1].shape, call.step.params["axis"]
    assert isinstance(axis, int | tuple)
    along = (axis if isinstance(axis, int) else axis[0]) if shape else 0
    found = Scores(call, axis_of(along, len(shape)) if shape else 0)
    if 0 in shape:
        return Function()
    return Function(
        *loops(found.rows, *scores.softmax(found.line, call.step.kernel == "log_softmax"))
    )


def refusal(call: Call, found: Scores) -> list[Lines]:
    """Check for a target that is not a class, before anything is written."""
    target = call.place(2, found.rows)
    return loops(found.rows, [f"if (!(0 <= {target} && {target} < {found.size})) return 1;"])


def cross_entropy(call: Call) -> Function:
    """scale * (ln sum_j e**x_j - x_t) for each row, or scale times their sum"""
    found = Scores(call, len(call.walks[1].shape) - 1, call.walks[2].strides)
    scale = call.c.number(float(str(call.step.params["scale"])), float64)
    loss, total, kind = scores.loss(found.line), not call.walks[0].shape, found.kind
    head = [f"const int64_t target = {call.place(2, found.rows)};"]
    if total:
        end = [f"total += {loss};"]
    else:
        value = stored(call.dtype(0), f"({kind})({scale} * ({loss}))")
        end = [f"{call.place(0, found.rows)} = {value};"]
    guard = [f"if (!(0 <= target && target < {found.size})) return 1;"]
    body = loops(found.rows, head, guard, *scores.sums(found.line), end)
    if total:
        value = stored(call.dtype(0), f"({kind})({scale} * total)")
        body = [["double total = 0;"], *body, [f"{call.place(0)} = {value};"]]
    return Function(*refusal(call, found), *body, refuses=True)


def cross_entropy_grad(call: Call) -> Function:
    """scale * g * (softmax(x)_j - [j = t]) for each row"""
    targets, g = call.walks[2:]
    found = Scores(call, len(call.walks[1].shape) - 1, targets.strides, g.strides)
    scale = call.c.number(float(str(call.step.params["scale"])), float64)
    target = f"const int64_t target = {call.place(2, found.rows)};"
    body = scores.slope(found.line, scale, call.value(3, found.rows))
    return Function(*refusal(call, found), *loops(found.rows, [target], *body), refuses=True)
