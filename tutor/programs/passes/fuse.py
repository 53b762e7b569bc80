"""Fuse: a chain of elementwise steps becomes one step with the kernel `fused`.

    t0 = mul(x0, c0)               y0 = fused(x0, c0, c1)
    t1 = add(t0, c1)                   r0 = mul.float32 i0 i1
    t2 = relu(t1)                      r1 = add.float32 r0 i2
    y0 = sum(t2)                       r2 = relu.float32 r1
                                       o0 = sum.float32 r2

Intermediate numbers never reach memory: x0 is read once, and y0 is written. A number that is also
read outside the chain (by a backward, say) is written as one more result. Nothing is computed
twice: a number that two chains need is computed by one and read by the other. chains.py decides
which steps are fused, tutor/backends/bytecode.py defines the code; each instruction is computed by
the kernel that it names, so the bits are the same.
"""

from __future__ import annotations

import itertools

from tutor.backends.bytecode import Instruction, text
from tutor.backends.step import Step
from tutor.programs.passes.chains import Chains, StepChain
from tutor.programs.passes.uses import Uses, is_map, reads
from tutor.programs.program import Program, Walk, walks


def fuse(program: Program) -> Program:
    """Fuses each chain of elementwise steps into one step."""
    uses, steps = Uses.of(program), list[Step]()
    freed = False  # was memory freed whose next writer had to wait for the chain?
    for chain in Chains(program).in_order():
        one = _fused(chain, uses) if len(chain.steps) > 1 else None
        steps += [one] if one else chain.steps.values()
        for slot in chain.unread.keys() - {walk.buf for walk in walks(one)} if one else ():
            freed |= any(use.at not in chain.steps for use in uses.writes[slot])
    shorter = program.with_steps(steps)
    return fuse(shorter) if freed else shorter


def _fused(chain: StepChain, uses: Uses) -> Step | None:
    """The chain as one step; None if no result is needed, or if its final reduction is not."""
    code = _Code()
    for step in chain.steps.values():
        code.add(step)
    *_, last = chain.steps.values()
    wanted = {key: out for key, out in code.written.items() if _is_wanted(chain, uses, out)}
    if not wanted or not (is_map(last) or _is_wanted(chain, uses, walks(last)[0])):
        return None
    first = next(reversed(wanted))  # the reduction's result, if there is one, was written last
    results = [first, *[key for key in wanted if key != first]]
    instructions = code.finished(results)
    out, *others = [wanted[key] for key in results]
    if len(instructions) == 1 and is_map(last):  # the others were copies
        (row,) = instructions
        ins = tuple([code.inputs[int(name[1:])] for name in row.args])
        dtype = ins[0].buf.dtype if row.kernel == "cast" else row.dtype
        return Step(row.kernel, dtype, out, ins, where=last.where)
    axis = () if is_map(last) else last.params["axis"]
    params = {"code": text(instructions), "results": len(results), "axis": axis}
    return Step("fused", out.buf.dtype, out, (*code.inputs, *others), params, last.where)


def _is_wanted(chain: StepChain, uses: Uses, out: Walk) -> bool:
    """Is the chain's result there needed outside the chain?"""
    return out.buf.lasts or any(use.at not in chain.steps for use in uses.reads[out.buf])


def _key(walk: Walk) -> Walk:
    """The walk, normalized: equal for all walks over the same elements in the same order."""
    if 1 not in walk.shape:
        return walk
    strides = [0 if n == 1 else s for n, s in zip(walk.shape, walk.strides, strict=True)]
    return walk._replace(strides=tuple(strides))


class _Code:
    """The instructions, as they are assembled. A number is named by its origin: "i0" is an input,
    "0" is the result of instruction 0."""

    def __init__(self) -> None:
        self.inputs: list[Walk] = []
        self.rows: list[Instruction] = []
        self.written: dict[Walk, Walk] = {}  # in the order of the latest writes
        self.number: dict[Walk, str] = {}  # the name of its current, or first, number

    def add(self, step: Step) -> None:
        args = tuple([self._read(walk) for walk in reads(step)])
        out = walks(step)[0]
        key = _key(out)
        if step.kernel == "copy":
            (self.number[key],) = args
        else:
            dtype = out.buf.dtype if step.kernel == "cast" else step.dtype
            self.number[key] = str(len(self.rows))
            self.rows.append(Instruction("", step.kernel, dtype, args))
        self.written.pop(key, None)
        self.written[key] = out

    def _read(self, walk: Walk) -> str:
        key = _key(walk)
        if key not in self.number:
            self.number[key] = f"i{len(self.inputs)}"
            self.inputs.append(walk)
        return self.number[key]

    def finished(self, results: list[Walk]) -> list[Instruction]:
        """The instructions with destinations: the results in this order, and registers for all
        others. A number that is several results, or an input, is copied."""
        names: dict[str, str] = {}
        copied = []
        for n, key in enumerate(results):
            number = self.number[key]
            if number in names or number.startswith("i"):
                dtype = self.written[key].buf.dtype
                copied.append(Instruction(f"o{n}", "copy", dtype, (number,)))
            else:
                names[number] = f"o{n}"
        registers = (f"r{n}" for n in itertools.count())
        for n in range(len(self.rows)):
            if str(n) not in names:
                names[str(n)] = next(registers)
        return [
            row._replace(
                dest=row.dest or names[str(n)], args=tuple([names.get(a, a) for a in row.args])
            )
            for n, row in enumerate([*self.rows, *copied])
        ]
