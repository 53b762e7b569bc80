"""Epilogue: what follows a product is done while its result is still in registers.

    t0 = linear(x0, s0, s1) relu=False
    t1 = relu(t0)                             t1 = linear(x0, s0, s1) relu=True

Only where nobody else reads what stands before the relu. Its derivative does not: it is computed
from the relu's result. The bits are the same: a relu leaves a number as it is or makes it 0, so it
does not matter whether that is rounded to the result's dtype before or after.
"""

from __future__ import annotations

from tutor.backends.step import Step
from tutor.programs.passes.elements import overlap, same
from tutor.programs.passes.uses import Uses, reads
from tutor.programs.program import Program, Walk, walks


def epilogue(program: Program) -> Program:
    """With each relu in the linear layer before it."""
    uses, steps = Uses(program), list[Step | None](program.steps)
    for i, step in enumerate(program):
        if step.kernel != "relu":
            continue
        out, x = walks(step)
        made = uses.maker(x.buf)
        layer = None if made is None else steps[made]
        if made is None or layer is None or layer.kernel != "linear" or layer.params["relu"]:
            continue
        others = x.buf.lasts or len(uses.reads[x.buf]) > 1 or not same(x, walks(layer)[0])
        at = None if others else _place(uses, layer, out, made, i)
        if at is not None:
            params = {**layer.params, "relu": True}
            steps[made] = steps[i] = None
            steps[at] = Step("linear", layer.dtype, out, layer.ins, params, layer.where)
    return program.with_steps([step for step in steps if step is not None])


def _place(uses: Uses, layer: Step, out: Walk, made: int, i: int) -> int | None:
    """Where both can be done at once: where the product is, or where the relu is."""
    if any(overlap(out, walk) for walk in reads(layer)):
        return None
    if not uses.is_touched(out, made, i) and out.buf.role in ("temp", "output"):
        return made
    return None if any(uses.is_changed(walk, made, i) for walk in reads(layer)) else i
