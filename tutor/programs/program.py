"""Program: a list of Steps as data, whose memory is named rather than allocated.

Each operand of a Step is a Walk over a Slot. A Slot represents a Buffer by its count of numbers,
their dtype, and its part in the Program (its `role`):

    input     an argument of the call: another Buffer each time
    state     a Buffer that existed before: a parameter, a cell, an optimizer's moments
    constant  numbers written in the code: `value` holds them, no step writes them
    temp      made by a step, gone when the Program ends
    output    made by a step, and used afterwards

Nothing here runs anything: tutor/programs/replay.py does. A pass (tutor/programs/passes) is a
function from one Program to another that leaves the same numbers in the inputs, states and outputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from math import prod
from operator import attrgetter
from typing import Any, NamedTuple, cast

from tutor._storage.device_memory import CPU
from tutor._storage.layout import Shape
from tutor._storage.memory import kept
from tutor.backends.step import Step
from tutor.core.buffer import Buffer
from tutor.dtype import DType
from tutor.programs.table import html_table, table

ROLES = {"input": "x", "state": "s", "constant": "c", "temp": "t", "output": "y"}  # and initials
LONGEST_PLACE = 24  # characters: longer places would make a table too wide


class Slot:
    """The place of a Buffer in a Program: `count` numbers of `dtype`.

    `value` is the Buffer itself: always for a constant, as found for a state; `device` is where it
    is. `place` is a state's path as a person writes it: `model.layers[0].weight`.
    """

    __slots__ = ("count", "device", "dtype", "place", "role", "value")

    def __init__(
        self, role: str, count: int, dtype: DType, value: Any = None, device: str = CPU
    ) -> None:
        self.role, self.count, self.dtype, self.value = role, count, dtype, value
        self.place = ""
        self.device: str = device if value is None else value.device

    def __len__(self) -> int:
        return self.count

    def __bool__(self) -> bool:  # even with 0 numbers
        return True

    @property
    def nbytes(self) -> int:
        return self.count * self.dtype.itemsize

    @property
    def lasts(self) -> bool:
        """Is its content visible after the Program has ended?"""
        return self.role in ("input", "state", "output")

    def __repr__(self) -> str:
        return f"Slot({self.role}, {self.count} x {self.dtype.name})"


class Walk(NamedTuple):
    """An operand of a Step in a Program: a strided view of a slot's memory."""

    buf: Slot
    shape: Shape
    strides: Shape
    offset: int = 0

    @property
    def is_whole(self) -> bool:
        """Does it visit each number of the slot, in order?"""
        return self.offset == 0 and self.buf.count == prod(self.shape) and self.is_dense

    @property
    def is_dense(self) -> bool:
        """Does it lie in memory row by row, without gaps?"""
        return _is_dense(self.shape, self.strides)


def whole(slot: Slot) -> Walk:
    """Each number of the slot, in order."""
    return Walk(slot, (slot.count,), (1,))


def copied(buf: Any) -> Buffer:
    """A Buffer with the same numbers, in memory of its own."""
    raw = kept(buf, "a copy", reading=True).raw
    return Buffer.from_memory(raw, dtype=buf.dtype, device=buf.device)


# The operands of a Step in a Program: out, then the inputs.
walks = cast(Callable[[Step], tuple[Walk, ...]], attrgetter("operands"))


@lru_cache(maxsize=4096)
def _is_dense(shape: Shape, strides: Shape) -> bool:
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


def renamed(step: Step, slots: Mapping[Slot, Slot]) -> Step:
    """The step with its slots replaced as `slots` says; the same object if none is replaced."""
    if slots.keys().isdisjoint([walk.buf for walk in walks(step)]):
        return step
    return step.over([Walk(slots.get(w.buf, w.buf), *w[1:]) for w in walks(step)])


class Program:
    """`Program(steps)`: Steps whose operands are Walks over Slots; `slots` in order of appearance.

    Two Programs are equal if they compute the same on slots of the same kinds: `a == b` compares
    their text and their constants.
    """

    __slots__ = ("slots", "steps", "uses")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, steps: Iterable[Step], keep: Iterable[Slot] = ()) -> None:
        self.steps = tuple(steps)
        seen = [w.buf for step in self.steps for w in walks(step)]
        self.slots: tuple[Slot, ...] = tuple(dict.fromkeys([*seen, *keep]))
        self.uses: Any = None  # results of a pass that later passes reuse (passes/uses.py)

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def with_steps(self, steps: Iterable[Step]) -> Program:
        """Another list of steps over the same memory; every slot that lasts is kept."""
        steps = tuple(steps)
        if steps == self.steps:  # unchanged
            return self
        return Program(steps, [slot for slot in self.slots if slot.lasts])

    def with_slots(self, other: Callable[[Slot], Slot]) -> Program:
        """The same steps over other memory: each slot is replaced by `other(slot)`."""
        found = {slot: other(slot) for slot in self.slots}
        lasting = [found[slot] for slot in self.slots if found[slot].lasts]
        return Program([renamed(step, found) for step in self], lasting)

    @property
    def nbytes(self) -> int:
        """Bytes read and written by all steps."""
        return sum(step.nbytes for step in self.steps)

    @property
    def flops(self) -> int:
        """Floating-point operations of all steps, as far as they are known."""
        return sum(step.flops or 0 for step in self.steps)

    def names(self) -> dict[Slot, str]:
        """A short name for each slot: the initial of its role, and a number."""
        count = dict.fromkeys(ROLES, 0)
        found = {}
        for slot in self.slots:
            found[slot] = f"{ROLES[slot.role]}{count[slot.role]}"
            count[slot.role] += 1
        return found

    def called(self) -> dict[Slot, str]:
        """The same for people: a state has its place as its name, if that is short."""
        found = self.names()
        short = {s: s.place for s in self.slots if 0 < len(s.place) <= LONGEST_PLACE}
        count = Counter(short.values())
        return {**found, **{s: place for s, place in short.items() if count[place] == 1}}

    def far_places(self) -> dict[str, str]:
        """The places of the states that `called` gives a number."""
        called = self.called()
        return {called[s]: s.place for s in self.slots if s.place and called[s] != s.place}

    def text(self) -> str:
        """One line for each slot and each step; Programs are compared by it."""
        names = self.names()
        lines = [
            f"{names[s]}: {s.role} {s.count} x {s.dtype.name}"
            + (f" on {s.device}" if s.device != CPU else "")
            for s in self.slots
        ]
        for step in self.steps:
            params = "".join(f" {k}={v!r}" for k, v in step.params.items())
            out, *ins = [_walk_text(names, w) for w in walks(step)]
            lines.append(f"{out} = {step.kernel}.{step.dtype.name}({', '.join(ins)}){params}")
        return "\n".join(lines)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Program):
            return NotImplemented
        return self.text() == other.text() and self._constants() == other._constants()

    def _constants(self) -> list[bytes]:
        held = [s.value for s in self.slots if s.role == "constant"]
        return [kept(buf, "a constant", reading=True).raw.tobytes() for buf in held]

    def __repr__(self) -> str:
        return f"Program({len(self.steps)} steps, {self.nbytes:,} bytes, {self.flops:,} flops)"

    def __str__(self) -> str:
        return table(self.steps, self.called())

    def _repr_html_(self) -> str:
        return html_table(self.steps, self.called())


def _walk_text(names: dict[Slot, str], w: Walk) -> str:
    name = f"{names[w.buf]}{list(w.shape)}"
    return name if w.is_whole else f"{name}@{w.offset}/{','.join(map(str, w.strides))}"
