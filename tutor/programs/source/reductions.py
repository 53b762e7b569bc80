"""Reductions: many numbers to one, in the order of the library's own tree.

Floats are added (multiplied) in the order of simd_cpp's walk/tree.hpp, so a sum has the same bits:
the terms are cut into blocks of 512; in a block, lane l of 32 takes the terms l, l + 32, l + 64,
...; the lanes are added upper half to lower half; the blocks in pairs, the pairs in pairs. Other
reductions, integers or the larger of two, may go in any order, and use the lanes only. The compiler
turns 32 independent lanes into a few vectors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tutor._storage.layout import axes_of as axes_named
from tutor.backends.codegen import folds
from tutor.backends.codegen.dialect import Dialect
from tutor.backends.codegen.expressions import loaded, stored
from tutor.backends.codegen.loops import (
    LETTERS,
    Axis,
    Lines,
    Var,
    block,
    flat,
    joined,
    loops,
    named,
    ordered,
    summed,
)
from tutor.dtype import DType
from tutor.programs.source.call import Call, Function

LANES, BLOCK, TILE = 32, 512, 64

# A term of an output, at the position given by the sum of these variables: statements, its value.
Term = Callable[[Sequence[Var], Sequence[str]], tuple[list[Lines], str]]


class Fold(NamedTuple):
    """How to combine terms: the type, the neutral element, and the combination of two."""

    kind: str
    neutral: str
    both: Callable[[str, str], str]
    tree: str  # the helper that joins the blocks: "sum" or "product" of floats
    result: Callable[[str, int], str]  # from the combined value and the number of terms

    def add(self, lane: str, before: list[Lines], value: str) -> list[Lines]:
        """The statements that combine a lane with one more term."""
        if self.tree or len(re.findall(r"\bx\b", self.both("", "x"))) == 1:
            return [*before, [self.both(lane, value)]]
        return [*before, [f"const {self.kind} x = {value};"], [self.both(lane, "x")]]


class Reduction(NamedTuple):
    """The loops of a reduction: over the kept axes, and over the terms of each output."""

    kept: list[Axis]
    terms: list[Axis]
    out: Callable[[Sequence[Var], str], str]  # the statement that writes an output

    @property
    def many(self) -> int:
        return math.prod(axis.size for axis in self.terms)


def reduce(call: Call) -> Function:
    """A step of form `reduce`."""
    loops_of = split(call, call.walks[1].shape, call.step.params["axis"])

    def term(kept: Sequence[Var], position: Sequence[str]) -> tuple[list[Lines], str]:
        return [], loaded(call.dtype(1), placed(call, 1, kept, position, loops_of.terms))

    return written(call, call.step.kernel, call.step.dtype, loops_of, term)


def written(call: Call, kernel: str, dtype: DType, reduction: Reduction, term: Term) -> Function:
    """The function for `kernel` over these terms, which have dtype `dtype`."""
    if kernel in ("argmax", "argmin"):
        return Function(*position_of(call, kernel, dtype, reduction, term))
    fold = fold_of(kernel, dtype, call.dtype(0), call.c)
    kept, terms = reduction.kept, reduction.terms
    side_by_side = kept and all(abs(s) <= 1 for s in kept[-1].strides)
    along = terms and all(abs(s) <= 1 for s in terms[-1].strides)
    if side_by_side and not along and kept[-1].size > 1 and len(terms) <= 1:
        return Function(*columns(reduction, fold, term))
    return Function(*rows(reduction, fold, term))


def split(call: Call, shape: Sequence[int], axis: object) -> Reduction:
    """The reduced axes and the kept ones. Out has strides for the kept axes only."""
    goes = axes_named(axis, len(shape))
    kept: list[Axis] = []
    terms: list[Axis] = []
    left = 0
    for a, size in enumerate(shape):
        to = 0 if a in goes else call.walks[0].strides[left]
        left += a not in goes
        ins = tuple(w.strides[a] if w.shape == tuple(shape) else 0 for w in call.walks[1:])
        if size != 1:
            (terms if a in goes else kept).append(Axis(size, (to, *ins)))

    def out(variables: Sequence[Var], value: str) -> str:
        return f"{call.place(0, variables)} = {value};"

    return Reduction(joined(ordered(kept)), joined(terms), out)


def placed(
    call: Call, operand: int, kept: Sequence[Var], position: Sequence[str], terms: list[Axis]
) -> str:
    """The place of a term in an operand."""
    if len(terms) > 1:
        more = flat(position[0], terms, operand)
    else:
        more = summed([(name, axis.strides[operand]) for axis in terms for name in position])
    return call.place(operand, kept, more)


def fold_of(kernel: str, dtype: DType, out: DType, c: Dialect) -> Fold:
    acc = folds.accumulator(kernel, dtype)
    kind, neutral = c.computed(acc), folds.neutral(kernel, dtype)
    if kernel in folds.CHOOSE:
        return Fold(
            kind, neutral, lambda a, b: f"{a} = {folds.combined(kernel, dtype, a, b, c)};", "",
            lambda found, _: stored(out, found),
        )  # fmt: skip
    sign = "*" if kernel == "prod" else "+"
    if dtype.is_float:
        return Fold(
            kind, neutral, lambda a, b: f"{a} {sign}= {b};", "product" if sign == "*" else "sum",
            lambda found, n: stored(out, f"{found} / {n}" if kernel == "mean" else found),
        )  # fmt: skip
    return Fold(
        kind, neutral, lambda a, b: f"{a} {sign}= ({kind}){b};", "",
        lambda found, _: found if out is acc else f"({c.stored[out]}){found}",
    )  # fmt: skip


def halves(fold: Fold, lanes: int, column: str = "", every: str = "") -> list[Lines]:
    """Combine the lanes, upper half with lower half, until one is left."""
    inner = fold.both(f"lane[l]{column}", f"lane[l + half]{column}")
    inner = inner.replace(f"({fold.kind})lane", "lane")
    limit = "l < half" if lanes == LANES else f"l < half && l + half < {lanes}"
    body = [inner]
    if column:
        body = block(every, body)
    return [
        block("for (int half = 16; half > 0; half /= 2)",
              block(f"for (int l = 0; {limit}; l++)", body))
    ]  # fmt: skip


def cleared(name: str, fold: Fold, lanes: int, tile: str = "") -> list[Lines]:
    """An array of lanes without terms yet."""
    if fold.neutral == "0":
        return [[f"{fold.kind} {name}[{lanes}]{tile} = {{{'{0}' if tile else '0'}}};"]]
    head = [[f"{fold.kind} {name}[{lanes}]{tile};"]]
    set_all = [f"{name}[l]{'[c]' if tile else ''} = {fold.neutral};"]
    if tile:
        set_all = block(f"for (int c = 0; c < {tile[1:-1]}; c++)", set_all)
    return [*head, block(f"for (int l = 0; l < {lanes}; l++)", set_all)]


def in_blocks(reduction: Reduction, clear: list[Lines], body: list[Lines]) -> Lines:
    """`body` for each block of terms, from `first` to `end`."""
    n = reduction.many
    return block(
        f"for (int64_t first = 0; first < {n}; first += {BLOCK})",
        [f"const int64_t end = first + {BLOCK} < {n} ? first + {BLOCK} : {n};"],
        *clear,
        *body,
    )


def rows(reduction: Reduction, fold: Fold, term: Term) -> list[Lines]:
    """One output at a time, with 32 of its terms at once."""
    kept, terms, n = named(reduction.kept), reduction.terms, reduction.many
    kept = [Var(v.name if v.name not in "kl" else v.name * 2, v.axis) for v in kept]
    blocks = fold.tree != "" and n > BLOCK
    first, end = ("first", "end") if blocks else ("0", str(n))

    def combined(lane: str, *position: str) -> list[Lines]:
        return fold.add(lane, *term(kept, position))

    if len(terms) > 1:  # a term's place takes divisions, so this cannot be vectorized
        walk = [block(f"for (int64_t k = {first}; k < {end}; k++)", *combined("lane[k % 32]", "k"))]
    elif n <= LANES:
        walk = [block(f"for (int l = 0; l < {n}; l++)", *combined("lane[l]", "l"))]
    else:
        side, more = combined("lane[l]", "k", "l"), blocks or n % LANES
        walk = [
            block(f"for (; k + {LANES} <= {end}; k += {LANES})",
                  block(f"for (int l = 0; l < {LANES}; l++)", *side)),
            block(f"for (int l = 0; k + l < {end}; l++)", *side),
        ][: 2 if more else 1]  # fmt: skip
        walk.insert(0, [f"int64_t k = {first};"])
    clear, add_up = cleared("lane", fold, LANES), [*walk, *halves(fold, LANES)]
    if blocks:
        join = f"join_{fold.tree}_{fold.kind}(waiting, count, first / {BLOCK}, lane[0])"
        add_up.append([f"count = {join};"])
        body = [
            [f"{fold.kind} waiting[48];"],
            ["int count = 0;"],
            in_blocks(reduction, clear, add_up),
        ]
        result = f"join_all_{fold.tree}_{fold.kind}(waiting, count)"
    else:
        body, result = [*clear, *add_up], "lane[0]"
    return loops(kept, *body, [reduction.out(kept, fold.result(result, n))])


def columns(reduction: Reduction, fold: Fold, term: Term) -> list[Lines]:
    """64 adjacent outputs at a time: one term of all of them, then the next term."""
    *outer, last = reduction.kept
    n, size, lanes = reduction.many, last.size, min(LANES, max(reduction.many, 1))
    kept = [Var(v.name if v.name not in "klc" else v.name * 2, v.axis) for v in named(outer)]
    out = [*kept, *[Var("from", last)] * (size > TILE), Var("c", last)]
    wide = "wide" if size > TILE else str(size)
    blocks = fold.tree != "" and n > BLOCK
    first, end = ("first", "end") if blocks else ("0", str(n))
    lane = "lane[k % 32][c]" if n > LANES else "lane[k][c]"
    every = f"for (int64_t c = 0; c < {wide}; c++)"
    clear = cleared("lane", fold, lanes, f"[{min(size, TILE)}]")
    add_up = [
        block(f"for (int64_t k = {first}; k < {end}; k++)",
              block(every, *fold.add(lane, *term(out, ("k",))))),
        *halves(fold, lanes, "[c]", every),
    ]  # fmt: skip
    if blocks:
        join = f"join_{fold.tree}_{fold.kind}(waiting[c], count, first / {BLOCK}, lane[0][c])"
        add_up += [["int next = 0;"], block(every, [f"next = {join};"]), ["count = next;"]]
        body = [
            [f"{fold.kind} waiting[{min(size, TILE)}][48];"],
            ["int count = 0;"],
            in_blocks(reduction, clear, add_up),
        ]
        result = f"join_all_{fold.tree}_{fold.kind}(waiting[c], count)"
    else:
        body, result = [*clear, *add_up], "lane[0][c]"
    body.append(block(every, [reduction.out(out, fold.result(result, n))]))
    if size > TILE:
        first_of_all = f"const int64_t wide = {size} - from < {TILE} ? {size} - from : {TILE};"
        body = [block(f"for (int64_t from = 0; from < {size}; from += {TILE})",
                      [first_of_all], *body)]  # fmt: skip
    return loops(kept, *body)


def position_of(
    call: Call, kernel: str, dtype: DType, reduction: Reduction, term: Term
) -> list[Lines]:
    """argmax (argmin): the first largest (smallest) number; the first nan beats all numbers."""
    c, sign = call.c, ">" if kernel == "argmax" else "<"
    kept = named(reduction.kept, LETTERS.replace("k", ""))
    kind = c.computed(dtype)
    before, value = term(kept, ("k",))
    nan = " || (x != x && best == best)" if dtype.is_float else ""
    body: list[Lines] = [
        [f"{kind} best = 0;"],
        ["int64_t at = -1;"],
        block(
            f"for (int64_t k = 0; k < {reduction.many}; k++)",
            *before,
            [f"const {kind} x = {value};"],
            block(f"if (at < 0 || x {sign} best{nan})", ["best = x;"], ["at = k;"]),
        ),
        [reduction.out(kept, "at")],
    ]
    return loops(kept, *body)
