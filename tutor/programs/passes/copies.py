"""Copies: removes copies of memory that is not changed afterwards.

    t0 = copy(x0)                  (gone)
    y0 = exp(t0)                   y0 = exp(x0)

    t1 = sub(s0, x1)               s0 = sub(s0, x1)
    s0 = copy(t1)                  (gone)

There are two ways to avoid a copy. Read the original: if all readers of the copy can, before the
original is changed. Or write directly to the copy's place: if its content is not needed in between,
and the step either reads nothing of it or reads each element before writing that element.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from tutor.backends.step import Step
from tutor.dtype import bool_
from tutor.programs.passes.elements import covers, is_scattered, overlap, same, through
from tutor.programs.passes.uses import Use, Uses, is_map, may_refuse, reads, writes
from tutor.programs.program import Program, Slot, Walk, walks


def copies(program: Program) -> Program:
    """Removes unneeded copies, repeatedly, because removing one may free another."""
    while any(step.kernel == "copy" for step in program):
        fewer = _written_at_once(_read_from_the_original(program))
        if len(fewer) == len(program):
            return fewer
        program = fewer
    return program


# ---- read the original ---------------------------------------------------------------------------


def _read_from_the_original(program: Program) -> Program:
    uses, steps = Uses.of(program), list[Step | None](program.steps)
    for i, step in enumerate(program):
        found = steps[i]
        if step.kernel != "copy" or found is None:
            continue
        out, source = walks(found)
        if out.buf.device != source.buf.device:
            continue
        if same(out, source) and step.dtype is not bool_:  # (a copied bool is 0 or 1)
            steps[i] = None
        if out.buf.lasts or uses.maker(out.buf) != i:
            continue
        readers = uses.reads[out.buf]
        instead = [_instead(uses, program, use, out, source, i) for use in readers]
        if not readers or None in instead or not _is_as_fast(program, readers, source):
            continue
        for use, walk in zip(readers, instead, strict=True):
            reader = steps[use.at]
            if reader is not None and walk is not None:
                operands = [walk if other == use.walk else other for other in walks(reader)]
                steps[use.at] = reader.over(operands)
        steps[i] = None
    return program.with_steps([step for step in steps if step is not None])


def _instead(
    uses: Uses, program: Program, use: Use, out: Walk, source: Walk, i: int
) -> Walk | None:
    """What a reader of the copy may read instead; None if it must read the copy."""
    walk = through(use.walk, out, source)
    if walk is None or uses.is_changed(source, i, use.at):
        return None
    reader = program.steps[use.at]
    for written in writes(reader):
        if overlap(written, source) and not (is_map(reader) and same(written, walk)):
            return None
    return walk


def _is_as_fast(program: Program, readers: list[Use], source: Walk) -> bool:
    """Is the original read as fast as the copy, which lies row by row? If it is scattered, its only
    reader must be a kernel that can walk that; otherwise copying it first pays."""
    if not is_scattered(source):
        return True
    return len(readers) == 1 and _walks_squares(program.steps[readers[0].at])


def _walks_squares(step: Step) -> bool:
    """Does its kernel walk scattered operands square by square, or pack them?"""
    return is_map(step) or step.signature.form in ("mat_mul", "linear")


# ---- write at once -------------------------------------------------------------------------------


def _written_at_once(program: Program) -> Program:
    uses, steps = Uses(program), list[Step | None](program.steps)
    moved: dict[Slot, tuple[Walk, Walk]] = {}  # removed slot: (the source of the copy, its target)
    refusals = [i for i, step in enumerate(program) if may_refuse(step)]
    copied = [(i, step) for i, step in enumerate(program) if step.kernel == "copy"]
    for i, step in sorted(copied, key=lambda copy: not walks(copy[1])[0].buf.lasts):
        out, source = walks(step)
        wanted = out.buf.lasts or uses.reads[out.buf]
        if steps[i] is not step or not wanted or out.buf.device != source.buf.device:
            continue
        made = uses.maker(source.buf)
        maker = None if made is None else steps[made]
        if made is None or maker is None or source.buf.lasts or source.buf in moved:
            continue
        if not covers(source):
            continue
        if uses.maker(out.buf) == i:
            if _may_all_move(uses, moved, out, source):
                moved[source.buf] = source, out
                steps[i] = None
            continue
        to = through(walks(program.steps[made])[0], source, out)
        if to is None or [u.at for u in uses.reads[source.buf]] != [i]:
            continue
        if out.buf.role in ("input", "state") and _refuses(refusals, made, i):
            continue
        at = _place(uses, maker, to, made, i)
        if at is not None:
            steps[made] = steps[i] = None
            steps[at] = one = maker.over((to, *walks(maker)[1:]))
            uses.move(one, at)
    kept = [step for step in steps if step is not None]
    return program.with_steps([_elsewhere(moved, step) for step in kept])


def _may_all_move(
    uses: Uses, moved: dict[Slot, tuple[Walk, Walk]], out: Walk, source: Walk
) -> bool:
    """Can all steps that walk the original walk the copy instead? They can if both have the same
    layout. Otherwise each walk is checked, so none may have been moved here before. (If one side is
    scattered, a copy is the fastest way to change the layout.)"""
    if source.is_whole:
        return True
    if is_scattered(source) or is_scattered(out):
        return False
    here = [use.walk for use in (*uses.writes[source.buf], *uses.reads[source.buf])]
    first = all(source.buf is not to.buf for _, to in moved.values())
    return first and all(through(walk, source, out) is not None for walk in here)


def _place(uses: Uses, maker: Step, to: Walk, made: int, i: int) -> int | None:
    """The position from which the step may write there directly: its own, the copy's, or None."""
    if maker.signature.form in ("update", "draw", "fused") or len(writes(maker)) > 1:
        return None
    if is_scattered(to) and not _walks_squares(maker):
        return None
    here = [walk for walk in reads(maker) if overlap(walk, to)]
    if here and not (is_map(maker) and all(same(walk, to) for walk in here)):
        return None
    if not uses.is_touched(to, made, i):
        return made
    later = may_refuse(maker) or any(uses.is_changed(walk, made, i) for walk in reads(maker))
    return None if later else i


def _refuses(refusals: list[int], first: int, last: int) -> bool:
    """May a step from `first` to `last` inclusive raise? Visible memory must not change before."""
    return bisect_left(refusals, first) < bisect_right(refusals, last)


def _elsewhere(moved: dict[Slot, tuple[Walk, Walk]], step: Step) -> Step:
    """The step, with its walks over removed slots moved to their new memory."""
    if moved.keys().isdisjoint(walk.buf for walk in walks(step)):
        return step
    operands = []
    for walk in walks(step):
        now: Walk | None = walk
        while now is not None and now.buf in moved:
            now = through(now, *moved[now.buf])
        assert now is not None, "asked for by _may_all_move"
        operands.append(now)
    return step.over(operands)
