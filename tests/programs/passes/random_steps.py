"""Random Programs: steps of every kind that a pass looks at, on memory that they share.

All slots hold 12 numbers (or 1), so that what one step leaves another can read in many shapes:
whole, transposed, reversed, a half, a column, stretched. Results go to new temps and outputs, to
what was there before, or to parts of it, in place too. What is read was written before.
"""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

from tutor import Buffer
from tutor._storage.layout import Shape, contiguous_strides
from tutor.backends.step import Step
from tutor.dtype import DType, bool_, float16, float32, float64, int8, int32, int64, uint8, uint64
from tutor.programs.passes.elements import overlap, same
from tutor.programs.program import Program, Slot, Walk

COUNT = 12
ONE_OPERAND = ("neg", "exp", "relu", "copy", "abs", "sqrt", "copy")
TWO_OPERANDS = ("add", "sub", "mul", "div", "maximum", "relu_grad", "mul", "add")
DTYPES = (float32, float32, float32, float64, float16, int32, int8, uint8, bool_)
NUMBERS = (1.0, 0.0, -0.0, 2.0, 0.5)

Draw = Any


class Maker:
    """Makes one Program, step by step, by what hypothesis draws."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.slots = [Slot("input", COUNT, float32), Slot("state", COUNT, float32),
                      Slot("state", COUNT, float32), Slot("input", COUNT, int32)]  # fmt: skip
        self.constants = [Slot("constant", 1, float32, Buffer([x], dtype=float32)) for x in NUMBERS]
        self.stream = Slot("state", 2, uint64)
        self.cells = [Slot("state", 1, float64) for _ in range(3)]
        self.index = Slot("input", 3, int64)
        self.steps: list[Step] = []

    def one_of(self, several: Any) -> Any:
        return self.draw(st.sampled_from(list(several)))

    def chance(self, of: int) -> bool:
        return bool(self.draw(st.integers(0, of - 1)) == 0)

    # ---- operands --------------------------------------------------------------------------------

    def walk(self, slot: Slot, shape: Shape) -> Walk:
        """Some way to read `shape` out of the slot."""
        if slot.count == 1:
            return Walk(slot, shape, (0,) * len(shape))
        count, whole = math.prod(shape), contiguous_strides(shape)
        ways = [Walk(slot, shape, whole, 0)] * 6
        if len(shape) == 2:
            ways += [Walk(slot, shape, (1, shape[0]), 0)] * 2 if count <= COUNT else []
            ways += [Walk(slot, shape, (0, 1), 0), Walk(slot, shape, (1, 0), 2)]
            ways += [Walk(slot, shape, (3, 1), 0)] * (shape[0] <= 3 and shape[1] <= 4)
        if count == COUNT and len(shape) == 1:
            ways += [Walk(slot, shape, (-1,), COUNT - 1)]
        if count == COUNT // 2:
            ways += [Walk(slot, shape, whole, 6), Walk(slot, shape, whole, 3)]
            ways += [Walk(slot, shape, tuple(2 * s for s in whole), o) for o in (0, 1)]
        return self.one_of(ways)

    def read(self, dtype: DType, shape: Shape) -> Walk:
        """Something of that dtype to read; what was written last most often."""
        found = [s for s in self.slots if s.dtype is dtype]
        if dtype is float32:
            found = [*self.constants, *found, *found[-3:], *found[-3:]]
        if not found:
            return self.walk(self.cast_to(dtype), shape)
        return self.walk(self.one_of(found), shape)

    def cast_to(self, dtype: DType) -> Slot:
        out = Slot("temp", COUNT, dtype)
        source = self.one_of([s for s in self.slots if s.count == COUNT])
        shape = (COUNT,)
        ins = (self.walk(source, shape),)
        self.steps.append(Step("cast", source.dtype, Walk(out, shape, (1,)), ins))
        self.slots.append(out)
        return out

    def out(self, dtype: DType, shape: Shape, ins: tuple[Walk, ...], is_map: bool) -> Walk:
        """Where to write: mostly to new memory, else where it does no harm to what is read."""
        if not self.chance(3):
            old = [s for s in self.slots if s.dtype is dtype and s.role != "constant"]
            for slot in [self.one_of(old)] if old else []:
                walk = self.walk(slot, shape)
                unique = all(n == 1 or s for n, s in zip(shape, walk.strides, strict=True))
                inside = len(shape) < 2 or walk.strides not in ((3, 1), (0, 1), (1, 0))
                fine = all(not overlap(x, walk) or (is_map and same(x, walk)) for x in ins)
                if unique and inside and fine:
                    return walk
        role = "output" if self.chance(4) else "temp"
        slot = Slot(role, math.prod(shape), dtype)
        if slot.count == COUNT:
            self.slots.append(slot)
        return Walk(slot, shape, contiguous_strides(shape))

    # ---- steps -----------------------------------------------------------------------------------

    def add(self, kernel: str, dtype: DType, shape: Shape, out: DType, *ins: Walk,
            is_map: bool = True, **params: Any) -> None:  # fmt: skip
        where = self.out(out, shape, ins, is_map)
        self.steps.append(Step(kernel, dtype, where, ins, params))

    def map(self) -> None:
        shape = self.one_of([(12,), (12,), (3, 4), (3, 4), (4, 3), (6,), (2, 3)])
        kind = self.draw(st.integers(0, 9))
        if kind < 3:
            kernel = self.one_of(ONE_OPERAND)
            self.add(kernel, float32, shape, float32, self.read(float32, shape))
        elif kind < 7:
            kernel = self.one_of(TWO_OPERANDS)
            x, y = self.read(float32, shape), self.read(float32, shape)
            self.add(kernel, float32, shape, float32, x, y)
        elif kind == 7:
            x, y = self.read(float32, shape), self.read(float32, shape)
            self.add(self.one_of(["lt", "eq"]), float32, shape, bool_, x, y)
        elif kind == 8:
            x, y = self.read(float32, shape), self.read(float32, shape)
            self.add("where", float32, shape, float32, self.read(bool_, shape), x, y)
        else:
            x, y = self.read(int32, shape), self.read(int32, shape)
            self.add(self.one_of(["add", "mul", "sub"]), int32, shape, int32, x, y)

    def cast(self) -> None:
        source = self.one_of(self.slots)
        to, shape = self.one_of(DTYPES), self.one_of([(12,), (3, 4)])
        x = self.walk(source, shape)
        self.add("cast", source.dtype, shape, to, x, is_map=source.dtype is to)

    def reduce(self) -> None:
        kernel = self.one_of(["sum", "mean", "max"])
        axis = self.one_of([(0,), (1,), (0, 1)])
        shape = self.one_of([(3, 4), (4, 3)])
        rest = tuple(n for a, n in enumerate(shape) if a not in axis)
        x = self.read(float32, shape)
        self.add(kernel, float32, rest, float32, x, is_map=False, axis=axis)

    def product(self) -> None:
        if self.chance(2):
            x, y = self.read(float32, (3, 4)), self.read(float32, (4, 3))
            self.add("matmul", float32, (3, 3), float32, x, y, is_map=False)
        else:
            x, w, b = (self.read(float32, shape) for shape in ((4, 3), (3, 3), (3,)))
            self.add("linear", float32, (4, 3), float32, x, w, b, is_map=False, relu=False)
        while self.chance(2):  # something follows it
            z, shape = Walk(*self.steps[-1].out), self.steps[-1].out.shape
            if self.chance(2):
                self.add("relu", float32, shape, float32, z)
            else:
                y = self.one_of([z, self.read(float32, shape)])
                self.add(self.one_of(TWO_OPERANDS), float32, shape, float32, z, y)

    def change(self) -> None:
        """A step that changes what was there."""
        if self.chance(3):
            stream = (Walk(self.stream, (), (), 0), Walk(self.stream, (), (), 1))
            where = self.out(float32, (12,), (), False)
            self.steps.append(Step("uniform", float32, where, stream, {"blocks": 3}))
            return
        lr, decay, momentum = (Walk(cell, (), ()) for cell in self.cells)
        p, v, g = self.slots[1], self.slots[2], self.read(float32, (12,))
        out, state = (Walk(slot, (12,), (1,)) for slot in (p, v))
        if overlap(g, out) or overlap(g, state):
            return
        if self.chance(2):
            self.steps.append(Step("descend", float32, out, (g, lr, decay)))
        else:
            self.steps.append(Step("sgd", float32, out, (g, state, lr, momentum, decay)))

    def other(self) -> None:
        if self.chance(2):
            value = self.one_of(NUMBERS)
            self.add("fill", float32, (12,), float32, is_map=False, value=value)
        else:
            x, at = self.read(float32, (12,)), Walk(self.index, (3,), (1,))
            self.add("gather", float32, (3,), float32, x, at, is_map=False, axis=0)

    def again(self) -> None:
        """An earlier step once more, into new memory."""
        old = [s for s in self.steps if s.signature.form not in ("update", "draw")]
        if old:
            step: Step = self.one_of(old)
            shape = step.out.shape
            slot = Slot("temp", math.prod(shape), step.out.buf.dtype)
            if slot.count == COUNT:
                self.slots.append(slot)
            self.steps.append(step.over((Walk(slot, shape, contiguous_strides(shape)), *step.ins)))


@st.composite
def programs(draw: Draw) -> Program:
    """A Program of up to 14 steps, whose last temp is wanted."""
    maker = Maker(draw)
    kinds = ["map"] * 8 + ["cast"] * 2 + ["reduce", "product", "change", "other", "again", "again"]
    for kind in draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=14)):
        getattr(maker, kind)()
    temps = [slot for slot in maker.slots if slot.role == "temp"]
    if temps:
        temps[-1].role = "output"
    return Program(maker.steps, [s for s in maker.slots if s.lasts])
