"""Versions: what is overwritten as a whole is another temp from then on.

    t0 = copy(x0)                  t0 = copy(x0)
    t0 = mul(t0, c0)               t1 = mul(t0, c0)
    y0 = exp(t0)                   y0 = exp(t1)

Code that works in place says less than it seems to: that two results have one place in memory. When
each has its own, one step makes it and others read it, which is all that the passes after this one
ask; and the last of them gives back the memory that can be spared.
"""

from __future__ import annotations

from collections import Counter

from tutor.backends.step import Step
from tutor.programs.passes.uses import writes
from tutor.programs.program import Program, Slot, renamed, walks


def versions(program: Program) -> Program:
    """With a slot of its own for each time that a temp or output is written as a whole."""
    begun = [_begun(step) for step in program]
    left = Counter(slot for slots in begun for slot in slots.values())
    now: dict[Slot, Slot] = {}  # what stands for a slot at the moment; in the end it does itself
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
    """The temps and outputs of which the step leaves nothing that was there before, by the operand
    that is written. By the same operand that they write, an update reads what it moves, and a draw
    its counter: there nothing begins."""
    written, count = writes(step), len(walks(step))
    if step.signature.form == "update":
        return {}
    if step.signature.form == "draw":
        written = written[:1]
    places = [0, *range(count - len(written) + 1, count)]  # of a fused step the last ones
    return {
        place: walk.buf
        for place, walk in zip(places, written, strict=True)
        if walk.is_whole and walk.buf.role in ("temp", "output")
    }
