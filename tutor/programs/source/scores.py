"""Scores: softmax, log_softmax, cross_entropy and its gradient, row by row.

The largest score of a row is subtracted first, so that no exponential overflows. Sums are computed
in double and rounded once, with the C library's exponentials, so all results are correct within the
class `sum`, not to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence

from tutor._storage.layout import axis_of
from tutor.backends.codegen.expressions import stored
from tutor.backends.codegen.loops import (
    Axis,
    Lines,
    Var,
    axes_of,
    joined,
    loop,
    loops,
    named,
    ordered,
)
from tutor.dtype import float64
from tutor.programs.source.call import Call, Function


class Scores:
    """The rows of x along one axis: the outer loops, and the variable j along a row."""

    def __init__(self, call: Call, axis: int, *others: Sequence[int]) -> None:
        """`others`: strides of the operands after x, over all axes except `axis`."""
        x, out = call.walks[1], call.walks[0]
        self.call, self.c = call, call.c
        self.kind = call.c.computed(x.buf.dtype)
        shape, alike = list(x.shape), out.shape == x.shape
        strides = [list(out.strides if alike else ()), list(x.strides)]
        self.size = shape.pop(axis) if shape else 1
        steps = [s.pop(axis) if s else 0 for s in strides]
        if not alike:  # one number for each row, or one in total
            strides[0] = list(out.strides or [0] * len(shape))
        rows = axes_of(shape, *strides, *others)
        self.rows = named(joined(ordered(rows)), "iabdefgh")
        self.j = Var("j", Axis(self.size, (*steps, *[0] * len(others))))

    def x(self) -> str:
        return self.call.value(1, [*self.rows, self.j])

    def write(self, value: str) -> Lines:
        place = self.call.place(0, [*self.rows, self.j])
        return [f"{place} = {stored(self.call.dtype(0), value)};"]

    def exp(self, text: str) -> str:
        return f"{self.c.called('exp', self.call.step.dtype is float64)}({text})"

    def sum(self) -> list[Lines]:
        """The statements that find the largest score, and the sum of all exponentials."""
        first = self.call.value(1, [*self.rows])
        return [
            [f"{self.kind} largest = {first};"],
            loop(self.j, [f"if ({self.x()} > largest) largest = {self.x()};"]),
            ["double sum = 0;"],
            loop(self.j, [f"sum += {self.exp(f'{self.x()} - largest')};"]),
        ]


def softmax(call: Call) -> Function:
    """e**(x - max) / sum e**(x - max), and its logarithm: x - max - ln sum e**(x - max)"""
    shape, axis = call.walks[1].shape, call.step.params["axis"]
    assert isinstance(axis, int | tuple)
    along = (axis if isinstance(axis, int) else axis[0]) if shape else 0
    scores = Scores(call, axis_of(along, len(shape)) if shape else 0)
    if 0 in shape:
        return Function()
    if call.step.kernel == "log_softmax":
        last = [
            [f"const {scores.kind} log_sum = ({scores.kind})log(sum);"],
            loop(scores.j, scores.write(f"{scores.x()} - largest - log_sum")),
        ]
    else:
        power = scores.exp(f"{scores.x()} - largest")
        last = [
            [f"const {scores.kind} inverse = ({scores.kind})(1 / sum);"],
            loop(scores.j, scores.write(f"{power} * inverse")),
        ]
    return Function(*loops(scores.rows, *scores.sum(), *last))


def refusal(call: Call, scores: Scores) -> list[Lines]:
    """Check for a target that is not a class, before anything is written."""
    target = call.place(2, scores.rows)
    return loops(scores.rows, [f"if (!(0 <= {target} && {target} < {scores.size})) return 1;"])


def cross_entropy(call: Call) -> Function:
    """scale * (ln sum_j e**x_j - x_t) for each row, or scale times their sum"""
    scores = Scores(call, len(call.walks[1].shape) - 1, call.walks[2].strides)
    scale = call.c.number(float(str(call.step.params["scale"])), float64)
    at = Var("target", scores.j.axis)
    loss = f"largest - {call.value(1, [*scores.rows, at])} + log(sum)"
    head, total = [f"const int64_t target = {call.place(2, scores.rows)};"], not call.walks[0].shape
    kind = scores.kind
    if total:
        end = [f"total += {loss};"]
    else:
        value = stored(call.dtype(0), f"({kind})({scale} * ({loss}))")
        end = [f"{call.place(0, scores.rows)} = {value};"]
    guard = [f"if (!(0 <= target && target < {scores.size})) return 1;"]
    body = loops(scores.rows, head, guard, *scores.sum(), end)
    if total:
        value = stored(call.dtype(0), f"({kind})({scale} * total)")
        body = [["double total = 0;"], *body, [f"{call.place(0)} = {value};"]]
    return Function(*refusal(call, scores), *body, refuses=True)


def cross_entropy_grad(call: Call) -> Function:
    """scale * g * (softmax(x)_j - [j = t]) for each row"""
    scores = Scores(
        call, len(call.walks[1].shape) - 1, call.walks[2].strides, call.walks[3].strides
    )
    scale = call.c.number(float(str(call.step.params["scale"])), float64)
    power = scores.exp(f"{scores.x()} - largest")
    body = [
        [f"const int64_t target = {call.place(2, scores.rows)};"],
        *scores.sum(),
        [f"const {scores.kind} inverse = ({scores.kind})(1 / sum),"
         f" factor = ({scores.kind}){scale} * {call.value(3, scores.rows)};"],
        loop(scores.j, scores.write(f"factor * ({power} * inverse - (j == target))")),
    ]  # fmt: skip
    return Function(*refusal(call, scores), *loops(scores.rows, *body), refuses=True)
