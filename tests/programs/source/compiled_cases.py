"""The cases of conformance as Programs: a step for each, so that one compilation tries many."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from typing import Any

import pytest

import tutor
from tutor import Tensor, nn, optim
from tutor._storage.layout import contiguous_strides
from tutor.backends import registry
from tutor.backends.signatures import SIGNATURES
from tutor.backends.step import Step
from tutor.dtype import TABLE, DType, bool_, float16, float32, int64, uint64
from tutor.programs.program import Program, Slot, Walk
from tutor.programs.source.compiler import load
from tutor.programs.source.function import Compiled
from tutor.programs.source.text import source
from tutor.programs.source.verify import Memories
from tutor.testing import cases, conformance
from tutor.testing.cases.draws import Case, Spec
from tutor.testing.cases.operands import execute, images, through

Prepared = tuple[str, DType, Case, list[bytes], list[bytes]]  # a case, its memory before and after


def chosen(kernel: str, dtype: DType, most: int) -> list[Prepared]:
    """Some cases of one row: those with lists of values, and an even choice of the others."""
    reference = through(kernel, dtype, registry.table("python_ref")[kernel, dtype])
    small = [case for case in cases.draw(kernel, dtype) if case.out.room < 20_000]
    listed = [case for case in small if case.out.room > 300 and len(case.out.shape) == 1][-3:]
    if kernel == "cast":  # into each dtype: a list, and two layouts
        listed = small[-3 * len(TABLE) :: 3]
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


HAS_COMPILER = any(shutil.which(name) for name in ("cc", "gcc", "clang"))
compiles = pytest.mark.skipif(not HAS_COMPILER, reason="there is no C compiler")


def whole(slot: Slot, *shape: int) -> Walk:
    return Walk(slot, shape, contiguous_strides(shape))


def small() -> Program:
    """One step of several forms: a view, a stretched operand, a fill, sums, an index, a draw."""
    x, w, b = Slot("input", 12, float32), Slot("state", 8, float32), Slot("state", 2, float32)
    t, i, h = Slot("temp", 6, float32), Slot("input", 3, int64), Slot("temp", 6, float16)
    seed, count = Slot("state", 1, uint64), Slot("state", 1, uint64)
    u, y, z = Slot("temp", 6, float32), Slot("output", 2, float32), Slot("output", 6, float32)
    return Program([
        Step("linear", float32, whole(t, 3, 2), (whole(x, 3, 4), whole(w, 2, 4), whole(b, 2)),
             {"relu": True}, ("/home/somebody/train.py", 12)),
        Step("cast", float32, whole(h, 3, 2), (whole(t, 3, 2),), {}, ("train.py", 13)),
        Step("exp", float16, whole(h, 3, 2), (whole(h, 3, 2),)),
        Step("cast", float16, whole(t, 3, 2), (whole(h, 3, 2),)),
        Step("add", float32, Walk(t, (2, 3), (1, 2)), (Walk(t, (2, 3), (1, 2)),
             Walk(b, (2, 3), (1, 0)))),
        Step("uniform", float32, whole(u, 6), (whole(seed), whole(count)), {"blocks": 2}),
        Step("gather", float32, whole(z, 3, 2), (whole(u, 3, 2), Walk(i, (3, 2), (1, 0))),
             {"axis": 0}),
        Step("mul", float32, whole(t, 6), (whole(t, 6), Walk(x, (6,), (-1,), 5))),
        Step("sum", float32, whole(y, 2), (whole(t, 3, 2),), {"axis": (0,)}),
    ])  # fmt: skip


def chain(code: str, results: int = 1) -> Program:
    """One fused step of a matrix and a row, which reduces to the row's shape if the code does."""
    x, row = Slot("input", 70, float32), Slot("input", 7, float32)
    axis = (0,) if "sum" in code else ()
    shape = (7,) if axis else (10, 7)
    out = [whole(Slot("output", 7 if axis else 70, float32), *shape)]
    out += [whole(Slot("output", 70, bool_), 10, 7) for _ in range(results - 1)]
    ins = (whole(x, 10, 7), Walk(row, (10, 7), (0, 1)), *out[1:])
    params = {"code": code, "results": results, "axis": axis}
    return Program([Step("fused", float32, out[0], ins, params, ("train.py", 3))])


def training(make: Any = optim.SGD, **options: Any) -> Program:
    """The Program of a training step of a network of two layers."""
    tutor.manual_seed(3)
    model = nn.Sequential(nn.Linear(20, 33), nn.ReLU(), nn.Linear(33, 10))
    opt = make(nn.get_parameters(model), lr=0.1, **options)
    x, y = Tensor.randn(12, 20), Tensor([i % 10 for i in range(12)])

    @tutor.jit(passes=())
    def step(x: Tensor, y: Tensor) -> Tensor:
        opt.zero_grad()
        loss = model(x).cross_entropy(y)
        loss.backward()
        opt.step()
        return loss

    step(x, y), step(x, y)
    return step.program


def begin(program: Program) -> dict[Slot, bytes]:
    """Numbers for each memory: what it was found with, else drawn."""
    rng, found = random.Random(1), {}
    for slot in program.slots:
        if slot.value is not None:
            found[slot] = slot.value.raw.tobytes()
        elif slot.dtype is float32:
            found[slot] = Tensor([rng.gauss(0, 1) for _ in range(slot.count)]).buf.raw.tobytes()
        else:
            found[slot] = bytes(rng.randrange(10) * (n % 8 == 0) for n in range(slot.nbytes))
    return found
