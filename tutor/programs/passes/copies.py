"""Copies: what nobody changes afterwards need not be there twice.

    t0 = copy(x0)                  (gone)
    y0 = exp(t0)                   y0 = exp(x0)

    t1 = sub(s0, x1)               s0 = sub(s0, x1)
    s0 = copy(t1)                  (gone)

Two ways to do without a copy. Read the original: if all who read the copy can, and before anybody
changes the original. Or write where the copy would be: if nobody needs what stands there in
between, and the step either reads nothing of it or reads each element before it writes that one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort

from tutor.backends.step import Step
from tutor.dtype import bool_
from tutor.programs.passes.elements import overlap, same, through, viewed
from tutor.programs.passes.uses import Use, Uses, is_map, may_refuse, reads, writes
from tutor.programs.program import Program, Slot, Walk, walks


def copies(program: Program) -> Program:
    """Without copies that can be spared."""
    return _written_at_once(_read_from_the_original(program))


# ---- read the original ---------------------------------------------------------------------------


def _read_from_the_original(program: Program) -> Program:
    uses, steps = Uses(program), list[Step | None](program.steps)
    for i, step in enumerate(program):
        found = steps[i]
        if step.kernel != "copy" or found is None:
            continue
        out, source = walks(found)
        if same(out, source) and step.dtype is not bool_:  # (a copied bool is 0 or 1)
            steps[i] = None
        if out.buf.lasts:
            continue
        if uses.maker(out.buf) != i:
            continue
        readers = uses.reads[out.buf]
        instead = [_instead(uses, program, use, out, source, i) for use in readers]
        if None in instead or (len(readers) > 1 and not _is_near(source)):
            continue
        for use, walk in zip(readers, instead, strict=True):
            reader = steps[use.at]
            if reader is not None and walk is not None:
                steps[use.at] = _reading(reader, use.walk, walk)
        steps[i] = None
    return program.with_steps([step for step in steps if step is not None])


def _instead(
    uses: Uses, program: Program, use: Use, out: Walk, source: Walk, i: int
) -> Walk | None:
    """What a reader of the copy may read in its place; None if it must read the copy."""
    walk = through(use.walk, out, source)
    if walk is None or uses.is_changed(source, i, use.at):
        return None
    reader = program.steps[use.at]
    for written in writes(reader):
        if overlap(written, source) and not (is_map(reader) and same(written, walk)):
            return None
    return walk


def _is_near(walk: Walk) -> bool:
    """Do the elements of a row lie side by side? Then it is read as fast as a copy of it."""
    return not walk.shape or walk.shape[-1] == 1 or walk.strides[-1] in (0, 1)


def _reading(step: Step, before: Walk, now: Walk) -> Step:
    """The step with another operand to read."""
    return step.over([now if walk == before else walk for walk in walks(step)])


# ---- write at once -------------------------------------------------------------------------------


def _written_at_once(program: Program) -> Program:
    uses, steps = Uses(program), list[Step | None](program.steps)
    renamed: dict[Slot, Slot] = {}
    refusals = [i for i, step in enumerate(program) if may_refuse(step)]
    for i, step in enumerate(program):
        if step.kernel != "copy":
            continue
        out, source = walks(step)
        made = uses.maker(source.buf)
        if made is None or source.buf.lasts or source.buf in renamed or not source.is_whole:
            continue
        if out.is_whole and uses.maker(out.buf) == i:  # the same Buffer under another name
            renamed[source.buf] = out.buf
            steps[i] = None
            continue
        maker = steps[made]
        to = viewed(out, walks(program.steps[made])[0].shape)
        alone = [use.at for use in uses.reads[source.buf]] == [i]
        if maker is None or to is None or not alone or uses.is_touched(out, made, i):
            continue
        if out.buf.role in ("input", "state") and _refuses(refusals, made, i):
            continue
        if _may_write(maker, to):
            steps[made] = maker.over((to, *walks(maker)[1:]))
            steps[i] = None
            insort(uses.writes[out.buf], Use(made, to), key=lambda use: use.at)
    for slot in reversed(renamed):  # one that took another's place may have lost its own
        renamed[slot] = renamed.get(renamed[slot], renamed[slot])
    kept = [step for step in steps if step is not None]
    return program.with_steps([_renamed(renamed, step) for step in kept])


def _refuses(refusals: list[int], first: int, last: int) -> bool:
    """May one of these steps, both counted, raise? What is outside must not change before that."""
    return bisect_left(refusals, first) < bisect_right(refusals, last)


def _may_write(step: Step, to: Walk) -> bool:
    """May the step write there, as far as its own operands go?"""
    if step.signature.form in ("update", "draw", "fused"):
        return False
    here = [walk for walk in reads(step) if overlap(walk, to)]
    return not here or (is_map(step) and all(same(walk, to) for walk in here))


def _renamed(names: dict[Slot, Slot], step: Step) -> Step:
    operands = [w._replace(buf=names[w.buf]) if w.buf in names else w for w in walks(step)]
    return step.over(operands)
