"""A chain of kernels as statements: for one element, one constant for each instruction."""

from __future__ import annotations

from collections.abc import Sequence

from tutor.backends.bytecode import Instruction, made
from tutor.backends.codegen.dialect import Dialect
from tutor.backends.codegen.expressions import MOVES, cast, expression, loaded, rounded, stored
from tutor.backends.codegen.loops import Lines
from tutor.dtype import DType


class Chain:
    """The instructions of a chain, for inputs of these dtypes at these places. `values`: the text
    and the dtype of each name once `statements` has defined it."""

    def __init__(
        self, c: Dialect, rows: Sequence[Instruction], dtypes: Sequence[DType],
        places: Sequence[str],
    ) -> None:  # fmt: skip
        self.c, self.rows = c, rows
        self.values = {
            f"i{n}": (loaded(dtype, place), dtype)
            for n, (dtype, place) in enumerate(zip(dtypes, places, strict=True))
        }
        self.taken: dict[str, int] = {}  # uses of each name: a register may be reused

    def statements(self) -> Lines:
        """A constant for each input that is used several times, and for each instruction. A
        reduction at the end is not one of them."""
        lines: Lines = []
        every = [arg for row in self.rows for arg in row.args]
        for name, (text, dtype) in self.values.items():
            if every.count(name) > 1:
                lines.append(f"const {self.c.computed(dtype)} {name} = {text};")
                self.values[name] = name, dtype
        return [*lines, *(self.statement(row) for row in self.rows if not row.reduces)]

    def statement(self, row: Instruction) -> str:
        """The definition of an instruction's result as a constant."""
        c, (to, kernel, dtype, _) = self.c, row
        args = [self.values[arg] for arg in row.args]
        found = made(row, [of for _, of in args])
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

    def writes(self, names: Sequence[str], places: Sequence[str]) -> Lines:
        """The writes of results to their places, after all reads: one may overwrite an input."""
        values = [self.values[name] for name in names]
        return [
            f"{place} = {stored(dtype, value)};"
            for place, (value, dtype) in zip(places, values, strict=True)
        ]
