"""A chain of kernels as statements: for one element, one constant for each instruction."""

from __future__ import annotations

from tutor.backends.bytecode import Instruction, made
from tutor.backends.codegen.dialect import Dialect
from tutor.backends.codegen.expressions import MOVES, cast, expression, rounded
from tutor.dtype import DType


class Values:
    """The values of a chain for one element: name -> text and dtype."""

    def __init__(self, c: Dialect) -> None:
        self.c = c
        self.values: dict[str, tuple[str, DType]] = {}
        self.taken: dict[str, int] = {}  # uses of each name: a register may be reused

    def statement(self, each: Instruction) -> str:
        """The definition of an instruction's result as a constant."""
        c, (to, kernel, dtype, _) = self.c, each
        args = [self.values[arg] for arg in each.args]
        found = made(each, [of for _, of in args])
        if kernel == "cast":
            ((x, of),) = args
            text = cast(dtype, of, x, c)
        else:
            text = expression(kernel, dtype, [x for x, _ in args], c)
        if kernel not in MOVES:
            text = rounded(found, text)
        self.taken[to] = self.taken.get(to, 0) + 1
        name = to if self.taken[to] == 1 else f"{to}_{self.taken[to]}"
        self.values[to] = name, found
        return f"const {c.computed(found)} {name} = {text};"
