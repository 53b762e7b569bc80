"""In place: a result takes the memory of an input that is no longer needed.

    t0 = exp(x0)                   t0 = exp(x0)
    t1 = add(t0, x1)               t0 = add(t0, x1)
    y0 = sum(t1)                   y0 = sum(t0)

So less memory is used, and the written memory is already in the cache. This requires a kernel that
works element by element on exactly the same elements, reading each before writing it; and memory
that the Program made: an input or a state belongs to the caller.
"""

from __future__ import annotations

from collections.abc import Iterator

from tutor.backends.step import Step
from tutor.programs.passes.elements import same
from tutor.programs.passes.uses import Uses, is_chain, reads, writes
from tutor.programs.program import Program, Slot, Walk, renamed


def inplace(program: Program) -> Program:
    """Writes each result over an input that is dead after the step."""
    uses, steps = Uses.of(program), []
    place: dict[Slot, Slot] = {}  # from a slot to the one whose memory it has
    for i, step in enumerate(program):
        taken: set[Slot] = set()
        for out in writes(step) if is_chain(step) else ():
            found = next((s for s in _dying(uses, step, out, i) if s not in taken), None)
            if found is not None:
                taken.add(found)
                place[out.buf] = place.get(found, found)
        steps.append(renamed(step, place))
    outputs = {root: slot for slot, root in place.items() if slot.lasts}
    return program.with_steps([renamed(step, outputs) for step in steps])


def _dying(uses: Uses, step: Step, out: Walk, i: int) -> Iterator[Slot]:
    """The slots among the step's inputs whose memory `out`, one of its results, may take."""
    if not out.is_whole or not _begins(uses, out.buf, i):
        return
    for position, walk in enumerate(reads(step)):
        slot = walk.buf
        ends = slot.role == "temp" and uses.last_read(slot) == i and uses.writes[slot][-1].at < i
        kind = slot.dtype is out.buf.dtype and slot.device == out.buf.device
        alike = kind and walk.is_whole and walk.shape == out.shape
        others = [other for other in reads(step) if other.buf is slot and not same(other, walk)]
        if ends and alike and not others and _read_first(step, position, out):
            yield slot


def _begins(uses: Uses, slot: Slot, i: int) -> bool:
    """Is step i the first to touch the slot?"""
    read = uses.reads[slot]
    return slot.role in ("temp", "output") and uses.writes[slot][0].at == i and (
        not read or read[0].at > i
    )  # fmt: skip


def _read_first(step: Step, position: int, out: Walk) -> bool:
    """Is the input at this position read before `out` is written? True for a single kernel; for a
    fused step it depends on the order of its instructions."""
    if step.kernel != "fused":
        return True
    if step.params["axis"]:
        return False
    code = str(step.params["code"]).split("; ")
    result = next(k for k, walk in enumerate(writes(step)) if walk is out)
    written = next(at for at, line in enumerate(code) if line.startswith(f"o{result} "))
    return all(f"i{position}" not in line.split() for line in code[written + 1 :])
