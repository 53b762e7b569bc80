"""Versions: each full overwrite of a temp gets a name of its own (SSA).

    t0 = copy(x0)                  t0 = copy(x0)
    t0 = mul(t0, c0)               t1 = mul(t0, c0)
    y0 = exp(t0)                   y0 = exp(t1)

Code that works in place only states that two results share memory. Once each has its own, one step
makes it and others read it, which is the form that later passes need; the last of them gives the
memory back where that is possible.
"""

from __future__ import annotations

from collections import Counter

from tutor.backends.step import Step
from tutor.programs.passes.uses import writes
from tutor.programs.program import Program, Slot, renamed, walks


def versions(program: Program) -> Program:
    """Gives each full overwrite of a temp or output a slot of its own."""
    begun = [_begun(step) for step in program]
    left = Counter(slot for slots in begun for slot in slots.values())
    now: dict[Slot, Slot] = {}  # the current version of a slot; the last one is the slot itself
    steps = []
    for step, slots in zip(program, begun, strict=True):
        step = renamed(step, now)
        for place, slot in slots.items():
            left[slot] -= 1
            if left[slot] or slot in now:
                fresh = Slot("temp", slot.count, slot.dtype, device=slot.device)
                now[slot] = fresh if left[slot] else slot
                operands = [*walks(step)]
                operands[place] = operands[place]._replace(buf=now[slot])
                step = step.over(operands)
        steps.append(step)
    return program.with_steps(steps)


def _begun(step: Step) -> dict[int, Slot]:
    """The temps and outputs that the step overwrites completely, by the number of the written
    operand. An update reads the parameter that it writes, and a draw reads its counter, so these
    operands do not count."""
    written, count = writes(step), len(walks(step))
    if step.signature.form == "update":
        return {}
    if step.signature.form == "draw":
        written = written[:1]
    places = [0, *range(count - len(written) + 1, count)]  # the last operands of a fused step
    return {
        place: walk.buf
        for place, walk in zip(places, written, strict=True)
        if walk.is_whole and walk.buf.role in ("temp", "output")
    }
