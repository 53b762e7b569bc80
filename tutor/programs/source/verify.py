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
from typing import Any, cast

from tutor._storage.bits import UNSIGNED, pack, unpack
from tutor._storage.memory import Holder, Memory
from tutor.backends.registry import Operand
from tutor.backends.signatures import SIGNATURES
from tutor.backends.step import Step, emit
from tutor.core.buffer import Buffer
from tutor.dtype import DType, bool_, float64
from tutor.errors import TutorError
from tutor.programs.program import Program, Slot, walks
from tutor.programs.source.compiler import CompilerError, load
from tutor.programs.source.function import Compiled
from tutor.programs.source.text import source
from tutor.programs.source.unfold import unfolded
from tutor.testing.cases.bounds import COMPUTED, NORMAL, ROUNDOFF, SMALLEST, STEPWISE, factor
from tutor.testing.cases.draws import Case
from tutor.testing.cases.operands import Block
from tutor.testing.conformance import agreement, fraction, ulps

Images = dict[Slot, bytes]
DRAWS = (None, 0, 1)  # fillings of integers, each of which may be an index, a divisor, a count


class Memories:
    """Memory for each slot, which can be filled repeatedly."""

    def __init__(self, slots: Sequence[Slot]) -> None:
        self.slots = slots
        self.blocks = {s: Block(Memory(s.count, s.dtype.itemsize, s.dtype.format), s.dtype)
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
    times: Callable[[Compiled, Mapping[Slot, Buffer]], tuple[float, float]] | None = None,
) -> Compiled:  # fmt: skip
    """The Program, compiled, if it is correct, and if it is faster than the library's own replay by
    `times`; otherwise a CompilerError says why not."""
    found = Compiled(program, load(source(program)))
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


def trial(compiled: Compiled, example: Mapping[Slot, Holder]) -> str | None:
    """The fault of the compiled Program, in one line; None if it is correct."""
    program = compiled.program
    plain = unfolded(program)
    stepwise = compiled if plain is program else Compiled(plain, load(source(plain)))
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


def step_by_step(compiled: Compiled, begin: Images) -> str | None:
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


def as_a_whole(compiled: Compiled, stepwise: Compiled, begin: Images) -> str | None:
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
    sums: dict[Slot, list[float]] | None = None
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
                far = fraction(x, y, slot.dtype, sums[slot][n] if sums and slot in sums else None)
            else:
                cells = [memoryview(image[slot]).cast(bits)[n] for image in (after, got)]
                far = ulps(x, y, cells[0], cells[1], width)
            if far > limit:
                return f"{y!r} instead of {x!r}"
    return ""


def allowed(step: Step, before: Images) -> dict[Slot, list[float]]:
    """c v S + s for each number that a kernel of class `sum` writes: S is computed by the library
    itself, in float64 on magnitudes."""
    dtype = step.dtype
    v = ROUNDOFF[dtype if step.kernel in STEPWISE else COMPUTED[dtype]]
    c = factor(step.kernel, cast(Case, step))
    return {
        slot: [c * v * total + SMALLEST[dtype] for total in sums]
        for slot, sums in magnitudes(step, before).items()
    }


def magnitudes(step: Step, before: Images) -> dict[Slot, list[float]]:
    kernel, dtype = step.kernel, step.dtype
    scores = "softmax" in kernel or "cross_entropy" in kernel
    wide: dict[Slot, Block] = {}
    types = SIGNATURES[kernel].types
    for n, w in enumerate(walks(step)):
        letter = types[min(n, len(types) - 1)].replace("+", "T")
        values = unpack(before[w.buf], w.buf.dtype)
        if letter == "d" and n == types.find("d"):  # the rate, negated so that nothing cancels
            values = [-x for x in values]
        elif w.buf.dtype.is_float and not scores:
            values = [abs(x) for x in values]
        wide[w.buf] = held(values, float64 if w.buf.dtype.is_float else w.buf.dtype)
    out, *ins = [Operand(wide[w.buf], *w[1:]) for w in walks(step)]
    slots = {w.buf for w in step.writes}
    if scores:
        found = of_scores(step, out, ins, NORMAL[dtype])
        return {cast(Slot, w.buf): unpack(found.buf.raw.tobytes(), float64) for w in [step.out]}
    emit(Step(kernel, float64, out, tuple(ins), step.params))
    return {cast(Slot, s): unpack(wide[cast(Slot, s)].raw.tobytes(), float64) for s in slots}


def held(values: list[Any], dtype: DType) -> Block:
    block = Block(Memory(len(values), dtype.itemsize, dtype.format), dtype)
    if values:
        block.raw[:] = pack(values, dtype)
    return block


def of_scores(step: Step, out: Operand, ins: list[Operand], least: float) -> Operand:
    """S of a softmax and its loss, see cases/bounds.py; z is the result's place."""
    x = ins[0]
    axis = step.params.get("axis", len(x.shape) - 1)

    def fresh() -> Operand:
        return x._replace(buf=held([0.0] * len(unpack(x.buf.raw.tobytes(), float64)), float64))

    def run(kernel: str, to: Operand, *given: Operand, **params: object) -> Operand:
        emit(Step(kernel, float64, to, given, params))
        return to

    def number(value: float, like: Operand) -> Operand:
        still = (0,) * len(like.shape)
        return Operand(held([value], float64), like.shape, still, 0)

    if step.kernel == "cross_entropy":  # scale * (1 + loss), for each row
        one = {"scale": abs(float(str(step.params["scale"])))}
        rows = math.prod(x.shape[:-1]) if not out.shape else 1
        run("cross_entropy", out, x, ins[1], **one)
        run("abs", out, out)
        return run("add", out, out, number(one["scale"] * rows, out))
    logs = run("log_softmax", fresh(), x, axis=axis)
    far = run("sub", fresh(), number(1.0, x), logs)
    result = out if step.kernel != "cross_entropy_grad" else fresh()
    if step.kernel == "log_softmax":
        return run("copy", result, far)
    terms = run("exp", fresh(), logs)
    terms = run("mul", terms, terms, far)
    run("add", result, terms, number(least, x))
    if step.kernel == "softmax":
        return result
    return gradient(step, out, ins, result, run, number)


def gradient(
    step: Step, out: Operand, ins: list[Operand], terms: Operand, run: Any, number: Any
) -> Operand:
    """scale * |g| * (terms + |softmax - [j = t]|)"""
    x, target, g = ins
    scale = abs(float(str(step.params["scale"])))
    run("cross_entropy_grad", out, x, target, number(1.0, g), scale=1.0)
    run("abs", out, out)
    run("add", out, out, terms)
    rows = Operand(g.buf, x.shape, (*g.strides, 0), g.offset)
    run("mul", out, out, rows)
    run("abs", out, out)
    return cast(Operand, run("mul", out, out, number(scale, x)))
