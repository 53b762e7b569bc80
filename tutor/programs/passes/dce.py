"""Dead steps: removes computations whose results are never seen.

    t0 = exp(x0)                   (gone: t0 is never read)
    y0 = mul(x0, x0)               y0 = mul(x0, x0)

From the last step back to the first, `wanted` holds the walks that will still be read: at the end
all slots that last, and before each kept step its inputs. A step that fills a whole slot makes the
slot's earlier content dead. A step that may refuse its numbers stays: without it, a Program would
accept numbers for which the user's code raises an error.
"""

from __future__ import annotations

from tutor.programs.passes.elements import overlap
from tutor.programs.passes.uses import MOST, may_refuse, reads, writes
from tutor.programs.program import Program, Slot, Walk, whole


def dead(program: Program) -> Program:
    """Removes the steps whose results are never seen."""
    wanted: dict[Slot, set[Walk]] = {s: {whole(s)} if s.lasts else set() for s in program.slots}
    kept = []
    for step in reversed(program.steps):
        written, read = writes(step), reads(step)
        seen = any(overlap(w, other) for w in written for other in wanted[w.buf])
        if not seen and not may_refuse(step):
            continue
        kept.append(step)
        for walk in written:
            if walk.is_whole:
                wanted[walk.buf] = set()
        for walk in read:
            among = wanted[walk.buf]
            among.add(walk)
            if len(among) > MOST:
                wanted[walk.buf] = {whole(walk.buf)}
    return program.with_steps(reversed(kept))
