"""Common steps: computes equal results only once (common subexpression elimination).

    t0 = exp(x0)                   t0 = exp(x0)
    t1 = exp(x0)                   y0 = mul(t0, t0)
    y0 = mul(t0, t1)

Two steps are equal if they have the same kernel and parameters, and read the same elements of the
same memory, unwritten in between: so an input is identified by its slot and the number of earlier
writes to it. A step that changes its input (an update, a draw of random numbers) is never equal to
another. The second result becomes another name for the first. If both are needed afterwards, the
result is copied, because they are two Buffers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable

from tutor._storage.device_memory import CPU
from tutor.backends.step import Step
from tutor.programs.passes.uses import Uses, reads, writes
from tutor.programs.program import Program, Slot, Walk, renamed, walks

SMALL = 64  # numbers: constants up to this size are compared


def common(program: Program) -> Program:
    """Computes equal results only once."""
    uses = Uses.of(program)
    same = _equal_constants(program)  # from a slot to the slot that replaces it
    taken: dict[Slot, Slot] = {}  # temps that turn out to be an output
    version: defaultdict[Slot, int] = defaultdict(int)
    results: dict[Hashable, Walk] = {}
    steps = []
    for step in program:
        step = renamed(step, same)
        key = _key(step, version)
        for walk in writes(step):
            version[walk.buf] += 1
        out, before = walks(step)[0], results.get(key)
        if key is None or uses.maker(out.buf) is None:
            steps.append(step)
        elif before is None:
            results[key] = out
            steps.append(step)
        elif not out.buf.lasts:
            same[out.buf] = before.buf
        elif not before.buf.lasts and before.buf not in taken:
            taken[before.buf] = out.buf
            same[out.buf] = before.buf
        elif step.signature.work == "moves":
            steps.append(step)
        else:
            steps.append(Step("copy", out.buf.dtype, out, (before,), where=step.where))
    return program.with_steps([renamed(step, taken) for step in steps])


def _key(step: Step, version: dict[Slot, int]) -> Hashable:
    """A key that is equal if two steps compute the same; None if no step equals this one."""
    if len(writes(step)) > 1 or writes(step)[0].buf in {walk.buf for walk in reads(step)}:
        return None
    read = tuple((walk, version[walk.buf]) for walk in reads(step))
    params = tuple((name, repr(value)) for name, value in step.params.items())  # 1 is not True
    where = step.device, step.out.buf.dtype, step.out.shape
    return step.kernel, step.dtype, where, params, read


def _equal_constants(program: Program) -> dict[Slot, Slot]:
    first: dict[Hashable, Slot] = {}
    same = {}
    for slot in program.slots:
        if slot.role == "constant" and slot.count <= SMALL and slot.device == CPU:
            one = first.setdefault((slot.dtype, slot.value.raw.tobytes()), slot)
            if one is not slot:
                same[slot] = one
    return same
