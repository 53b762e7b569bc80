"""Small Programs: written as text, and run without any machinery.

    x0: input 4 x float32
    t0: temp 4 x float32
    y0: output 4 x float32
    t0[4] = exp.float32(x0[4])
    y0[2, 2] = mul.float32(t0[2, 2], c0[2, 2]@0/0,0)

is what Program.text() writes; lines may end in semicolons, too. A constant's line ends in its
numbers: `c0: constant 1 x int8 = 2`.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Mapping

from tutor import Buffer, dtype
from tutor._storage.layout import contiguous_strides
from tutor.backends.registry import Operand
from tutor.backends.step import Step, emit
from tutor.programs.passes import Pass
from tutor.programs.program import Program, Slot, Walk, walks

NAME = r"[a-z]+\d+"
WALK = re.compile(rf"({NAME})\[([\d, ]*)\](?:@(\d+)/([-\d,]*))?")
SLOT = re.compile(rf"({NAME}): (\w+) (\d+) x (\w+)(?: = (.*))?")
STEP = re.compile(r"(.*?\]\S*) = (\w+)\.(\w+)\((.*?)\)(.*)")
LINES = re.compile(r"\n|;(?=(?:[^']*'[^']*')*[^']*$)")  # no semicolon in quotes
PARAM = re.compile(r" (\w+)=")


def program(text: str) -> Program:
    """The Program of which this is the text."""
    slots: dict[str, Slot] = {}
    steps = []
    for line in filter(None, map(str.strip, LINES.split(text))):
        if found := SLOT.fullmatch(line):
            name, role, count, kind, value = found.groups()
            of = dtype.of(kind)
            numbers = Buffer(ast.literal_eval(f"[{value}]"), dtype=of) if value else None
            slots[name] = Slot(role, int(count), of, numbers)
            continue
        found = STEP.fullmatch(line)
        assert found, line
        out, kernel, kind, ins, params = found.groups()
        parts = PARAM.split(params)[1:]
        values = dict(zip(parts[::2], map(ast.literal_eval, parts[1::2]), strict=True))
        operands = [walk(slots, *w) for w in WALK.findall(f"{out}, {ins}")]
        steps.append(Step(kernel, dtype.of(kind), operands[0], tuple(operands[1:]), values))
    return Program(steps, [slot for slot in slots.values() if slot.lasts])


def walk(slots: dict[str, Slot], name: str, shape: str, offset: str, strides: str) -> Walk:
    sizes = numbers(shape)
    if not offset:
        return Walk(slots[name], sizes, contiguous_strides(sizes))
    return Walk(slots[name], sizes, numbers(strides), int(offset))


def numbers(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in text.split(",") if n.strip())


# ---- running one ---------------------------------------------------------------------------------


def run(what: Program, given: Mapping[Slot, bytes]) -> dict[Slot, str]:
    """The Program, one kernel call after another, from these bytes in its inputs and states; what
    is then in all that lasts, as text that says each bit (but those of a NaN). Other memory is
    full of nonsense at first."""
    memory: dict[Slot, Buffer] = {}
    for slot in what.slots:
        if slot.role == "constant":
            memory[slot] = slot.value
            continue
        memory[slot] = Buffer.empty(slot.count, slot.dtype)
        start = given.get(slot, b"\x7f" * slot.nbytes)
        memory[slot].raw.cast("B")[:] = start
    for step in what:
        emit(step.over([Operand(memory[w.buf], *w[1:]) for w in walks(step)]))
    return {s: repr(b.tolist()) for s, b in memory.items() if s.lasts}


def given(what: Program, seed: int = 0) -> dict[Slot, bytes]:
    """Numbers for its inputs and states: those that a state was found with; else small ones, zeros
    of both signs among them, and where they are integers positions that are there."""
    draw = random.Random(seed)
    found = {}
    for slot in what.slots:
        if slot.role == "state" and slot.value is not None:
            found[slot] = bytes(slot.value.raw.cast("B"))
        elif slot.role in ("input", "state"):
            floats = [draw.choice((0.0, -0.0, 1.0, draw.gauss(0, 1))) for _ in range(slot.count)]
            whole = [draw.randrange(2) for _ in range(slot.count)]
            values = floats if slot.dtype.is_float else whole
            found[slot] = bytes(Buffer(values, dtype=slot.dtype).raw.cast("B"))
    return found


def becomes(run_pass: Pass, before: str, after: str) -> None:
    """The pass makes of the one Program the other, nothing of that, and it does the same."""
    what, wanted = program(before), program(after or before)
    made = run_pass(what)
    assert made.text() == wanted.text()
    assert made == wanted
    assert run_pass(made) == made
    numbers = given(what)
    assert run(made, numbers) == run(what, numbers)
