"""The cases of conformance as Programs: a step for each, so that one compilation tries many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tutor.backends import cases, conformance, registry
from tutor.backends.cases.draws import Case, Spec
from tutor.backends.cases.operands import execute, images, through
from tutor.backends.signatures import SIGNATURES
from tutor.backends.step import Step
from tutor.dtype import DType
from tutor.programs.program import Program, Slot, Walk
from tutor.programs.source.compiler import load
from tutor.programs.source.function import Compiled
from tutor.programs.source.text import source
from tutor.programs.source.trial import Memories

Prepared = tuple[str, DType, Case, list[bytes], list[bytes]]  # a case, its memory before and after


def chosen(kernel: str, dtype: DType, most: int) -> list[Prepared]:
    """Some cases of one row: those with lists of values, and an even choice of the others."""
    reference = through(kernel, dtype, registry.table("python_ref")[kernel, dtype])
    small = [case for case in cases.draw(kernel, dtype) if case.out.room < 20_000]
    listed = [case for case in small if case.out.room > 300 and len(case.out.shape) == 1][-3:]
    found = []
    for case in [*small[:: max(1, len(small) // most)][:most], *listed]:
        before = images(case)
        found.append((kernel, dtype, case, before, execute(reference, case, before)))
    return found


def walk(slot: Slot, spec: Spec) -> Walk:
    return Walk(slot, spec.shape, spec.strides, spec.offset)


def program_of(prepared: Sequence[Prepared]) -> tuple[Program, list[list[Slot]]]:
    """A step for each case, and the memories of each."""
    steps, memories = [], []
    for kernel, dtype, case, _, _ in prepared:
        specs = (case.out, *case.ins)
        slots = [Slot("state", spec.room, spec.dtype) for spec in specs]
        if case.in_place:
            slots[0] = slots[1]
        out, *ins = [walk(slot, spec) for slot, spec in zip(slots, specs, strict=True)]
        steps.append(Step(kernel, dtype, out, tuple(ins), case.params))
        memories.append(slots)
    return Program(steps), memories


def failures(prepared: Sequence[Prepared]) -> list[str]:
    """Run all of it in C; what is beyond the class of agreement, in words."""
    program, memories = program_of(prepared)
    compiled = Compiled(program, load(source(program)))
    memory = Memories(program.slots)
    for slots, (_, _, _, before, _) in zip(memories, prepared, strict=True):
        for slot, image in zip(reversed(slots), reversed(before), strict=True):
            memory.fill({slot: image})
    compiled(memory.addresses)
    wrong = []
    for slots, (kernel, dtype, case, before, expected) in zip(memories, prepared, strict=True):
        kind, limit = conformance.agreement(kernel, dtype)
        got = [memory.blocks[slot].raw.tobytes() for slot in slots]
        right: list[Any] = list(expected)
        for error, say in conformance.differences(kernel, dtype, kind, case, before, right, got):
            if error > limit:
                wrong.append(say(error, kind, limit) + conformance.signed(kernel, dtype, case))
                break
    return wrong


def rows(dtype: DType) -> list[str]:
    return [row.name for row in SIGNATURES.values() if dtype in row.dtypes]
