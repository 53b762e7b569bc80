"""Call: one step of a Program on its way to C."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tutor.backends.codegen.dialect import Dialect
from tutor.backends.codegen.expressions import loaded
from tutor.backends.codegen.loops import Axis, Lines, Var, axes_of, index, joined, ordered
from tutor.backends.step import Step
from tutor.dtype import DType
from tutor.programs.program import Slot, Walk, walks


class Call:
    """A step, the names that its memory has in the source, and the dialect. Operand 0 is out.

    A generated function gets one pointer per memory, not per operand. So pointers never alias, and
    the source declares that (restrict). An operand's start is part of its index.
    """

    def __init__(self, number: int, step: Step, names: Mapping[Slot, str], c: Dialect) -> None:
        self.name, self.step, self.names, self.c = f"step_{number}", step, names, c
        self.walks: tuple[Walk, ...] = walks(step)

    def dtype(self, operand: int) -> DType:
        return self.walks[operand].buf.dtype

    def place(self, operand: int, variables: Iterable[Var] = (), more: str = "") -> str:
        """An element of an operand in memory: `t3[i * 128 + j]`. `more` is added to the index."""
        found = index(operand, variables, self.walks[operand].offset)
        if more and more != "0":
            found = more if found == "0" else f"{found} + {more}"
        return f"{self.names[self.walks[operand].buf]}[{found}]"

    def value(self, operand: int, variables: Iterable[Var] = (), more: str = "") -> str:
        """The same element, loaded in the type in which it is computed."""
        return loaded(self.dtype(operand), self.place(operand, variables, more))

    def axes(self, *operands: int) -> list[Axis]:
        """One loop for each axis, in which operand k moves by strides[k]; if `operands` are given,
        the others do not move."""
        shape = self.walks[operands[0] if operands else 0].shape
        chosen = set(operands or range(len(self.walks)))
        still = (0,) * len(shape)
        strides = [w.strides if k in chosen else still for k, w in enumerate(self.walks)]
        return axes_of(shape, *strides)

    def any_order(self, *operands: int) -> list[Axis]:
        """The same with as few loops as possible, and the smallest strides innermost."""
        return joined(ordered(self.axes(*operands)))


class Function:
    """The C code of a step: statements; whether they may refuse (return 1, with nothing written);
    and helper functions that only they call."""

    def __init__(self, *body: Lines, refuses: bool = False, parts: Sequence[Lines] = ()) -> None:
        self.body, self.refuses, self.parts = body, refuses, parts
