"""Optimizer steps, from the same formulas as the CPU's source.

Expensive values that are the same for all elements (lr / (1 - beta1**t), say) are computed once per
parameter, by one work-item, and stay on the device: no launch waits for the host to know them.
Parameters do not share them: each counts its own steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tutor.backends.codegen import elements
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
        self.pool, self.kernel, self.dtype, self.wide = pool, kernel, dtype, width(dtype)
        letters, shared, _ = UPDATES[kernel]
        self.count, self.many = len(letters), len(shared)
        of = [
            dtype_of(letter, dtype) or float64 for letter in SIGNATURES[kernel].types[self.count :]
        ]
        # expensive operations (a power) are computed once, by a separate launch
        self.costly = any(word in cell for cell in shared for word in ("pow", "/"))
        each = [self.wide] * self.many
        self.once = Elements(pool, f"{kernel}_cells", each + of, self.shared, range(self.many))
        written = [k for k, letter in enumerate(letters) if letter != "g"]
        self.each = Elements(pool, kernel, [dtype] * self.count + (each if self.costly else of),
                             self.element, written)  # fmt: skip

    def shared(self, places: Sequence[str]) -> list[str]:
        found = elements.settings(self.kernel, places[self.many :])
        return [f"{to} = {value};" for to, (_, value) in zip(places, found, strict=False)]

    def element(self, places: Sequence[str]) -> list[str]:
        c, cells = self.pool.place.c, places[self.count :]
        if self.costly:  # they hold the values themselves
            names = [name for name, _ in elements.settings(self.kernel, [""] * 6)]
            found = list(zip(names, cells, strict=True))
        else:
            found = elements.settings(self.kernel, cells)
        head = [f"const {c.computed(self.dtype)} {name} = {value};" for name, value in found]
        return [*head, *elements.update(self.kernel, self.dtype, places[: self.count], c)]

    def __call__(self, p: Any, *ins: Any) -> None:
        if 0 in p.shape:
            return
        if not self.costly:
            self.each(p, *ins)
            return
        found = fresh(self.pool, (self.many,), self.wide)
        cells = [Operand(found.buf, (), (), k) for k in range(self.many)]
        self.once(*cells, *ins[self.count - 1 :])
        self.each(p, *ins[: self.count - 1], *cells)


def kernels(pool: Pool) -> Rows:
    return {(name, dtype): Update(pool, name, dtype)
            for name in UPDATES for dtype in SIGNATURES[name].dtypes}  # fmt: skip
