"""A Program without `fused` steps: each is replaced by its individual kernels, in order."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tutor._storage.layout import Shape, contiguous_strides
from tutor.backends.bytecode import made, parse, product
from tutor.backends.step import Step
from tutor.dtype import DType
from tutor.programs.program import Program, Slot, Walk, walks


def unfolded(program: Program) -> Program:
    """The same Program, with a memory for each register; itself if nothing is fused."""
    if all(step.kernel != "fused" for step in program):
        return program
    return program.with_steps([one for step in program for one in unfold(step)])


def unfold(step: Step) -> Iterator[Step]:
    """The kernels of one fused step. Results are copied to their places at the end, because these
    may be the places of inputs that are still read."""
    if step.kernel != "fused":
        yield step
        return
    out, *ins = walks(step)
    results = int(str(step.params["results"]))
    inputs, further = ins[: len(ins) + 1 - results], ins[len(ins) + 1 - results :]
    code = str(step.params["code"])
    shape = out.shape if product(code) else inputs[0].shape
    known = {f"i{n}": x for n, x in enumerate(inputs)}
    for each in parse(code):
        given = [known[arg] for arg in each.args]
        gives = made(each, [x.buf.dtype for x in given])
        params = {"axis": step.params["axis"]} if each.reduces else {}
        params = {"relu": False} if each.kernel == "linear" else params
        known[each.dest] = temp(out.shape if each.reduces else shape, gives)
        of = given[0].buf.dtype if each.kernel == "cast" else each.dtype
        yield Step(each.kernel, of, known[each.dest], tuple(given), params, step.where)
    for n, place in enumerate((out, *further)):
        yield Step("copy", place.buf.dtype, place, (known[f"o{n}"],), where=step.where)


def temp(shape: Shape, dtype: DType) -> Walk:
    """A new temp."""
    slot = Slot("temp", math.prod(shape), dtype)
    return Walk(slot, shape, contiguous_strides(shape))
