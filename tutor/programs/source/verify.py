"""Verifies compiled code: each step is tested on copies before the whole is used.

The library's kernels run the Program step by step; each step's C function gets the same memory and
must agree with them as signatures.py requires of its kernel (cases/bounds.py bounds the sums). Then
run() as a whole must leave the same bits as its steps one by one. A `fused` step is tested as its
individual kernels: another Program, compiled as well, whose run must give the same bits.
"""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tutor._storage.bits import UNSIGNED, pack, unpack
from tutor._storage.memory import Holder, Memory
from tutor.backends import registry
from tutor.backends.registry import Operand
from tutor.backends.step import Step, emit
from tutor.core.buffer import Buffer
from tutor.dtype import DType, bool_
from tutor.errors import TutorError
from tutor.programs.program import Program, Slot, walks
from tutor.programs.source.compiler import CompilerError, load
from tutor.programs.source.function import CompiledProgram
from tutor.programs.source.text import source
from tutor.programs.source.unfold import unfolded
from tutor.testing.cases.bounds import bounds
from tutor.testing.cases.draws import Case, Spec
from tutor.testing.cases.operands import BufferMemory
from tutor.testing.conformance import agreement, fraction, ulps

Images = dict[Slot, bytes]
DRAWS = (None, 0, 1)  # fillings of integers, each of which may be an index, a divisor, a count


class Memories:
    """Memory for each slot, which can be filled repeatedly."""

    def __init__(self, slots: Sequence[Slot]) -> None:
        self.slots = slots
        self.blocks = {s: BufferMemory(Memory(s.count, s.dtype.itemsize, s.dtype.format), s.dtype)
                       for s in slots}  # fmt: skip

    @property
    def addresses(self) -> list[int]:
        return [self.blocks[slot].memory.address for slot in self.slots]

    def fill(self, images: Images) -> None:
        for slot, image in images.items():
            if slot in self.blocks and slot.count:
                self.blocks[slot].raw[:] = image

    def images(self, slots: Sequence[Slot]) -> Images:
        return {slot: self.blocks[slot].raw.tobytes() for slot in slots}

    def over(self, step: Step) -> Step:
        """The step on this memory."""
        return step.over([Operand(self.blocks[w.buf], *w[1:]) for w in walks(step)])


def tried(
    program: Program, example: Mapping[Slot, Holder],
    times: Callable[[CompiledProgram, Mapping[Slot, Buffer]], tuple[float, float]] | None = None,
) -> CompiledProgram:  # fmt: skip
    """The Program, compiled, if it is correct, and if it is faster than the library's own replay by
    `times`; otherwise a CompilerError says why not."""
    found = CompiledProgram(program, load(source(program)))
    if (why := trial(found, example)) is not None:
        raise CompilerError(why)
    if times is not None:
        here, without = timed(program, example, partial(times, found))
        if here > without:
            of = f"a Program of {len(program)} steps"
            raise CompilerError(f"in C {of} takes {1e6 * here:.1f} us, else {1e6 * without:.1f}")
    return found


def timed(
    program: Program, example: Mapping[Slot, Holder],
    times: Callable[[Mapping[Slot, Buffer]], tuple[float, float]],
) -> tuple[float, float]:  # fmt: skip
    """The times of both roads, each on separate memory; 0 and 0 if neither can be tried."""
    for draw in DRAWS:
        memories = Memories(program.slots)
        memories.fill(begun(program, example, draw))
        with contextlib.suppress(TutorError):
            return times({s: Buffer.over(b.memory, s.dtype) for s, b in memories.blocks.items()})
    return 0, 0


def trial(compiled: CompiledProgram, example: Mapping[Slot, Holder]) -> str | None:
    """The fault of the compiled Program, in one line; None if it is correct."""
    program = compiled.program
    plain = unfolded(program)
    stepwise = compiled if plain is program else CompiledProgram(plain, load(source(plain)))
    why = ""
    for draw in DRAWS:
        begin = begun(plain, example, draw)
        try:
            if (why := step_by_step(stepwise, begin)) is not None:  # type: ignore[assignment]
                return why
            return as_a_whole(compiled, stepwise, begin)
        except TutorError as error:
            why = f"it could not be tried: {' '.join(str(error).split())}"
    return why


def begun(program: Program, example: Mapping[Slot, Holder], draw: int | None) -> Images:
    """The initial content of each memory: a copy of the example, or of the slot's value."""
    rng, images = random.Random(0), {}
    for slot in program.slots:
        held = example.get(slot, slot.value)
        if held is not None:
            images[slot] = held.raw.tobytes()
        elif slot.role == "input":
            images[slot] = pack(drawn(rng, slot, draw), slot.dtype)
        else:
            images[slot] = bytes(slot.nbytes)
    return images


