"""Def-use analysis: which steps read and write a slot. Every pass needs it to change a Program.

A temp with a `maker` is the simplest and most frequent case: one step fills all of it, and its
readers come later. For anything else that changes (a parameter, a temp written in pieces), a pass
checks which steps between two others touch it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import NamedTuple, cast

from tutor.backends.bytecode import DIVIDES, parse, product
from tutor.backends.step import Step
from tutor.programs.passes.elements import overlap
from tutor.programs.program import Program, Slot, Walk, walks, whole

INDEXED = {"gather", "scatter", "index_select", "cross_entropy", "cross_entropy_grad"}  # forms
MOST = 32  # uses of a slot that are tracked one by one; later steps wait for all beyond that


class Use(NamedTuple):
    """Step number `at` reads or writes `walk`."""

    at: int
    walk: Walk


# The operands of a Step in a Program.
reads = cast(Callable[[Step], tuple[Walk, ...]], attrgetter("reads"))
writes = cast(Callable[[Step], tuple[Walk, ...]], attrgetter("writes"))


def is_map(step: Step) -> bool:
    """Is each element of out computed from the same element of each input? Then out may take the
    place of an input, and consecutive steps may be fused."""
    return step.signature.form == "elementwise" and not step.signature.params


def is_chain(step: Step) -> bool:
    """Does it consist of elementwise kernels, with a reduction at most? (A product writes before it
    has read everything.)"""
    return is_map(step) or (step.kernel == "fused" and product(str(step.params["code"])) is None)


def may_refuse(step: Step) -> bool:
    """May it raise, depending on its numbers: an index out of range, an integer divided by 0? Then
    its order relative to externally visible effects must not change."""
    if step.kernel == "fused":
        return any(row.may_refuse for row in parse(str(step.params["code"])))
    if step.kernel in DIVIDES:
        return step.dtype.is_integer
    return step.signature.form in INDEXED


class Uses:
    """`reads[slot]` and `writes[slot]`: each Use of a slot in a Program, in order."""

    __slots__ = ("reads", "writes")

    def __init__(self, program: Program) -> None:
        self.reads, self.writes = (
            defaultdict[Slot, list[Use]](list),
            defaultdict[Slot, list[Use]](list),
        )
        use = partial(tuple.__new__, Use)  # halves the time, as there are many
        for i, step in enumerate(program):
            for walk in reads(step):
                self.reads[walk.buf].append(use((i, walk)))
            for walk in writes(step):
                self.writes[walk.buf].append(use((i, walk)))

    @classmethod
    def of(cls, program: Program) -> Uses:
        """The Uses for a pass that does not `move` steps: computed once and shared by all passes
        that leave the Program unchanged."""
        if program.uses is None:
            program.uses = cls(program)
        return cast(Uses, program.uses)

    def move(self, step: Step, at: int) -> None:
        """Note that the step is now at `at`. (Its old Uses stay, which is only too cautious.)"""
        for found, several in ((self.reads, reads(step)), (self.writes, writes(step))):
            for walk in several:
                insort(found[walk.buf], Use(at, walk), key=_at)

    def maker(self, slot: Slot) -> int | None:
        """The step that fills the whole slot, if no other step writes it, none reads it before, and
        the slot is a temp or output; else None."""
        found = self.writes[slot]
        if len(found) != 1 or slot.role not in ("temp", "output"):
            return None
        at, walk = found[0]
        first = self.reads[slot][0].at if self.reads[slot] else at + 1
        return at if walk.is_whole and first > at else None

    def last_read(self, slot: Slot) -> int:
        """The last step that reads the slot; -1 if none does."""
        return self.reads[slot][-1].at if self.reads[slot] else -1

    def is_changed(self, walk: Walk, after: int, before: int) -> bool:
        """Does a step strictly between the two write an element of `walk`?"""
        return _any(self.writes[walk.buf], walk, after, before)

    def is_touched(self, walk: Walk, after: int, before: int) -> bool:
        """Does a step strictly between the two read or write an element of `walk`?"""
        read = _any(self.reads[walk.buf], walk, after, before)
        return read or self.is_changed(walk, after, before)


_at = attrgetter("at")


def _any(uses: list[Use], walk: Walk, after: int, before: int) -> bool:
    first, end = bisect_right(uses, after, key=_at), bisect_left(uses, before, key=_at)
    return any(overlap(use.walk, walk) for use in uses[first:end])


class _History(NamedTuple):
    """The reads and writes of a slot since it was last written as a whole."""

    read: list[Use]
    written: list[Use]


def dependences(program: Program) -> list[set[int]]:
    """For each step, the earlier steps that it must follow: those that wrote its inputs, and those
    that read or wrote its results. Besides, steps that may refuse stay in order, and inputs and
    states are not written before an earlier such step, so that a refusal leaves exactly the changes
    that it would have left. Only the latest steps are listed; they follow the ones before them.
    """
    found: list[set[int]] = []
    histories = {walk.buf: _History([], []) for step in program for walk in writes(step)}
    refused: set[int] = set()  # the last step that may have refused
    seen_outside: set[int] = set()  # the steps that have since written an input or state
    for i, step in enumerate(program):
        needs: set[int] = set()
        written = writes(step)
        for walk in reads(step):
            if history := histories.get(walk.buf):  # none for a slot that is never written
                needs.update(_meeting(walk, history.written))
        for walk in written:
            needs.update(_meeting(walk, histories[walk.buf].written))
            needs.update(_meeting(walk, histories[walk.buf].read))
        if any(walk.buf.role in ("input", "state") for walk in written):
            needs |= refused
            seen_outside.add(i)
        if may_refuse(step):
            needs |= refused | seen_outside
            refused, seen_outside = {i}, set()
        _note(histories, step, i, needs)
        needs.discard(i)
        found.append(needs)
    return found


def _meeting(walk: Walk, uses: list[Use]) -> list[int]:
    return [use.at for use in uses if overlap(use.walk, walk)]


def _note(histories: dict[Slot, _History], step: Step, i: int, needs: set[int]) -> None:
    """Enter step i into the histories. A history that has become long is cut: step i follows all
    steps in it, and replaces them from then on."""
    for walk in writes(step):
        history = histories[walk.buf]
        for uses in history:
            uses[:] = [] if walk.is_whole else [use for use in uses if use.walk != walk]
        history.written.append(Use(i, walk))
    for walk in reads(step):
        if walk.buf in histories:
            histories[walk.buf].read.append(Use(i, walk))
    for slot in {walk.buf for walk in walks(step)} & histories.keys():
        history = histories[slot]
        if len(history.written) + len(history.read) > MOST:
            needs.update(use.at for uses in history for use in uses)
            histories[slot] = _History([], [Use(i, whole(slot))])
