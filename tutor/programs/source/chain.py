"""The kernel `fused`: a chain of expressions in one loop, optionally ending in a reduction.

A product at the beginning is written where the result will be, and the loop reads it there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tutor.backends.bytecode import Instruction, after_first, parse, text
from tutor.backends.codegen.chains import Values
from tutor.backends.codegen.expressions import (
    loaded,
    refused,
    stored,
)
from tutor.backends.codegen.loops import Lines, Var, loops, named
from tutor.backends.step import Step
from tutor.programs.source import products
from tutor.programs.source.call import Call, Function
from tutor.programs.source.reductions import placed, split, written

PRODUCTS = {"matmul": products.matmul, "linear": products.linear}


def fused(call: Call) -> Function | None:
    """All expressions in order, in one loop; None if one of them may refuse its operands, which
    shows only when it is computed."""
    chain = parse(str(call.step.params["code"]))
    if chain[0].kernel in PRODUCTS:
        return behind(call, chain)
    if any(refused(each.kernel, each.dtype) for each in chain):
        return None
    if reductions := [each for each in chain if each.reduces]:
        (last,) = reductions
        rest = [each for each in chain if not each.reduces]
        over = split(call, call.walks[1].shape, call.step.params["axis"])

        def term(kept: Sequence[Var], position: Sequence[str]) -> tuple[list[Lines], str]:
            found = Chain(call, lambda k: placed(call, k, kept, position, over.terms), chain)
            body = found.statements(rest)
            return [*body, *found.results(but=last.dest)], found.values[last.args[0]][0]

        return written(call, last.kernel, last.dtype, over, term)
    variables = named(call.any_order())
    found = Chain(call, lambda k: call.place(k, variables), chain)
    body = [*found.statements(chain), *found.results()]
    return Function(*loops(variables, *body))


def behind(call: Call, chain: Sequence[Instruction]) -> Function | None:
    """The product, followed by the other expressions over it; None if the result's memory cannot
    hold the product: it has another dtype, or is read as an input."""
    first = chain[0]
    step, (out, *ins) = call.step, call.walks
    count, results = len(first.args), int(str(step.params["results"]))
    others, further = ins[count : len(ins) + 1 - results], ins[len(ins) + 1 - results :]
    taken = [walk.buf for walk in (*ins, *others)]
    if out.buf.dtype is not first.dtype or out.buf in taken:
        return None
    rows = after_first(chain, count + len(others))
    product = Step(first.kernel, first.dtype, out, tuple(ins[:count]), {"relu": False})
    params = {**step.params, "code": text(rows)}
    then = Step("fused", step.dtype, out, (out, *others, *further), params)
    number = int(call.name.rpartition("_")[2])
    made = PRODUCTS[first.kernel](Call(number, product, call.names, call.c))
    found = fused(Call(number, then, call.names, call.c))
    return found and Function(*made.body, *found.body, parts=made.parts)


class Chain(Values):
    """The values of a chain for one element of a step's operands."""

    def __init__(
        self, call: Call, place: Callable[[int], str], chain: Sequence[Instruction]
    ) -> None:
        super().__init__(call.c)
        self.call, self.place, self.chain = call, place, chain
        results = int(str(call.step.params["results"]))
        self.inputs = len(call.walks) - results
        self.operand = {"o0": 0} | {f"o{n}": self.inputs + n for n in range(1, results)}

    def statements(self, chain: Sequence[Instruction]) -> list[Lines]:
        """A constant for each input that is used several times, and for each instruction."""
        body: list[Lines] = []
        every = [arg for each in self.chain for arg in each.args]
        for n in range(self.inputs):
            name, dtype = f"i{n}", self.call.dtype(n + 1)
            text = loaded(dtype, self.place(n + 1))
            if every.count(name) > 1:
                body.append([f"const {self.call.c.computed(dtype)} {name} = {text};"])
                text = name
            self.values[name] = text, dtype
        return [*body, *([self.statement(each)] for each in chain)]

    def results(self, but: str = "") -> list[Lines]:
        """The writes of all results, after all reads: a result may overwrite an input."""
        return [
            [f"{self.place(k)} = {stored(self.values[name][1], self.values[name][0])};"]
            for name, k in self.operand.items()
            if name != but
        ]
