"""Memory planning for a Program's temps: liveness, then offsets.

A slot of role `temp` is live from the step that first writes it to the last step that reads or
writes it. Two temps that are never live at the same time may share a place. So all of them fit into
one block of memory, the arena, which is far smaller than their sum; it is allocated before the
first step runs, and no step waits for memory.

    from tutor.programs.plan import plan
    layout = plan(program)  # nothing is allocated
    layout.offsets[temp], layout.nbytes

A step's result never takes the place of one of its inputs, because kernels write before they have
read everything. (If a step may work in place, the Program says so: tutor/programs/passes.)
"""

from __future__ import annotations

from bisect import insort
from heapq import heappop, heappush
from typing import NamedTuple

from tutor.errors import DomainError
from tutor.programs.program import Program, Slot

ALIGNMENT = 64  # bytes: a cache line, and the widest SIMD register
LARGEST = 1000  # temps that are placed with regard to each other: 0.05 s


class Life(NamedTuple):
    """The first and the last step that use a slot."""

    first: int
    last: int


class ArenaLayout(NamedTuple):
    """The offset of each temp in the arena, and the size of the arena, both in bytes."""

    offsets: dict[Slot, int]
    nbytes: int


def lives(program: Program) -> dict[Slot, Life]:
    """The Life of each temp, in order of first use.

    DomainError for an invalid Program: a temp or an output is read before a step has written it
    (unless it has no numbers), or a constant is written.
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


def plan(program: Program) -> ArenaLayout:
    """Offsets for the temps, such that temps that are live at the same time do not overlap.

    Temps are placed from the largest down; each takes the first gap that fits, between those
    already placed that are live at the same time. So small temps fill the gaps that large ones
    leave. If temps were placed in step order, as an allocator does, a short-lived result would go
    between two that the backward pass needs, and leave a gap that nothing fits: the arena of an
    MLP's training step would have 1.4 times the peak of live bytes, that of a CNN 1.33 times. This
    way both equal the peak.

    Comparing each temp with all others takes time quadratic in their number. So if there are more
    than a thousand, the rest, which are smaller, are placed behind the large ones, and share places
    only with temps of the same size.
    """
    every = lives(program)
    found = {slot: life for slot, life in every.items() if slot.nbytes}
    by_size = sorted(found, key=lambda slot: slot.nbytes, reverse=True)
    offsets = {slot: 0 for slot in every if not slot.nbytes}
    end = _fit(by_size[:LARGEST], found, offsets)
    rest = set(by_size[LARGEST:])
    end = _share([slot for slot in found if slot in rest], found, offsets, end)
    return ArenaLayout(offsets, end)


def _fit(slots: list[Slot], found: dict[Slot, Life], offsets: dict[Slot, int]) -> int:
    """Place each temp in the first gap that fits; returns the size of the arena."""
    placed: list[tuple[int, int, Life]] = []  # start, end, life; in rising order
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
    """Place each temp where one of the same size is dead, else behind `end`; `slots` are in the
    order of first use. Returns the size of the arena."""
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
