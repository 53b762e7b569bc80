"""Products: the chain after a product runs row by row, while the rows are in the cache.

    t0 = matmul(x0, s0)            y0 = fused(x0, s0, c0, x1)
    y0 = fused(t0, c0, x1)             r0 = matmul.float32 i0 i1
        r0 = mul.float32 i0 i1         r1 = mul.float32 r0 i2
        o0 = add.float32 r0 i2         o0 = add.float32 r1 i3

So gelu, a residual, a mask, and the derivative of the step before a layer (its relu, say) need no
separate pass over memory: the product is written where the result will be, read from the cache, and
overwritten. Each step computes the same as on its own, so the bits are the same. (This is known as
an epilogue; the simplest, a relu, is done in registers: epilogue.py.)

Nothing else may read the product, and the result must be contiguous and not take memory that is
still read. It pays if a product is larger than the cache and has few terms. By turns, on one thread
with 2 MB of L2 cache, the CPU time with the pass as part of that without:

    layers 64-512-512-1 of 4096 rows, forward        tanh 0.91, silu 0.94, gelu 0.95
    layers 8-256-256-1 of 16384 rows, silu           forward 0.92, a step with Adam 0.97
    64 products of 512 x 16 x 512, scaled            0.91, with their softmax 0.95
    layers 784-512-512-10 of 1024 rows, tanh         forward 0.99
    steps of MLPs for MNIST, a CNN, GPTs 64 and 256 wide         0.98 to 1.01

An optimizer's update does not go into the product that makes its gradient. The gradient is needed
afterwards (`.grad`), so it is written in either case, and only one read out of three to seven would
be saved. In an experiment with both cut into pieces of some rows, steps of MLPs took as long as
before or longer: 784-128-10 with SGD 1.0 to 1.13 times, 784-2048-2048-10 with Adam, whose weights
and moments are a hundred times as large as the cache, 0.99 to 1.08 times.
"""

from __future__ import annotations

from typing import NamedTuple

from tutor.backends.bytecode import (
    MOST_INSTRUCTIONS,
    MOST_OPERANDS,
    PRODUCTS,
    Instruction,
    parse,
    product,
    text,
)
from tutor.backends.step import Step
from tutor.programs.passes.elements import overlap, same, viewed
from tutor.programs.passes.uses import Uses, is_map, may_refuse, reads, writes
from tutor.programs.program import Program, walks


def products(program: Program) -> Program:
    """Moves each chain into the product before it."""
    uses, steps = Uses(program), list[Step | None](program.steps)
    for i in range(len(program)):
        chain = steps[i]
        found = None if chain is None else _pair(uses, steps, chain, i)
        at = None if found is None else place(uses, found.made, found.chain, found.at, i)
        if found is None or at is None:
            continue
        steps[found.at] = steps[i] = None
        steps[at] = one = found.together()
        uses.move(one, at)
    return program.with_steps([step for step in steps if step is not None])


def place(uses: Uses, made: Step, chain: Step, first: int, last: int) -> int | None:
    """The position where a step and a later one that reads it can run together: that of the first
    or of the last; None if neither works. (The first writes a temp that no other step touches.)"""
    if made.device != chain.device:
        return None
    ready = not any(uses.is_changed(walk, first, last) for walk in reads(chain))
    inside = all(walk.buf.role in ("temp", "output") for walk in writes(chain))
    if ready and inside and not any(uses.is_touched(walk, first, last) for walk in writes(chain)):
        return first
    return None if any(uses.is_changed(walk, first, last) for walk in reads(made)) else last


class Pair(NamedTuple):
    """A product, step number `at`, and its only reader, `chain`, walked in the product's shape;
    `mine` are the positions of those inputs of `chain` that are the product."""

    made: Step
    at: int
    chain: Step
    mine: tuple[int, ...]

    def together(self) -> Step:
        """The Pair as one step."""
        made, chain = self.made, self.chain
        inputs, outs = reads(chain), writes(chain)
        others = [n for n in range(len(inputs)) if n not in self.mine]
        rows = [Instruction("r0", made.kernel, made.dtype, _named(range(len(made.ins))))]
        if made.params.get("relu"):
            rows.append(Instruction("r1", "relu", made.dtype, ("r0",)))
        names = {f"i{n}": f"i{len(made.ins) + k}" for k, n in enumerate(others)}
        names |= {f"i{n}": rows[-1].dest for n in self.mine}
        later = len(rows)

        def renamed(name: str) -> str:
            return f"r{int(name[1:]) + later}" if name[0] == "r" else names.get(name, name)

        for row in _rows(chain):
            args = tuple([renamed(arg) for arg in row.args])
            rows.append(row._replace(dest=renamed(row.dest), args=args))
        ins = (*reads(made), *[inputs[n] for n in others], *outs[1:])
        params = {"code": text(rows), "results": len(outs), "axis": ()}
        return Step("fused", outs[0].buf.dtype, outs[0], ins, params, chain.where)


def _named(numbers: range) -> tuple[str, ...]:
    return tuple([f"i{n}" for n in numbers])


def _rows(chain: Step) -> tuple[Instruction, ...]:
    """The chain's instructions; a single kernel is one instruction."""
    if chain.kernel == "fused":
        return parse(str(chain.params["code"]))
    dtype = chain.out.buf.dtype if chain.kernel == "cast" else chain.dtype
    return (Instruction("o0", chain.kernel, dtype, _named(range(len(chain.ins)))),)


def _pair(uses: Uses, steps: list[Step | None], chain: Step, i: int) -> Pair | None:
    """The Pair of the chain and the first product it reads that it can run with, or None."""
    if not _is_chain(chain) or may_refuse(chain):
        return None
    for walk in reads(chain):
        at = uses.maker(walk.buf)
        made = None if at is None else steps[at]
        alone = not walk.buf.lasts and {use.at for use in uses.reads[walk.buf]} == {i}
        if at is not None and made is not None and made.kernel in PRODUCTS and alone:
            found = _fitting(made, at, chain)
            if found is not None:
                return found
    return None


def _is_chain(step: Step) -> bool:
    if step.kernel == "fused":
        return step.params["axis"] == () and product(str(step.params["code"])) is None
    return is_map(step)


def _fitting(made: Step, at: int, chain: Step) -> Pair | None:
    """The Pair, if one call of the kernel can do both without extra memory."""
    z = walks(made)[0]
    found = [viewed(walk, z.shape) for walk in walks(chain)]
    operands = [walk for walk in found if walk is not None]
    if len(operands) < len(found):
        return None
    chain = chain.over(operands)
    inputs, out = reads(chain), walks(chain)[0]
    mine = tuple([n for n, walk in enumerate(inputs) if walk.buf is z.buf])
    others = [walk for n, walk in enumerate(inputs) if n not in mine]
    fits = (
        all(same(inputs[n], z) for n in mine)
        and out.is_dense
        and out.buf.dtype is z.buf.dtype
        and not any(walk.buf is out.buf for walk in others)
        and not any(overlap(w, walk) for w in writes(chain) for walk in reads(made))
        and len(_rows(chain)) + 2 <= MOST_INSTRUCTIONS
        and len(made.ins) + len(walks(chain)) <= MOST_OPERANDS
    )
    return Pair(made, at, chain, mine) if fits else None
