"""Running a Program: in one call of C++, or step by step.

    replay = Replay(program)
    replay.slots              # the inputs, states and outputs, in an order of their own
    replay.run(buffers)       # a Buffer for each of these, in that order

Everything that can be known beforehand is done once: where temps go (plan.py), which kernel each
step calls, whether its operands fit. Where all kernels are of the extension, that is a Plan there
(backends/simd_cpp/replay/): a run puts the addresses of the Buffers in, gives Python's lock away,
and calls one kernel after the other. Else, or while somebody watches, or with TUTOR_NATIVE=0, the
steps are emitted one by one, over Buffers like any others. Both leave the same bits. On a device
each step is enqueued there as it is emitted, and nobody waits for it; a device that can note what
it was asked for (opencl/capture.py) is given the whole list again from the second run on.

A run does not say that the Buffers change: who calls it has to `touch` those that steps write, as
it knows whose line that is. Two slots cannot be given memory that overlaps if a step writes one of
them: passes and the plan go by it that what stands in one slot does not change another.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tutor.backends import devices, registry, simd_cpp
from tutor.backends.registry import Operand, in_use
from tutor.backends.step import WATCHES, Step, emit
from tutor.core.buffer import Buffer
from tutor.errors import ArgumentError, DeviceError, DTypeError, RecordError, ShapeError
from tutor.programs.plan import Layout, lives, plan
from tutor.programs.program import Program, Slot, walks

Run = Callable[[Sequence[Buffer]], None]


class Replay:
    """`Replay(program)`: the Program, ready to be run. DomainError if it has no meaning: see
    plan.lives; and what a kernel's border check raises where operands do not fit."""

    __slots__ = ("_begin", "_end", "_runs", "layout", "program", "slots")

    def __init__(self, program: Program) -> None:
        self.program = program
        self.slots: tuple[Slot, ...] = tuple([slot for slot in program.slots if slot.lasts])
        self.layout: Layout = plan(program)
        self._begin: list[list[Slot]] = [[] for _ in program]
        self._end: list[list[Slot]] = [[] for _ in program]
        for slot, life in lives(program).items():
            self._begin[life.first].append(slot)
            self._end[life.last].append(slot)
        self._runs: dict[int, tuple[Any, Run, Run | None]] = {}  # of each backend's kernels: how

    @property
    def nbytes(self) -> int:
        """The size of the arena, in which all temps have their places."""
        return self.layout.nbytes

    def __repr__(self) -> str:
        temps = sum(slot.nbytes for slot in self.layout.offsets)
        return (
            f"Replay({len(self.program)} steps; {len(self.layout.offsets)} temps of {temps:,} bytes"
            f" in an arena of {self.nbytes:,})"
        )

    def run(self, buffers: Sequence[Buffer]) -> None:
        """Run all steps; `buffers` is a list or a tuple, a Buffer for each of `self.slots`.

        ArgumentError, ShapeError or DTypeError if they are not what the slots say, RecordError if
        two share memory and one of them is written; nothing has been run then. What a kernel
        raises is raised as in a single call; steps before that have been run. The error's attribute
        `step` is the number of the step, and a note says where in the user's code it comes from.
        Several threads may run a Replay at once. In one call of C++, Ctrl-C waits for its end.
        """
        kernels = in_use().kernels  # another dict for another backend, or for other kernels of it
        try:
            (self._runs.get(id(kernels)) or self._prepared(kernels))[1](buffers)
        except Exception as error:
            self.note(error)
            raise

    def note(self, error: Exception) -> None:
        """Let an error say in which step it happened, and from which line of yours that is."""
        number = getattr(error, "step", None)
        if isinstance(number, int):
            step = self.program.steps[number]
            place = f", {step.where[0]}:{step.where[1]}" if step.where else ""
            error.add_note(f"in step {number} of a Program: {step}{place}")

    # ---- in one call -----------------------------------------------------------------------------

    def native(self) -> tuple[Any, Run | None]:
        """The kernels in use, and the `run` of the extension's Plan with them, if there is one."""
        kernels = in_use().kernels
        return kernels, (self._runs.get(id(kernels)) or self._prepared(kernels))[2]

    def _prepared(self, kernels: Any) -> tuple[Any, Run, Run | None]:
        """How the Program is run with the backend in use, whose kernels these are."""
        plan = self._native()
        native = plan or self._noted()

        def run(buffers: Sequence[Buffer]) -> None:
            (native if native and not WATCHES else self._emit)(buffers)

        found = self._runs[id(kernels)] = kernels, run if native else self._emit, plan
        return found

    def _native(self) -> Any:
        """`run` of the extension's Plan; None if it has none of this Program."""
        slots, numbers = self.program.slots, {s: n for n, s in enumerate(self.program.slots)}
        if any(slot.device != registry.DEVICE for slot in slots):
            return None  # its steps are enqueued, one after another
        places = [(s.count, s.dtype.format, self._place(s)) for s in slots]
        steps = []
        for step in self.program:
            kernel = registry.kernel(step.kernel, step.dtype, step.device)
            operands = [(numbers[w.buf], w.shape, w.strides, w.offset) for w in walks(step)]
            steps.append((kernel, tuple(operands), dict(step.params)))
        try:
            made = simd_cpp.plan(places, steps, self.nbytes)
        except Exception as error:
            self.note(error)
            raise
        return made and made.run

    def _place(self, slot: Slot) -> Any:
        """Where the extension finds it: a Buffer; an offset in the arena; -1, given at each run."""
        return slot.value if slot.role == "constant" else self.layout.offsets.get(slot, -1)

    # ---- on a device -----------------------------------------------------------------------------

    def _noted(self) -> Run | None:
        """`run` by what a device has noted in the first one; None if there is none that does."""
        names = {slot.device for slot in self.program.slots} - {registry.DEVICE}
        if len(names) != 1 or os.environ.get("TUTOR_NATIVE") == "0":
            return None
        (name,) = names
        begin = devices.noting(name)
        if begin is None:
            return None
        still, early = self._before_all_else(name)
        constants = [slot.value for slot in self.program.slots if slot.role == "constant"]
        lock, found = threading.Lock(), []  # in it the list, or None: it cannot be noted

        def note(buffers: Sequence[Buffer]) -> None:
            noting = begin()
            with noting.on(buffers, still, early, constants):
                self._emit(buffers, noting)
            found.append(None if noting.lost else noting.commands)

        def run(buffers: Sequence[Buffer]) -> None:
            if not found:
                with lock:
                    if not found:
                        note(buffers)
                        return
            if found[0] is None:
                self._emit(buffers)
            else:
                self._checked(buffers, found[0].buffers)
                found[0].run(buffers)

        return run

    def _before_all_else(self, device: str) -> tuple[list[int], set[int]]:
        """The Buffers that no step writes; and the steps of a device that could come first: they
        read those, or what such steps have left in temps that nobody else writes."""
        written = Counter(w.buf for step in self.program for w in step.writes)
        known = {slot for slot in self.program.slots if slot not in written}
        early: set[int] = set()
        for number, step in enumerate(self.program):
            into = {w.buf for w in step.writes}
            alone = all(slot.role == "temp" and written[slot] == 1 for slot in into)
            there = step.device == device and step.kernel != "transfer"
            if there and alone and known.issuperset(w.buf for w in step.reads):
                early.add(number)
                known |= into
        return [i for i, slot in enumerate(self.slots) if slot not in written], early

    # ---- step by step ----------------------------------------------------------------------------

    def _emit(self, buffers: Sequence[Buffer], noting: Any = None) -> None:
        """The same with Python: each step emitted, each temp a Buffer while it is needed. A device
        notes it in `noting`."""
        memory: dict[Slot, Any] = self._checked(buffers)
        memory.update((s, s.value) for s in self.program.slots if s.role == "constant")
        for number, step in enumerate(self.program):
            if noting is not None:
                noting.begin(number)
            for slot in self._begin[number]:
                memory[slot] = Buffer.empty(slot.count, slot.dtype, slot.device)
            try:
                if noting is not None:
                    noting.step(_over(step, memory))
                else:
                    emit(_over(step, memory))
            except Exception as error:
                error.step = number  # type: ignore[attr-defined]
                raise
            for slot in self._end[number]:
                del memory[slot]

    def _checked(self, buffers: Sequence[Buffer], before: Sequence[Any] = ()) -> dict[Slot, Any]:
        """The Buffer of each slot. The errors are those of the extension (replay/run.cpp). What is
        the same as in `before`, Buffers of another run, is right."""
        if not isinstance(buffers, (list, tuple)) or len(buffers) != len(self.slots):
            several = isinstance(buffers, (list, tuple))
            found = f"{len(buffers)} Buffers" if several else f"an object of type {_type(buffers)}"
            wanted = f"give a list of {len(self.slots)} Buffers"
            raise ArgumentError("to run a Program", found, wanted)
        for number, (slot, buf) in enumerate(zip(self.slots, buffers, strict=True)):
            if before and buf is before[number]:
                continue
            if (
                type(buf) is Buffer
                and len(buf) == slot.count
                and (buf.dtype is slot.dtype and buf.device == slot.device)
            ):
                continue
            asked = f"to run a Program, Buffer {number}"
            if not isinstance(buf, Buffer):
                raise DTypeError(asked, f"an object of type {_type(buf)}", "give a Buffer")
            if (len(buf), buf.dtype) != (slot.count, slot.dtype):
                raise (ShapeError if buf.dtype is slot.dtype else DTypeError)(
                    asked,
                    f"it has {len(buf)} numbers of {buf.dtype.name}",
                    f"give {slot.count} numbers of {slot.dtype.name}, as in the Program",
                )
            if buf.device != slot.device:
                found, wanted = f"it is on {buf.device!r}", f"give one on {slot.device!r}"
                raise DeviceError(asked, found, f"{wanted}, as in the Program")
        held = dict(zip(self.slots, buffers, strict=True))
        check_apart(self.program, held)
        return held


def check_apart(program: Program, held: Mapping[Slot, Any]) -> None:
    """RecordError if two of the Buffers share memory, and a step of the Program writes there. Only
    borrowed memory, as of an array that another library made of a Tensor, can be another one's."""
    here = [(slot, buf) for slot, buf in held.items() if slot.device == registry.DEVICE]
    borrowed = {slot for slot, buf in here if buf.memory.keep().owner is not None}
    if not borrowed:
        return
    written = {w.buf for step in program for w in step.writes}
    places = [(slot, buf.address, buf.address + slot.nbytes) for slot, buf in here]
    for slot, start, end in places:
        if slot not in borrowed:
            continue
        for other, begin, stop in places:
            if other is not slot and {slot, other} & written and start < stop and begin < end:
                raise RecordError(
                    "to replay a call over two Tensors in the same memory",
                    f"those of {slot.count} and of {other.count} numbers overlap, by way of another"
                    " library, and a step writes there",
                    "hand over a copy: x.copy()",
                )


def _over(step: Step, memory: dict[Slot, Any]) -> Step:
    return step.over([Operand(memory[w.buf], w.shape, w.strides, w.offset) for w in walks(step)])


def _type(thing: object) -> str:
    return type(thing).__name__
