"""Pieces: a sum of zero-padded slices is assembled from the slices.

    t0 = fill(value=0.0)           t4[left] = add(x0, c0)       with c0 = 0
    t0[left] = copy(x0)            t4[right] = add(x1, c0)
    t1 = fill(value=0.0)
    t1[right] = copy(x1)
    t4 = add(t0, t1)

Gradients of slices are such sums: queries, keys and values cut out of one product, or the time
steps of a sequence, each with a gradient as large as the whole. The slices must not overlap. Adding
0 is kept, because it turns -0 into +0; positions outside all slices are filled with 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tutor.backends.step import Step
from tutor.core.buffer import Buffer
from tutor.dtype import DType, bool_
from tutor.programs.passes.elements import overlap
from tutor.programs.passes.uses import MOST, Uses
from tutor.programs.program import Program, Slot, Walk, walks


class Piece(NamedTuple):
    """The nonzero part of an array, its source, and the step after which this is known."""

    place: Walk
    source: Walk
    at: int


def pieces(program: Program) -> Program:
    """Assembles sums of zero-padded slices from the slices."""
    uses, steps = Uses.of(program), list[Step]()
    found: dict[Slot, list[Piece]] = {}
    sums: dict[int, list[Piece]] = {}  # steps that add such arrays
    for i, step in enumerate(program):
        out = walks(step)[0]
        if step.kernel == "copy" and _is_in_zeros(program, uses, out, i):
            found[out.buf] = [Piece(out, walks(step)[1], i)]
        elif step.kernel == "add" and (both := _sum_of(found, step)) and uses.maker(out.buf) == i:
            found[out.buf] = sums[i] = both
    zeros: dict[DType, Slot] = {}
    for i, step in enumerate(program):
        slot = walks(step)[0].buf
        parts = sums.get(i, ())
        wanted = slot.lasts or any(use.at not in sums for use in uses.reads[slot])
        if not parts or not wanted or any(uses.is_changed(p.source, p.at, i) for p in parts):
            steps.append(step)
        else:
            if step.dtype not in zeros:
                zeros[step.dtype] = _zero(program, step.dtype)
            steps += _put_together(step, parts, zeros[step.dtype])
    return program.with_steps(steps)


def _is_in_zeros(program: Program, uses: Uses, out: Walk, i: int) -> bool:
    """Does step i write a part of a temp that was filled with 0, and is otherwise only read, after
    that?"""
    written, read = uses.writes[out.buf], uses.reads[out.buf]
    if out.buf.role != "temp" or out.buf.dtype is bool_ or [u.at for u in written[1:]] != [i]:
        return False
    first = program.steps[written[0].at]
    value = first.params.get("value")
    zero = value == 0 and math.copysign(1, value) == 1
    later = not read or read[0].at > i
    return first.kernel == "fill" and zero and written[0].walk.is_whole and later


def _sum_of(found: dict[Slot, list[Piece]], step: Step) -> list[Piece]:
    """The parts of a sum of two such arrays; an empty list if the parts overlap."""
    out, x, y = walks(step)
    parts, others = found.get(x.buf, []), found.get(y.buf, [])
    fit = out.is_whole and x.is_whole and y.is_whole and len(parts) + len(others) <= MOST
    if not (parts and others and fit):
        return []
    both = [p._replace(place=p.place._replace(buf=out.buf)) for p in (*parts, *others)]
    mine, theirs = both[: len(parts)], both[len(parts) :]
    return [] if any(overlap(p.place, q.place) for p in mine for q in theirs) else both


def _zero(program: Program, dtype: DType) -> Slot:
    """A constant that is 0: an existing one, or a new one."""
    zero = Buffer([0], dtype=dtype)
    for slot in program.slots:
        kind = slot.role, slot.count, slot.dtype, slot.device
        if (
            kind == ("constant", 1, dtype, zero.device)
            and slot.value.raw.tobytes() == zero.raw.tobytes()
        ):
            return slot
    return Slot("constant", 1, dtype, zero)


def _put_together(step: Step, parts: list[Piece], zero: Slot) -> list[Step]:
    """The steps that write each part of the sum of `step`, and 0 between them."""
    out = walks(step)[0]
    made = []
    if sum(math.prod(p.place.shape) for p in parts) < out.buf.count:
        made.append(Step("fill", step.dtype, out, (), {"value": 0.0}, step.where))
    for place, source, _ in parts:
        nothing = Walk(zero, place.shape, (0,) * len(place.shape))
        made.append(Step("add", step.dtype, place, (source, nothing), where=step.where))
    return made
