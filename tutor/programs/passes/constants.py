"""Constants: computes in advance what is known before the Program runs.

    t0 = fill(value=0.5)           y0 = mul(x0, c0)        with c0 = 0.5, read again and again
    y0 = mul(x0, t0)
    t1 = mul(c1, c2)               y1 = add(x0, c3)        with c3 = c1 * c2
    y1 = add(x0, t1)
    y2 = mul(x0, c4)               y2 = copy(x0)           where c4 is 1

A temp of equal numbers becomes one number, a constant, which is read with stride 0. x times 1
becomes a copy, which later passes may remove; so the gradient of 1 that starts a backward
disappears. The bits are the same: `1 * x`, `x / 1`, `x - 0` and `x + -0` are x for every x,
including zeros and infinities (a NaN stays a NaN). `x + 0` is not, since `-0 + 0` is `+0`. Only
exact kernels are run here, so the backend does not matter.
"""

from __future__ import annotations

import math
from typing import Any

from tutor._storage.device_memory import CPU
from tutor.backends.registry import Operand
from tutor.backends.step import Step, emit
from tutor.core.buffer import Buffer
from tutor.programs.passes.uses import Uses, is_map, may_refuse, reads
from tutor.programs.program import Program, Slot, Walk, walks

# The operands that, if they are this number, leave the other one unchanged.
NEUTRAL: dict[str, tuple[tuple[int, float], ...]] = {
    "mul": ((1, 1.0), (2, 1.0)), "div": ((2, 1.0),), "sub": ((2, 0.0),),
    "add": ((1, -0.0), (2, -0.0)),
}  # fmt: skip


def constants(program: Program) -> Program:
    """Computes known results in advance, and removes arithmetic that changes nothing."""
    uses, known, steps = Uses.of(program), dict[Slot, Slot](), []
    for step in program:
        if any(walk.buf in known for walk in reads(step)):
            step = step.over([_one_of(known.get(w.buf), w) for w in walks(step)])
        out = walks(step)[0].buf
        if not _is_equal_numbers(step) or uses.maker(out) is None:
            steps.append(_without_neutral(step))
        elif out.lasts:
            steps.append(step)
        else:
            known[out] = _computed(step)
    return program.with_steps(steps)


def _one_of(constant: Slot | None, walk: Walk) -> Walk:
    return walk if constant is None else Walk(constant, walk.shape, (0,) * len(walk.shape))


def _number(walk: Walk) -> Any:
    """The number that the walk reads, if it is a single number of a constant on the host; else
    None. (Beside operands on a device, such a number is passed by value.)"""
    if walk.buf.role != "constant" or 0 in walk.shape or walk.buf.device != CPU:
        return None
    alone = all(n == 1 or s == 0 for n, s in zip(walk.shape, walk.strides, strict=True))
    return walk.buf.value[walk.offset] if alone else None


def _is_equal_numbers(step: Step) -> bool:
    """Is its result known, and the same number everywhere?"""
    if 0 in step.out.shape or step.signature.agree != "exact" or may_refuse(step):
        return False
    if step.kernel == "fill":
        return True
    return is_map(step) and all(_number(walk) is not None for walk in reads(step))


def _computed(step: Step) -> Slot:
    """The one number that the step computes, as a constant."""
    out = Slot("constant", 1, step.out.buf.dtype, Buffer.empty(1, step.out.buf.dtype))
    ins = [Operand(walk.buf.value, (), (), walk.offset) for walk in reads(step)]
    emit(step.over([Operand(out.value, (), (), 0), *ins]))
    return out


def _without_neutral(step: Step) -> Step:
    """A copy instead of `x * 1` and the like."""
    operands, dtype = walks(step), step.dtype
    for position, number in NEUTRAL.get(step.kernel, ()):
        found = _number(operands[position])
        if dtype.is_float:
            neutral = found == number and math.copysign(1, found) == math.copysign(1, number)
        else:  # for bools, `add` is or, and `mul` is and
            neutral = found is not None and found == int(number)
        if neutral:
            return Step("copy", dtype, operands[0], (operands[3 - position],), where=step.where)
    return step
