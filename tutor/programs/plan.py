"""Where the memory of a Program goes that is gone when it ends: liveness, then offsets.

Each slot of role `temp` is needed from the step that first writes it to the last one that reads or
writes it. Two temps that are never needed at the same time may have the same place. So all of them
fit into one block of memory, the arena, that is far smaller than their sum; it is there before the
first step runs, and no step waits for memory.

    from tutor.programs.plan import plan
    layout = plan(program)  # nothing is allocated
    layout.offsets[temp], layout.nbytes

A step's result never takes the place of what that step reads, for kernels write before they have
read everything. (Where a step may work in place, the Program says so: tutor/programs/passes.)
"""

from __future__ import annotations

from bisect import insort
from heapq import heappop, heappush
from typing import NamedTuple

from tutor.errors import DomainError
from tutor.programs.program import Program, Slot

ALIGNMENT = 64  # bytes: a cache line, and the widest SIMD register
LARGEST = 1000  # so many temps are placed with regard to each other: 0.05 s


class Life(NamedTuple):
    """The first and the last step that need a slot."""

    first: int
    last: int


class Layout(NamedTuple):
    """Where in the arena each temp begins, in bytes, and how large the arena is."""

    offsets: dict[Slot, int]
    nbytes: int


def lives(program: Program) -> dict[Slot, Life]:
    """When each temp is needed, in the order in which they begin.

    DomainError for a Program that has no meaning: a temp or an output is read before a step has
    written it (one without numbers needs no step that writes it), or a constant is written.
    """
    found: dict[Slot, Life] = {}
    written: set[Slot] = set()
    for number, step in enumerate(program):
        for slot in (walk.buf for walk in step.reads):
            if slot.role in ("temp", "output") and slot.count and slot not in written:
                raise _wrong(program, number, slot, "is read before a step has written it")
        for slot in (walk.buf for walk in step.writes):
            if slot.role == "constant":
                raise _wrong(program, number, slot, "is written, and a constant")
            written.add(slot)
        for slot in (walk.buf for walk in step.operands):
            if slot.role == "temp":
                found[slot] = Life(found[slot].first if slot in found else number, number)
    return found


def _wrong(program: Program, number: int, slot: Slot, what: str) -> DomainError:
    return DomainError(
        f"to plan a Program, step {number}: {program.steps[number]}",
        f"{program.names()[slot]} {what}",
        "look for the pass that has moved or dropped a step, or changed a role",
    )


def plan(program: Program) -> Layout:
    """Offsets for the temps, such that no two overlap that are needed at the same time.

    The largest temp comes first, and each takes the first gap that it fits in, between those that
    were placed before it and are needed while it is. So small ones fill the gaps that large ones
    leave. From step to step, as an allocator does it, a result that lives for a moment is put
    between two that the backward pass needs, and leaves a gap that nothing fits in: the arena of an
    MLP's training step has 1.4 times the bytes that one step needs at most, of a CNN's 1.33 times.
    This way both have as many as are needed.

    To look at all others for each temp takes time that grows with the square of their number. So
    where there are more than a thousand, the rest, which are smaller, lie behind the large ones,
    and share places only with temps of their own size.
    """
    every = lives(program)
    found = {slot: life for slot, life in every.items() if slot.nbytes}
    by_size = sorted(found, key=lambda slot: slot.nbytes, reverse=True)
    offsets = {slot: 0 for slot in every if not slot.nbytes}
    end = _fit(by_size[:LARGEST], found, offsets)
    rest = set(by_size[LARGEST:])
    end = _share([slot for slot in found if slot in rest], found, offsets, end)
    return Layout(offsets, end)


def _fit(slots: list[Slot], found: dict[Slot, Life], offsets: dict[Slot, int]) -> int:
    """Each in the first gap that it fits in; how large the arena is then."""
    placed: list[tuple[int, int, Life]] = []  # from, to, when; in rising order
    for slot in slots:
        first, last = found[slot]
        nbytes, at = aligned(slot.nbytes), 0
        for begin, end, (other_first, other_last) in placed:
            if other_first <= last and first <= other_last:
                if begin - at >= nbytes:
                    break
                at = max(at, end)
        offsets[slot] = at
        insort(placed, (at, at + nbytes, found[slot]))
    return max([end for _, end, _ in placed], default=0)


def _share(slots: list[Slot], found: dict[Slot, Life], offsets: dict[Slot, int], end: int) -> int:
    """Each where one of its own size is over, else behind `end`; `slots` are in the order in which
    they are needed."""
    over: dict[int, list[tuple[int, int]]] = {}  # for each size: (last step, offset), a heap
    for slot in slots:
        nbytes = aligned(slot.nbytes)
        places = over.setdefault(nbytes, [])
        if places and places[0][0] < found[slot].first:
            _, offsets[slot] = heappop(places)
        else:
            offsets[slot], end = end, end + nbytes
        heappush(places, (found[slot].last, offsets[slot]))
    return end


def aligned(nbytes: int) -> int:
    """The next multiple of ALIGNMENT."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT
