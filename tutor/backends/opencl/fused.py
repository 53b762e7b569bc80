"""`fused`: a chain of kernels as one kernel, generated from its bytecode and cached under it.

All instructions are statements of one work-item, so no intermediate number reaches memory. A
product at the start or a reduction at the end is a separate launch before or after it. If a kernel
of a chain may refuse a number, its instructions run one by one, so that it refuses before anything
is written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tutor._storage.layout import axes_of
from tutor.backends import bytecode
from tutor.backends.bytecode import Instruction
from tutor.backends.codegen.chains import Chain
from tutor.backends.opencl.elementwise import Elements
from tutor.backends.opencl.handwritten import casting, fresh, mover
from tutor.backends.opencl.memory import Pool, Rows
from tutor.backends.registry import Operand
from tutor.backends.shape_rules import without
from tutor.backends.signatures import ALL
from tutor.dtype import DType


class Fused:
    """`kernel(out, *ins, code=, results=, axis=)`"""

    def __init__(self, pool: Pool, rows: Rows) -> None:
        self.pool, self.kernels = pool, rows
        self.chains: dict[Any, tuple[Elements, list[DType]]] = {}

    def __call__(self, out: Any, *ins: Any, code: str, results: int, axis: Any) -> None:
        count = len(ins) + 1 - results
        inputs, outs = list(ins[:count]), [out, *ins[count:]]
        rows = list(bytecode.parse(code))
        begins = bytecode.product(code)
        shape = out.shape if begins else inputs[0].shape
        goes = axes_of(axis, len(shape))
        bytecode.check(code, [x.buf.dtype for x in (out, *ins)], results, shape, goes)
        if begins:
            rows, inputs = self.begun(rows, inputs, shape)
        if any(row.may_refuse for row in rows):
            self.one_by_one(outs, inputs, rows, shape, goes)
            return
        last = next((row for row in rows if row.reduces), None)
        to = [f"o{n}" for n in range(results)]
        if last is None:
            if math.prod(shape):
                self.chain(rows, inputs, to)[0](*outs, *inputs)
            return
        to[0] = last.args[0]
        if math.prod(shape):
            elements, (first, *_) = self.chain(rows, inputs, to)
            part = fresh(self.pool, shape, first)
            elements(part, *outs[1:], *inputs)
        else:
            part = fresh(self.pool, shape, last.dtype)
        self.kernels[last.kernel, last.dtype](out, part, axis=goes)

    def chain(
        self, rows: Sequence[Instruction], inputs: Sequence[Any], to: Sequence[str]
    ) -> tuple[Elements, list[DType]]:
        """The kernel that writes the results `to` of these inputs, and their dtypes."""
        dtypes = [x.buf.dtype for x in inputs]
        key = (bytecode.text(rows), *dtypes, *to)
        if key not in self.chains:
            c = self.pool.place.c

            def body(places: Sequence[str]) -> list[str]:
                chain = Chain(c, rows, dtypes, places[len(to) :])
                return [*chain.statements(), *chain.writes(to, places[: len(to)])]

            chain = Chain(c, rows, dtypes, ["" for _ in dtypes])
            chain.statements()
            outs = [chain.values[name][1] for name in to]
            elements = Elements(self.pool, "fused", [*outs, *dtypes], body, range(len(to)), key)
            self.chains[key] = elements, outs
        return self.chains[key]

    def begun(
        self, rows: list[Instruction], inputs: list[Any], shape: Any
    ) -> tuple[list[Instruction], list[Any]]:
        """Compute the product; returns the rest of the chain, whose first input it is."""
        begins = rows[0]
        count = len(begins.args)
        z = fresh(self.pool, shape, begins.dtype)
        self.kernels[begins.kernel, begins.dtype](z, *inputs[:count])
        return bytecode.after_first(rows, len(inputs)), [z, *inputs[count:]]

    def one_by_one(
        self, outs: Sequence[Any], inputs: Sequence[Any], rows: Sequence[Instruction], shape: Any,
        goes: Any,
    ) -> None:  # fmt: skip
        """Run each instruction as the kernel it names; every register has its own memory."""
        known: dict[str, Any] = {f"i{n}": x for n, x in enumerate(inputs)}
        for row in rows:
            args = [known[arg] for arg in row.args]
            dtype = bytecode.made(row, [x.buf.dtype for x in args])
            z: Operand = fresh(self.pool, without(shape, goes) if row.reduces else shape, dtype)
            if row.kernel == "cast":
                casting(self.pool, dtype, args[0].buf.dtype)(z, *args)
            else:
                how = {"axis": goes} if row.reduces else {}
                self.kernels[row.kernel, row.dtype](z, *args, **how)
            known[row.dest] = z
        for n, out in enumerate(outs):
            mover(self.pool, out.buf.dtype)(out, known[f"o{n}"])


def kernels(pool: Pool, rows: Rows) -> Rows:
    kernel = Fused(pool, rows)
    return {("fused", dtype): kernel for dtype in ALL}
