"""A Program without steps `fused`: each as the kernels that it is made of, one after another."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tutor.backends.signatures import SIGNATURES
from tutor.backends.step import Step
from tutor.dtype import DType, bool_
from tutor.ground.layout import Shape, contiguous_strides
from tutor.programs.program import Program, Slot, Walk, walks
from tutor.programs.source.chain import instructions


def unfolded(program: Program) -> Program:
    """The same Program, every register a memory of its own; itself where nothing is fused."""
    if all(step.kernel != "fused" for step in program):
        return program
    return program.with_steps([one for step in program for one in unfold(step)])


def unfold(step: Step) -> Iterator[Step]:
    """The kernels of one fused step. Results are copied to their places at the end: they may be
    those of inputs that are still read."""
    if step.kernel != "fused":
        yield step
        return
    out, *ins = walks(step)
    results = int(str(step.params["results"]))
    inputs, further = ins[: len(ins) + 1 - results], ins[len(ins) + 1 - results :]
    shape, known = inputs[0].shape, {f"i{n}": x for n, x in enumerate(inputs)}
    for to, kernel, dtype, args in instructions(str(step.params["code"])):
        row, given = SIGNATURES[kernel], [known[arg] for arg in args]
        reduces = row.form == "reduce"
        params = {"axis": step.params["axis"]} if reduces else {}
        gives = out.buf.dtype if reduces else bool_ if row.types[0] == "b" else dtype
        known[to] = temp(out.shape if reduces else shape, gives)
        of = given[0].buf.dtype if kernel == "cast" else dtype
        yield Step(kernel, of, known[to], tuple(given), params, step.where)
    for n, place in enumerate((out, *further)):
        yield Step("copy", place.buf.dtype, place, (known[f"o{n}"],), where=step.where)


def temp(shape: Shape, dtype: DType) -> Walk:
    """Memory that is new."""
    slot = Slot("temp", math.prod(shape), dtype)
    return Walk(slot, shape, contiguous_strides(shape))
