"""Running pending steps together, as one Program that the passes improve first, so that chains of
steps become single kernels.

    with tutor.lazy():
        y = (x * 2 + 1).relu().sum()
    y.item()                               # one kernel, `fused`: x is read once

The effect is that of lazy_buffers.py, step by step, with the same bits. Steps run together only if
they write into no existing memory: nothing changes until all results are there, so a failure on the
way leaves no trace. A step that may refuse its numbers runs alone, so that an error belongs to one
step.

Improving a Program takes 100 us per step the first time; finding it again and running it takes 20.
In that time LEAST bytes can be written, and read by the next step. If less than that is at stake,
steps run one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

from tutor.backends import registry
from tutor.backends.registry import Kernel
from tutor.backends.step import Step
from tutor.core.buffer import Buffer
from tutor.dtype import DType, float32
from tutor.errors import TutorError
from tutor.programs.passes import improved
from tutor.programs.passes.uses import is_map, may_refuse, writes
from tutor.programs.program import Program, Slot
from tutor.programs.replay import emit_all, ends_of

MOST = 256  # steps at once: a long chain is cut into pieces
KEPT = 64  # improved Programs in the cache
LEAST = 1 << 20  # bytes written by elementwise steps, per step of the Program


def may_join(step: Step, kernel: Kernel) -> bool:
    """Can a step over places, with this kernel, be run with others?"""
    if any(walk.buf.value is not None for walk in writes(step)) or may_refuse(step):
        return False
    found = _in_use(step.kernel, step.dtype, step.device)
    return found is kernel  # otherwise it was noted for another backend


def _in_use(name: str, dtype: DType, device: str) -> Kernel | None:
    try:
        return registry.kernel(name, dtype, device)
    except TutorError:
        return None


def are_worth_it(steps: Sequence[Step]) -> bool:
    """Does running the steps together gain more than it costs?"""
    written = sum([step.out.buf.nbytes for step in steps if is_map(step)])
    return (
        len(steps) > 1
        and written >= LEAST * len(steps)
        and all(_in_use("fused", float32, on) is not None for on in {s.device for s in steps})
    )


def program_of(
    steps: Sequence[Step], lasting: Collection[Slot]
) -> tuple[Program, dict[Slot, Slot]]:
    """Steps over places as a Program, and the slot of each place in it. A place with a value is a
    constant or a state; of the others, those in `lasting` are needed afterwards."""
    found: dict[Slot, Slot] = {}
    memories: dict[int, Slot] = {}  # constants and states with the same memory share a slot
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
    """Run the steps; returns new Buffers with the results for the places in `lasting`.

    (Replay is for Programs that run repeatedly, and has all temps in one arena.)
    """
    recorded, parts = program_of(steps, lasting)
    program, twins = _improved(recorded)
    memory: dict[Slot, Buffer] = {s: s.value for s in program.slots if s.role == "constant"}
    memory.update((twins[s], s.value) for s in recorded.slots if s.value is not None)
    memory.update(
        (s, Buffer.empty(0, s.dtype, s.device)) for s in program.slots if not s.count
    )  # unwritten
    emit_all(program, memory, ends_of(program))
    return {place: memory[twins[s]] for place, s in parts.items() if s.role == "output"}


def _improved(recorded: Program) -> tuple[Program, dict[Slot, Slot]]:
    """The Program after all passes, and its slot for each slot of the recorded one.

    The latest Programs are cached by their text, since a loop notes its steps again each time.
    There, existing memory, constants included, is a state without a value: so the same lines with
    other numbers are the same Program, and the cache holds no memory.
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


_latest: dict[Hashable, tuple[Program, list[Slot]]] = {}  # most recently used last
