"""Where the memory of a Program goes that is gone when it ends: liveness, then offsets.

Each slot of role `temp` is needed from the step that first writes it to the last one that reads or
writes it. Two temps that are never needed at the same time may have the same place. So all of them
fit into one block of memory, the arena, that is far smaller than their sum; it is there before the
first step runs, and no step waits for memory.

    >>> from tutor.programs.plan import plan
    >>> layout = plan(program)  # pure: nothing is allocated
    >>> layout.offsets[temp], layout.nbytes

A step's result never takes the place of what that step reads, for kernels write before they have
read everything. (Where a step may work in place, the Program says so: tutor/programs/passes.)
"""

from __future__ import annotations

from bisect import bisect
from typing import NamedTuple

from tutor.errors import DomainError
from tutor.programs.program import Program, Slot

ALIGNMENT = 64  # bytes: a cache line, and the widest SIMD register


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
    written it, or a constant is written.
    """
    found: dict[Slot, Life] = {}
    written: set[Slot] = set()
    for number, step in enumerate(program):
        for slot in (walk.buf for walk in step.reads):
            if slot.role in ("temp", "output") and slot not in written:
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

    Step by step, as an allocator would: what is needed no longer leaves a gap, and a new temp takes
    the smallest gap that it fits in, or else grows the arena.
    """
    found = lives(program)
    ends: list[list[Slot]] = [[] for _ in program]
    for slot, life in found.items():
        ends[life.last].append(slot)
    offsets: dict[Slot, int] = {}
    gaps = Gaps()
    done = 0  # the steps whose temps have been given back
    for slot, life in found.items():
        for step in range(done, life.first):
            for over in ends[step]:
                gaps.give(offsets[over], aligned(over.nbytes))
        done = max(done, life.first)
        offsets[slot] = gaps.take(aligned(slot.nbytes))
    return Layout(offsets, gaps.end)


def aligned(nbytes: int) -> int:
    """The next multiple of ALIGNMENT."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


class Gaps:
    """What is free in an arena: pairs (offset, end) in rising order, none of which touch."""

    def __init__(self) -> None:
        self.gaps: list[tuple[int, int]] = []
        self.end = 0  # of the arena: what lies beyond it is free, too

    def take(self, nbytes: int) -> int:
        """Room for so many bytes: where it begins."""
        if nbytes == 0:
            return 0
        fitting = [(end - at, i) for i, (at, end) in enumerate(self.gaps) if end - at >= nbytes]
        if fitting:
            _, i = min(fitting)
        elif self.gaps and self.gaps[-1][1] == self.end:  # the arena grows from its last gap on
            i = len(self.gaps) - 1
        else:
            self.end += nbytes
            return self.end - nbytes
        at, end = self.gaps.pop(i)
        if end > at + nbytes:
            self.gaps.insert(i, (at + nbytes, end))
        self.end = max(self.end, at + nbytes)
        return at

    def give(self, at: int, nbytes: int) -> None:
        """That room is free again; it becomes one with the gaps beside it."""
        if nbytes == 0:
            return
        end = at + nbytes
        i = bisect(self.gaps, (at, end))
        if i < len(self.gaps) and self.gaps[i][0] == end:
            end = self.gaps.pop(i)[1]
        if i > 0 and self.gaps[i - 1][1] == at:
            i -= 1
            at = self.gaps.pop(i)[0]
        self.gaps.insert(i, (at, end))