def drawn(rng: random.Random, slot: Slot, number: int | None) -> list[Any]:
    if slot.dtype.is_float:
        return [rng.gauss(0, 1) for _ in range(slot.count)]
    if number is not None and slot.dtype is not bool_:
        return [number] * slot.count
    return [rng.randrange(2) for _ in range(slot.count)]


def step_by_step(compiled: CompiledProgram, begin: Images) -> str | None:
    """Compare each step of the library with the same step in C, on the same memory."""
    program = compiled.program
    here, there = Memories(program.slots), Memories(program.slots)
    here.fill(begin)
    for number, step in enumerate(program):
        slots = list({w.buf for w in walks(step)})
        before = here.images(slots)
        emit(here.over(step))
        if not compiled.written[number]:
            continue
        after = here.images(slots)
        there.fill(before)
        compiled.step(number, there.addresses)
        wrong = differing(step, before, after, there.images(slots))
        if wrong:
            where = f" ({step.where[0].rpartition('/')[2]}:{step.where[1]})" if step.where else ""
            return f"step {number}, {step.kernel} {step.dtype.name}{where}, disagrees: {wrong}"
    return None


def as_a_whole(compiled: CompiledProgram, stepwise: CompiledProgram, begin: Images) -> str | None:
    """Compare run() with the steps one by one, bit for bit."""
    here, there = Memories(compiled.program.slots), Memories(stepwise.program.slots)
    here.fill(begin)
    there.fill(begin)
    compiled(here.addresses)
    for number in range(len(stepwise.program)):
        stepwise.step(number, there.addresses)
    lasting = [slot for slot in compiled.program.slots if slot.lasts]
    found, wanted = here.images(lasting), there.images(lasting)
    for number, slot in enumerate(lasting):
        if found[slot] != wanted[slot] and not same_but_nan(found[slot], wanted[slot], slot.dtype):
            return f"as a whole it disagrees with its steps, in memory {number} ({slot.role})"
    return None


def same_but_nan(a: bytes, b: bytes, dtype: DType) -> bool:
    pairs = zip(unpack(a, dtype), unpack(b, dtype), strict=True)
    return all(x == y or (x != x and y != y) for x, y in pairs)


# ---- how far apart -------------------------------------------------------------------------------


def differing(step: Step, before: Images, after: Images, got: Images) -> str:
    """The first number outside the allowed error, in words; empty if there is none."""
    kind, limit = agreement(step.kernel, step.dtype)
    sums: dict[Slot, dict[int, float]] | None = None
    for slot in after:
        if got[slot] == after[slot]:
            continue
        if kind == "sum" and slot.dtype.is_float and sums is None:
            sums = allowed(step, before)
        bits, width = UNSIGNED[slot.dtype.itemsize], 8 * slot.dtype.itemsize
        pairs = zip(memoryview(after[slot]).cast(bits), memoryview(got[slot]).cast(bits),
                    strict=True)  # fmt: skip
        places = [n for n, (a, b) in enumerate(pairs) if a != b]
        wanted, found = unpack(after[slot], slot.dtype), unpack(got[slot], slot.dtype)
        for n in places:
            x, y = wanted[n], found[n]
            if not slot.dtype.is_float:
                far = math.inf
            elif kind == "sum":
                far = fraction(x, y, slot.dtype, sums.get(slot, {}).get(n) if sums else None)
            else:
                cells = [memoryview(image[slot]).cast(bits)[n] for image in (after, got)]
                far = ulps(x, y, cells[0], cells[1], width)
            if far > limit:
                return f"{y!r} instead of {x!r}"
    return ""


def allowed(step: Step, before: Images) -> dict[Slot, dict[int, float]]:
    """The bound of cases/bounds.py for each position that a kernel of class `sum` writes. The sums
    of magnitudes are those of the library itself, in float64."""
    all_of_it = walks(step)
    specs = [Spec(w.buf.dtype, w.shape, (), "", *w[2:], w.buf.count) for w in all_of_it]
    case = Case(specs[0], tuple(specs[1:]), step.params)
    memory = [before[w.buf] for w in all_of_it]
    found: dict[Slot, dict[int, float]] = {}
    for i, limits in bounds(step.kernel, step.dtype, case, memory, registry.current()).items():
        places = zip(specs[i].positions(), limits, strict=True)
        found.setdefault(all_of_it[i].buf, {}).update(places)
    return found
