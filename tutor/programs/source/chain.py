"""The kernel `fused`: a chain of expressions in one loop, optionally ending in a reduction.

A product at the beginning is written where the result will be, and the loop reads it there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tutor.backends.bytecode import Instruction, after_first, parse, text
from tutor.backends.codegen.chains import Chain
from tutor.backends.codegen.expressions import refused
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
        over = split(call, call.walks[1].shape, call.step.params["axis"])

        def term(kept: Sequence[Var], position: Sequence[str]) -> tuple[list[Lines], str]:
            found, body = one(call, chain, lambda k: placed(call, k, kept, position, over.terms))
            return body, found.values[last.args[0]][0]

        return written(call, last.kernel, last.dtype, over, term)
    variables = named(call.any_order())
    return Function(*loops(variables, *one(call, chain, lambda k: call.place(k, variables))[1]))


def one(
    call: Call, rows: Sequence[Instruction], place: Callable[[int], str]
) -> tuple[Chain, list[Lines]]:
    """The chain for one element of the operands, and its statements. What is reduced is not among
    the results written here."""
    results = int(str(call.step.params["results"]))
    inputs = len(call.walks) - results
    chain = Chain(
        call.c, rows, [call.dtype(k) for k in range(1, inputs + 1)],
        [place(k) for k in range(1, inputs + 1)],
    )  # fmt: skip
    body = chain.statements()
    left = [n for n in range(results) if f"o{n}" in chain.values]
    writes = chain.writes([f"o{n}" for n in left], [place(inputs + n if n else 0) for n in left])
    return chain, [[line] for line in (*body, *writes)]


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
