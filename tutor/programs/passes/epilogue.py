"""Epilogue: a relu after a product is applied while the result is still in registers.

    t0 = linear(x0, s0, s1) relu=False
    t1 = relu(t0)                             t1 = linear(x0, s0, s1) relu=True

The relu may read the product in another shape. Nothing else may read the product; the relu's
derivative does not, since it is computed from the relu's result. The bits are the same: a relu
keeps a number or makes it 0, so it does not matter whether the number is rounded to the result's
dtype before or after. For other steps after a product, see products.py.
"""

from __future__ import annotations

from tutor.backends.step import Step
from tutor.programs.passes.elements import overlap, same, viewed
from tutor.programs.passes.products import place
from tutor.programs.passes.uses import Uses
from tutor.programs.program import Program, walks


def epilogue(program: Program) -> Program:
    """Moves each relu into the linear layer before it."""
    uses, steps = Uses(program), list[Step | None](program.steps)
    for i, step in enumerate(program):
        if step.kernel != "relu":
            continue
        out, x = walks(step)
        made = uses.maker(x.buf)
        layer = None if made is None else steps[made]
        if made is None or layer is None or layer.kernel != "linear" or layer.params["relu"]:
            continue
        z, alone = walks(layer)[0], not x.buf.lasts and len(uses.reads[x.buf]) == 1
        read, to = viewed(x, z.shape), viewed(out, z.shape)
        if not alone or read is None or to is None or not same(read, z):
            continue
        at = place(uses, layer, step, made, i)
        if at is not None and not any(overlap(to, walk) for walk in walks(layer)[1:]):
            params = {**layer.params, "relu": True}
            steps[made] = steps[i] = None
            steps[at] = one = Step("linear", layer.dtype, to, layer.ins, params, layer.where)
            uses.move(one, at)
    return program.with_steps([step for step in steps if step is not None])
