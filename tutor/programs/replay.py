"""Running a Program: in one call of C++, or step by step.

    replay = Replay(program)
    replay.slots              # the inputs, states and outputs, in a fixed order
    replay.run(buffers)       # a Buffer for each of these, in that order

Everything known beforehand is done once: placing temps (plan.py), choosing each step's kernel,
checking its operands. If all kernels are in the extension, the result is a Plan there
(backends/simd_cpp/replay/): a run fills in the addresses of the Buffers, releases the GIL, and
calls one kernel after another. Otherwise, or while a watcher is active, or with TUTOR_NATIVE=0, the
steps are emitted one by one, over ordinary Buffers. Both produce the same bits. On a device each
step is enqueued as it is emitted, without waiting; a device that can capture its commands
(opencl/capture.py) gets the whole list at once from the second run on.

A run does not mark Buffers as changed: the caller must `touch` those that steps write, since it
knows the responsible line. Two slots must not be given overlapping memory if a step writes one of
them: passes and the plan assume that writing one slot does not change another.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from tutor._storage.device_memory import CPU
from tutor.backends import devices, registry, simd_cpp
from tutor.backends.registry import Operand, in_use
from tutor.backends.step import WATCHES, emit
from tutor.core.buffer import Buffer
from tutor.errors import ArgumentError, DeviceError, DTypeError, RecordError, ShapeError
from tutor.programs.plan import ArenaLayout, lives, plan
from tutor.programs.program import Program, Slot, walks

Run = Callable[[Sequence[Buffer]], None]


class Replay:
    """`Replay(program)`: the Program, ready to run. DomainError if it is invalid (see plan.lives),
    and the error of a kernel's border check if operands do not fit."""

    __slots__ = ("_ends", "_runs", "at", "fresh", "layout", "program", "slots")

    def __init__(self, program: Program) -> None:
        self.program = program
        self.slots: tuple[Slot, ...] = tuple([slot for slot in program.slots if slot.lasts])
        self.at = {slot: i for i, slot in enumerate(self.slots)}
        self.fresh = [(i, slot.count, slot.dtype, slot.device) for slot, i in self.at.items()
                      if slot.role == "output"]  # fmt: skip
        self.layout: ArenaLayout = plan(program)
        self._ends = ends_of(program)
        self._runs: dict[int, tuple[Any, Run, Run | None]] = {}  # for each backend's kernels

    @property
    def nbytes(self) -> int:
        """The size in bytes of the arena that holds all temps."""
        return self.layout.nbytes

    def __repr__(self) -> str:
        temps = sum(slot.nbytes for slot in self.layout.offsets)
        return (
            f"Replay({len(self.program)} steps; {len(self.layout.offsets)} temps of {temps:,} bytes"
            f" in an arena of {self.nbytes:,})"
        )

    def make_outputs(self, buffers: list[Any]) -> None:
        """Put a new Buffer where each output is."""
        for i, count, dtype, device in self.fresh:
            buffers[i] = Buffer.empty(count, dtype, device)

    def run(self, buffers: Sequence[Buffer]) -> None:
        """Run all steps; `buffers` is a list or a tuple, a Buffer for each of `self.slots`.

        ArgumentError, ShapeError, DTypeError or DeviceError if they do not match the slots,
        RecordError if two share memory and one of them is written; then nothing has run. A kernel's
        error is raised as in a single call, after the steps before it have run. Its attribute
        `step` is the number of the step, and a note names the step's line in the user's code.
        Several threads may run a Replay at once. Ctrl-C waits for the end of a call into C++.
        """
        kernels = in_use().kernels  # a dict per backend, or per set of its kernels
        try:
            (self._runs.get(id(kernels)) or self._prepared(kernels))[1](buffers)
        except Exception as error:
            self.note(error)
            raise

    def note(self, error: Exception) -> None:
        """Add to an error the step in which it occurred, and your line that made the step."""
        number = getattr(error, "step", None)
        if isinstance(number, int):
            step = self.program.steps[number]
            place = f", {step.where[0]}:{step.where[1]}" if step.where else ""
            error.add_note(f"in step {number} of a Program: {step}{place}")

    # ---- in one call -----------------------------------------------------------------------------

    def native(self) -> tuple[Any, Run | None]:
        """The kernels in use, and the `run` of the extension's Plan for them, or None."""
        kernels = in_use().kernels
        return kernels, (self._runs.get(id(kernels)) or self._prepared(kernels))[2]

    def _prepared(self, kernels: Any) -> tuple[Any, Run, Run | None]:
        """How to run the Program with the backend in use, whose kernels are given."""
        plan = self._native()
        native = plan or self._noted()

        def run(buffers: Sequence[Buffer]) -> None:
            (native if native and not WATCHES else self._emit)(buffers)

        found = self._runs[id(kernels)] = kernels, run if native else self._emit, plan
        return found

    def _native(self) -> Any:
        """`run` of the extension's Plan; None if the extension cannot run this Program."""
        slots, numbers = self.program.slots, {s: n for n, s in enumerate(self.program.slots)}
        if any(slot.device != CPU for slot in slots):
            return None  # its steps are enqueued one by one
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
        """Where the extension finds it: a Buffer; an offset in the arena; -1 if passed per run."""
        return slot.value if slot.role == "constant" else self.layout.offsets.get(slot, -1)

    # ---- on a device -----------------------------------------------------------------------------

    def _noted(self) -> Run | None:
        """A `run` that repeats the commands captured in the first run; None if no device can."""
        names = {slot.device for slot in self.program.slots} - {CPU}
        if len(names) != 1 or os.environ.get("TUTOR_NATIVE") == "0":
            return None
        (name,) = names
        begin = devices.noting(name)
        if begin is None:
            return None
        still, early = self._before_all_else(name)
        constants = [slot.value for slot in self.program.slots if slot.role == "constant"]
        lock, found = threading.Lock(), []  # found: [the list], or [None] if it cannot be captured

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
        """The Buffers that no step writes; and the steps of a device that could run first: they
        read only those, or temps that only such steps have written."""
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
        """The same in Python; a device captures the commands in `noting`."""
        memory: dict[Slot, Any] = self._checked(buffers)
        memory.update((s, s.value) for s in self.program.slots if s.role == "constant")
        emit_all(self.program, memory, self._ends, noting)

    def _checked(self, buffers: Sequence[Buffer], before: Sequence[Any] = ()) -> dict[Slot, Any]:
        """The Buffer of each slot. Raises the same errors as the extension (replay/run.cpp).
        Buffers that are also in `before`, the Buffers of an earlier run, are not checked again."""
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
    borrowed memory can be shared, such as an array that another library made of a Tensor."""
    here = [(slot, buf) for slot, buf in held.items() if slot.device == CPU]
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


def ends_of(program: Program) -> list[list[Slot]]:
    """For each step, the temps that no later step uses."""
    ends: list[list[Slot]] = [[] for _ in program]
    for slot, life in lives(program).items():
        ends[life.last].append(slot)
    return ends


def emit_all(
    program: Program, memory: dict[Slot, Any], ends: Sequence[Collection[Slot]], noting: Any = None
) -> None:
    """Emit each step over `memory`, which holds the Buffers of slots. A slot without one gets it
    when a step first uses it, and those in `ends` lose theirs after that step."""
    for number, step in enumerate(program):
        if noting is not None:
            noting.begin(number)
        for slot in (walk.buf for walk in walks(step)):
            if slot not in memory:
                memory[slot] = Buffer.empty(slot.count, slot.dtype, slot.device)
        here = step.over([Operand(memory[w.buf], *w[1:]) for w in walks(step)])
        try:
            emit(here) if noting is None else noting.step(here)
        except Exception as error:
            error.step = number  # type: ignore[attr-defined]
            raise
        del here  # it holds the Buffers
        for slot in ends[number]:
            del memory[slot]


def _type(thing: object) -> str:
    return type(thing).__name__
