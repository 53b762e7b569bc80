"""Casts that undo each other, and pairs of casts that one cast can replace.

    t0 = cast.float16(x0)          (t0 is float32, and goes if nothing else reads it)
    y0 = cast.float32(t0)          y0 = copy.float16(x0)      where y0 is float16
    y1 = cast.float32(t0)          y1 = cast.float16(x0)      where y1 is float64

The first cast must be lossless: each of its numbers exists in the wider dtype. Then the second cast
sees the same numbers as without it. But its effect also depends on their kind: as a float, -1 is
cut to 0 on its way to uint8; as an integer, it wraps to 255. So for a cast from a to b to c, either
a and b are of the same kind, or c is a float, which is rounded from every kind alike, or c is a,
and the casts undo each other.
"""

from __future__ import annotations

from tutor.backends.step import Step
from tutor.dtype import DType, bfloat16, bool_, float16, float32, float64
from tutor.programs.passes.elements import overlap, same, through
from tutor.programs.passes.uses import Uses, reads
from tutor.programs.program import Program, Walk, walks

# For each float: the bits of its significand, the exponents of its largest and smallest numbers.
FLOATS = {
    float16: (11, 16, -24), bfloat16: (8, 128, -133), float32: (24, 128, -149),
    float64: (53, 1024, -1074),
}  # fmt: skip


def holds(wide: DType, narrow: DType) -> bool:
    """Can `wide` represent each number of `narrow`?"""
    if wide is narrow or narrow is bool_:
        return True
    if narrow.is_float:
        return wide.is_float and all(
            a >= b if i < 2 else a <= b
            for i, (a, b) in enumerate(zip(FLOATS[wide], FLOATS[narrow], strict=True))
        )
    bits = 8 * narrow.itemsize - _is_signed(narrow)  # of the largest number
    if wide.is_float:
        return FLOATS[wide][0] >= bits
    if _is_signed(narrow) and not _is_signed(wide):
        return False
    return wide is not bool_ and 8 * wide.itemsize - _is_signed(wide) >= bits


def _is_signed(dtype: DType) -> bool:
    return dtype.kind == "int"


def one_cast_does(a: DType, b: DType, c: DType) -> bool:
    """Does a cast from a to c give the same as casts from a to b and from b to c?"""
    if not holds(b, a):
        return False
    whole_numbers = not a.is_float and not b.is_float
    return c is a or c.is_float or whole_numbers or (a.is_float and b.is_float)


def casts(program: Program) -> Program:
    """Replaces two casts by one that does the same, or by a copy if they undo each other."""
    uses, steps = Uses.of(program), list(program.steps)
    for i, step in enumerate(steps):
        if step.kernel == "cast":
            out, read = walks(step)
            source = _source(uses, steps, i, read)
            kernel = "copy" if source.buf.dtype is out.buf.dtype else "cast"
            if kernel == "copy" or source is not read:
                steps[i] = Step(kernel, source.buf.dtype, out, (source,), where=step.where)
    return program.with_steps(steps)


def _source(uses: Uses, steps: list[Step], i: int, read: Walk) -> Walk:
    """What step i, a cast of `read`, should read: the source of an earlier cast, if it may."""
    made = uses.maker(read.buf)
    if made is None or steps[made].kernel != "cast":
        return read
    (before,) = reads(steps[made])
    found = through(read, walks(steps[made])[0], before)
    out = walks(steps[i])[0]
    if found is None or not one_cast_does(before.buf.dtype, read.buf.dtype, out.buf.dtype):
        return read
    changed = uses.is_changed(before, made, i) or (overlap(out, found) and not same(out, found))
    return read if changed else found
