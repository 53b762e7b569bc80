"""Optimizer steps, from the same formulas as the CPU's source.

Expensive values that are the same for all elements (lr / (1 - beta1**t), say) are computed once per
parameter, by one work-item, and stay on the device: no launch waits for the host to know them.
Parameters do not share them: each counts its own steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tutor.backends.codegen.expressions import loaded, rounded, stored
from tutor.backends.codegen.updates import UPDATES
from tutor.backends.opencl.elementwise import Elements
from tutor.backends.opencl.handwritten import fresh, width
from tutor.backends.opencl.memory import Pool, Rows
from tutor.backends.registry import Operand
from tutor.backends.signatures import SIGNATURES, dtype_of
from tutor.dtype import DType, float64


class Update:
    """`kernel(p, g, *state, *cells)`"""

    def __init__(self, pool: Pool, kernel: str, dtype: DType) -> None:
        self.pool, self.dtype, self.wide = pool, dtype, width(dtype)
        self.letters, self.cells, self.formulas = UPDATES[kernel]
        self.count, many = len(self.letters), len(self.cells)
        types = [dtype_of(letter, dtype) for letter in SIGNATURES[kernel].types[self.count :]]
        of = [dtype or float64 for dtype in types]
        # expensive operations (a power) are computed once, by a separate launch
        self.costly = any(word in cell for cell in self.cells for word in ("pow", "/"))
        self.once = Elements(pool, f"{kernel}_cells", [self.wide] * many + of, self.settings,
                             range(many))  # fmt: skip
        written = [k for k, letter in enumerate(self.letters) if letter != "g"]
        more = [self.wide] * many if self.costly else of
        self.each = Elements(pool, kernel, [dtype] * self.count + more, self.element, written)

    def settings(self, places: Sequence[str]) -> list[str]:
        many = len(self.cells)
        lines = []
        for to, cell in zip(places, self.cells, strict=False):
            value = cell.format(*places[many:]).partition(" = ")[2]
            lines.append(f"{to} = {value};")
        return lines

    def element(self, places: Sequence[str]) -> list[str]:
        dtype, kind = self.dtype, self.pool.place.c.computed(self.dtype)
        names = [cell.partition(" = ")[0] for cell in self.cells]
        given = places[self.count :]
        if not self.costly:
            given = [cell.format(*given).partition(" = ")[2] for cell in self.cells]
        lines = [
            f"const {kind} {name} = {value};" for name, value in zip(names, given, strict=True)
        ]
        pairs = list(zip(self.letters, places, strict=False))
        for letter, place in pairs:
            const = "const " if letter == "g" else ""
            lines.append(f"{const}{kind} {letter} = {loaded(dtype, place)};")
        for formula in self.formulas:
            name, value = formula.removeprefix("const ").split(" = ")
            if formula.startswith("const "):
                lines.append(f"const {kind} {name} = {value};")
            else:
                lines.append(f"{name} = {rounded(dtype, value)};")
        return [*lines, *(f"{at} = {stored(dtype, x)};" for x, at in pairs if x != "g")]

    def __call__(self, p: Any, *ins: Any) -> None:
        if 0 in p.shape:
            return
        if not self.costly:
            self.each(p, *ins)
            return
        found = fresh(self.pool, (len(self.cells),), self.wide)
        cells = [Operand(found.buf, (), (), k) for k in range(len(self.cells))]
        self.once(*cells, *ins[self.count - 1 :])
        self.each(p, *ins[: self.count - 1], *cells)


def kernels(pool: Pool) -> Rows:
    return {(name, dtype): Update(pool, name, dtype)
            for name in UPDATES for dtype in SIGNATURES[name].dtypes}  # fmt: skip
