"""Chains: which elementwise steps can be fused, over one iteration space.

A step joins the chain that made its inputs. The chain then runs as a whole at one place in the
order, so it must be possible to move its steps there. Each chain, and each single step, has a
`rank`, and anything that must follow another has a higher rank. So a chain may get any rank
above those it must follow and below those that must follow it: if there is room for such a rank,
the step can join, and sorting by rank gives a valid order. No search through the graph is needed.

All steps of a chain are walked in its `shape`. If two of them meet in memory, and one writes,
they must visit the same elements in the same order: then each element is ready when it is read.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import cast

from tutor._storage.layout import Shape
from tutor.backends.bytecode import MOST_INSTRUCTIONS, MOST_OPERANDS
from tutor.backends.step import Step
from tutor.programs.passes.elements import is_scattered, overlap, same, viewed
from tutor.programs.passes.uses import dependences, is_map, may_refuse, reads, writes
from tutor.programs.program import Program, Slot, Walk, walks

REDUCES = {"sum", "mean", "prod", "max", "min"}  # kernels that may end a chain


class StepChain:
    """Steps, by number in the Program, to run as one; at first each step is a chain of its own."""

    __slots__ = ("before", "inputs", "needs", "open", "outside", "rank", "readers", "refuses",
                 "shape", "steps", "touched", "unread", "walked", "written")  # fmt: skip

    def __init__(self, shape: Shape, readers: Mapping[Slot, int]) -> None:
        self.steps: dict[int, Step] = {}
        self.needs: set[int] = set()  # the numbers of steps that must come first
        self.rank, self.before = 0.0, math.inf  # `before`: the least rank of its followers
        self.shape, self.open = shape, False  # may others join?
        self.touched: dict[Slot, list[tuple[Walk, bool]]] = {}  # walks; written?
        self.walked: set[Walk] = set()
        self.written: set[Walk] = set()
        self.inputs = 0  # the number of walks read that the chain has not written
        self.readers = readers  # how often each slot is read in the Program
        self.unread: dict[Slot, int] = {}  # the reads outside the chain of the slots it writes
        self.refuses = self.outside = False  # may a step raise, is an input or state written?

    def takes(self, step: Step) -> bool:
        """Can the step run with the others, in one call of the kernel? And are refusals the same as
        step by step: in order, and with nothing left half done?"""
        refuses = may_refuse(step)
        outside = self.outside or any(w.buf.role in ("input", "state") for w in writes(step))
        return (
            len(self.steps) < MOST_INSTRUCTIONS
            and self._operands(step) <= MOST_OPERANDS
            and step.device == next(iter(self.steps.values()), step).device
            and not (refuses and self.refuses)
            and not (outside and (refuses or self.refuses))
            and (self._fits(step) if is_map(step) else self._ends_in(step))
        )

    def _operands(self, step: Step) -> int:
        """The most operands there would be: inputs, and results that other steps read."""
        results = sum(walk.buf.lasts or self.unread[walk.buf] > 0 for walk in self.written)
        return self.inputs + results + len(set(walks(step)) - self.walked)

    def _fits(self, step: Step) -> bool:
        """Do the step and the chain share memory only element for element?"""
        written = writes(step)
        return not any(
            (wrote or walk in written) and not same(walk, other) and overlap(walk, other)
            for walk in walks(step)
            for other, wrote in self.touched.get(walk.buf, ())
        )

    def _ends_in(self, step: Step) -> bool:
        """Can this reduction end the chain? It must read a result of the chain, in the chain's
        shape, and go over all axes or the last ones. (The kernel could go over others, but would
        read down columns that are only briefly in the cache: that took ten times as long.)"""
        out, x = walks(step)
        made = [walk for walk, wrote in self.touched[x.buf] if wrote]
        return (
            len(made) == 1
            and same(made[0], x)
            and is_trailing(step)
            and not any(overlap(out, walk) for walk in self.walked)
        )

    def take(self, at: int, step: Step) -> None:
        """Add step number `at`."""
        self.steps[at] = step
        self.refuses |= may_refuse(step)
        for walk in reads(step):
            self.inputs += walk not in self.walked
            self.walked.add(walk)
            self.touched.setdefault(walk.buf, []).append((walk, False))
            if walk.buf in self.unread:
                self.unread[walk.buf] -= 1
        for walk in writes(step):
            self.walked.add(walk)
            self.written.add(walk)
            self.unread.setdefault(walk.buf, self.readers[walk.buf])
            self.touched.setdefault(walk.buf, []).append((walk, True))
            self.outside |= walk.buf.role in ("input", "state")


def is_trailing(step: Step) -> bool:
    """Does the reduction go over all axes, or the last ones? Then they are also the last axes of
    other shapes."""
    axis, ndim = cast(Shape, step.params["axis"]), len(step.ins[0].shape)
    return axis != () and axis == tuple(range(ndim - len(axis), ndim))


class Chains:
    """The chains of a Program; `in_order()` lists them."""

    def __init__(self, program: Program) -> None:
        self.of: list[StepChain] = []  # the chain of each step
        self.last = 0.0  # the highest rank so far
        self.readers = Counter(walk.buf for step in program for walk in reads(step))
        for at, (step, needs) in enumerate(zip(program, dependences(program), strict=True)):
            self._add(at, step, needs)

    def in_order(self) -> list[StepChain]:
        """Each chain once, after all chains that it must follow."""
        return sorted(dict.fromkeys(self.of), key=lambda chain: chain.rank)

    def _add(self, at: int, step: Step, needs: set[int]) -> None:
        alone = StepChain(walks(step)[0].shape, self.readers)
        alone.take(at, step)
        alone.open = is_map(step) and 0 not in alone.shape
        if any(map(is_scattered, walks(step))):  # only its own kernel walks it in squares
            alone.open = False
        alone.needs, alone.rank = needs, self.last + 1
        self.of.append(alone)
        for joined in self._candidates(step, alone):
            if self._join(joined, alone):
                return
        self.last = alone.rank
        self._note(alone)

    def _candidates(self, step: Step, alone: StepChain) -> Iterator[list[StepChain]]:
        """The chains that the step may join: all that made its inputs at once, or one of them."""
        if not alone.open and step.kernel not in REDUCES:
            return
        read = {walk.buf for walk in reads(step)}
        made = [self.of[n] for n in sorted(alone.needs, reverse=True)]
        made = [
            chain
            for chain in dict.fromkeys(made)
            if chain.open and any(wrote for s in read for _, wrote in chain.touched.get(s, ()))
        ]
        if len(made) > 1:
            yield made
        for chain in made:
            yield [chain]

    def _join(self, chains: list[StepChain], alone: StepChain) -> bool:
        """Merge them all into one chain, if possible."""
        ((at, step),) = alone.steps.items()
        rank = self._rank(chains, alone)
        if rank is None:
            return False
        for shape in dict.fromkeys((chains[0].shape, _walked(step))):
            whole, found = _merged(chains, shape), _in_shape(step, shape)
            if whole is None or found is None or not whole.takes(found):
                continue
            whole.needs = {n for c in (*chains, alone) for n in c.needs if n not in whole.steps}
            whole.rank, whole.before = rank, min(chain.before for chain in chains)
            whole.open = alone.open
            whole.take(at, found)
            for n in whole.steps:
                self.of[n] = whole
            self._note(whole)
            self.last = max(self.last, rank)
            return True
        return False

    def _rank(self, chains: list[StepChain], alone: StepChain) -> float | None:
        """A rank after everything that the chains and this step must follow, and before everything
        that must follow the chains; None if there is none."""
        needed = {self.of[n] for chain in (*chains, alone) for n in chain.needs}
        low = max((chain.rank for chain in needed.difference(chains)), default=0.0)
        high = min(chain.before for chain in chains)
        now = max(chain.rank for chain in chains)
        if low < now < high:
            return now
        rank = self.last + 1 if high == math.inf else (low + high) / 2
        return rank if low < rank < high else None

    def _note(self, chain: StepChain) -> None:
        """Note on the chains that must come first how far they may move."""
        for n in chain.needs:
            self.of[n].before = min(self.of[n].before, chain.rank)


def _merged(chains: list[StepChain], shape: Shape) -> StepChain | None:
    """One chain of all their steps, in their original order, walked in that shape; None if that is
    impossible."""
    if len(chains) == 1 and chains[0].shape == shape:
        return chains[0]
    whole = StepChain(shape, chains[0].readers)
    for at, step in sorted((at, step) for chain in chains for at, step in chain.steps.items()):
        found = _in_shape(step, shape)
        if found is None or not whole.takes(found):
            return None
        whole.take(at, found)
    return whole


def _walked(step: Step) -> Shape:
    """The shape that a step walks, element by element."""
    return walks(step)[0 if is_map(step) else 1].shape


def _in_shape(step: Step, shape: Shape) -> Step | None:
    """The same step, walked in another shape of the same size; None if that is impossible."""
    if _walked(step) == shape:
        return step
    if is_map(step):
        operands = [viewed(walk, shape) for walk in walks(step)]
        return None if None in operands else step.over([w for w in operands if w is not None])
    out, x = walks(step)
    sizes = [math.prod(shape[axis:]) for axis in range(len(shape) + 1)]
    reduced = math.prod(x.shape) // (math.prod(out.shape) or 1)
    if not is_trailing(step) or 0 in x.shape or reduced not in sizes:
        return None
    first = sizes.index(reduced)  # the first reduced axis in the other shape
    x_there, out_there = viewed(x, shape), viewed(out, shape[:first])
    if x_there is None or out_there is None:
        return None
    params = {**step.params, "axis": tuple(range(first, len(shape)))}
    return Step(step.kernel, step.dtype, out_there, (x_there,), params, step.where)
