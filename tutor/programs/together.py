"""Pending steps run together: as one Program, which is improved first, so that chains of them are
single kernels.

    with tutor.lazy():
        y = (x * 2 + 1).relu().sum()
    y.item()                               # one kernel, `fused`: x is read once

What it does is what lazy_buffers.py does step by step, and the bits are the same. Steps go together
that write into no memory that is there already: so nothing has changed before all of it is there,
and whatever goes wrong on the way is as if it had not been tried. A step that may refuse its
numbers goes alone, so that an error is that of one step.

To improve a Program takes 100 us for each step, the first time; to find it again and to run it 20.
Meanwhile as much memory as LEAST is written, and read by the next step. Where less than that is at
stake, steps go one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

from tutor.backends import registry
from tutor.backends.registry import Kernel, Operand
from tutor.backends.step import Step, emit
from tutor.core.buffer import Buffer
from tutor.dtype import DType, float32
from tutor.errors import TutorError
from tutor.programs.passes import improved
from tutor.programs.passes.uses import is_map, may_refuse, writes
from tutor.programs.program import Program, Slot, walks

MOST = 256  # steps at once: a long chain is cut into pieces
KEPT = 64  # improved Programs that are remembered
LEAST = 1 << 20  # bytes that elementwise steps write, for each step of the Program


def may_join(step: Step, kernel: Kernel) -> bool:
    """Can a step over places, whose kernel is this one, be run with others?"""
    if any(walk.buf.value is not None for walk in writes(step)) or may_refuse(step):
        return False
    found = _in_use(step.kernel, step.dtype, step.device)
    return found is kernel  # else it was noted for another backend


def _in_use(name: str, dtype: DType, device: str) -> Kernel | None:
    try:
        return registry.kernel(name, dtype, device)
    except TutorError:
        return None


def are_worth_it(steps: Sequence[Step]) -> bool:
    """Is there more to gain than it costs?"""
    written = sum([step.out.buf.nbytes for step in steps if is_map(step)])
    return (
        len(steps) > 1
        and written >= LEAST * len(steps)
        and all(_in_use("fused", float32, on) is not None for on in {s.device for s in steps})
    )


def program_of(
    steps: Sequence[Step], lasting: Collection[Slot]
) -> tuple[Program, dict[Slot, Slot]]:
    """Steps over places as a Program, and each place's part in it. A place that has a value is a
    constant or a state; of the others, `lasting` are wanted afterwards."""
    found: dict[Slot, Slot] = {}
    memories: dict[int, Slot] = {}  # constants and states that are one memory are one slot
    program = Program(steps)
    for place in program.slots:
        if place.value is not None:
            owner = getattr(place.value.memory, "owner", None)
            role = "constant" if type(owner) is bytes else "state"
            made = Slot(role, place.count, place.dtype, place.value)
            found[place] = memories.setdefault(id(place.value.memory), made)
        else:
            role = "output" if place in lasting else "temp"
            found[place] = Slot(role, place.count, place.dtype, device=place.device)
    return program.with_slots(found.__getitem__), found


def filled(steps: Sequence[Step], lasting: Collection[Slot]) -> dict[Slot, Buffer]:
    """Run the steps; new Buffers for those places that are `lasting`, with what they leave there.

    (Replay is for what runs again: it has all temps in one arena. Here each is taken when it is
    written first, and given back when the last step that needs it has run.)
    """
    recorded, parts = program_of(steps, lasting)
    program, twins = _improved(recorded)
    last = {walk.buf: n for n, step in enumerate(program) for walk in walks(step)}
    memory: dict[Slot, Buffer] = {s: s.value for s in program.slots if s.role == "constant"}
    memory.update((twins[s], s.value) for s in recorded.slots if s.value is not None)
    memory.update(
        (s, Buffer.empty(0, s.dtype, s.device)) for s in program.slots if not s.count
    )  # unwritten
    for n, step in enumerate(program):
        for walk in writes(step):
            if walk.buf not in memory:
                slot = walk.buf
                memory[slot] = Buffer.empty(slot.count, slot.dtype, slot.device)
        emit(step.over([Operand(memory[w.buf], *w[1:]) for w in walks(step)]))
        for slot in {walk.buf for walk in walks(step)}:
            if slot.role == "temp" and last[slot] == n:
                del memory[slot]
    return {place: memory[twins[s]] for place, s in parts.items() if s.role == "output"}


def _improved(recorded: Program) -> tuple[Program, dict[Slot, Slot]]:
    """The Program after all passes, and what stands in it for each slot of the recorded one.

    The latest ones are remembered by their text, for what runs in a loop is noted anew each time.
    What is there already is a state there, numbers too, and without its value: so the same lines
    with other numbers are the same Program, and no memory is held.
    """
    key = recorded.text(), tuple([step.where for step in recorded])
    found = _latest.pop(key, None)
    if found is None:
        twins = [
            Slot("state" if slot.value is not None else slot.role, slot.count, slot.dtype,
                 device=slot.device)
            for slot in recorded.slots
        ]  # fmt: skip
        pairs = dict(zip(recorded.slots, twins, strict=True))
        found = improved(recorded.with_slots(pairs.__getitem__)), twins
    _latest[key] = found
    while len(_latest) > KEPT:
        _latest.pop(next(iter(_latest)), None)
    return found[0], dict(zip(recorded.slots, found[1], strict=True))


_latest: dict[Hashable, tuple[Program, list[Slot]]] = {}  # the one used last is at the end
