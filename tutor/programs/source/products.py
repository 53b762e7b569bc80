"""Products: matmul and linear, as loops that the compiler can turn into vectors.

z[i, j] = sum_k x[i, k] * y[k, j]. Where the columns of y lie side by side, 64 sums of a row of z
grow together, term by term. Where its rows of terms do, as those of a layer's weight, 16 lanes take
every 16th term and are added at the end. Each multiplies and adds in one instruction where there is
one, so the result is right within the class `sum`, not to the bit.
"""

from __future__ import annotations

from collections.abc import Callable

from tutor.dtype import DType
from tutor.programs.source.call import Call, Function
from tutor.programs.source.expressions import stored
from tutor.programs.source.loops import Axis, Lines, Var, axes_of, block, loop, loops, named

TILE, LANES = 64, 16


def matmul(call: Call) -> Function:
    """x (..., m, k), y (..., k, n) -> (..., m, n)"""
    out, x, y = call.walks
    lead = axes_of(out.shape[:-2], out.strides[:-2], x.strides[:-2], y.strides[:-2])
    rows = axes_of(out.shape[-2:-1], out.strides[-2:-1], x.strides[-2:-1], (0,))
    columns = Axis(out.shape[-1], (out.strides[-1], 0, y.strides[-1]))
    terms = Axis(x.shape[-1], (0, x.strides[-1], y.strides[-2]))
    return Function(*product(call, [*lead, *rows], columns, terms, lambda value, j: value))


def linear(call: Call) -> Function:
    """x (..., k), w (n, k), b (n) -> (..., n)"""
    out, x, w, b = call.walks
    still = (0,) * (len(out.shape) - 1)
    rows = axes_of(out.shape[:-1], out.strides[:-1], x.strides[:-1], still, still)
    columns = Axis(out.shape[-1], (out.strides[-1], 0, w.strides[0], b.strides[0]))
    terms = Axis(x.shape[-1], (0, x.strides[-1], w.strides[1], 0))

    def end(value: str, j: list[Var]) -> str:
        value = f"{value} + {call.value(3, j)}"
        return f"above_0_{kind_of(call)}({value})" if call.step.params["relu"] else value

    return Function(*product(call, rows, columns, terms, end))


def kind_of(call: Call) -> str:
    """What the sums are kept in: unsigned integers, which wrap."""
    dtype = call.step.dtype
    return call.c.unsigned(dtype) if dtype.is_integer else call.c.computed(dtype)


def product(
    call: Call, rows: list[Axis], columns: Axis, terms: Axis,
    end: Callable[[str, list[Var]], str],
) -> list[Lines]:  # fmt: skip
    """`end` is what becomes of each sum."""
    around = named(rows, "iabdefgh")
    by_terms = abs(terms.strides[2]) <= 1 and abs(columns.strides[2]) > 1 and terms.size >= LANES
    inner = (lanes if by_terms else tiles)(call, around, columns, terms, end)
    return loops(around, *inner)


def tiles(
    call: Call, around: list[Var], columns: Axis, terms: Axis,
    end: Callable[[str, list[Var]], str],
) -> list[Lines]:  # fmt: skip
    """Sums of up to 64 columns of a row, which grow together."""
    kind, size = kind_of(call), columns.size
    j, c, k = Var("j", columns), Var("c", columns), Var("k", terms)
    many = size > TILE
    at = [j, c] if many else [c]
    wide = "wide" if many and size % TILE else str(min(size, TILE))
    every = f"for (int64_t c = 0; c < {wide}; c++)"
    x = typed(call, call.value(1, [*around, k]))
    y = typed(call, call.value(2, [*around, *at, k]))
    body = [
        [f"{kind} sum[{min(size, TILE) or 1}] = {{0}};"],
        loop(k, [f"const {kind} x = {x};"], block(every, added(call, "sum[c]", "x", y))),
        block(every, written(call, [*around, *at], end("sum[c]", at))),
    ]
    if wide == "wide":
        body.insert(0, [f"const int64_t wide = {size} - j < {TILE} ? {size} - j : {TILE};"])
    return [loop(j, *body, step=TILE)] if many else body


def lanes(
    call: Call, around: list[Var], columns: Axis, terms: Axis,
    end: Callable[[str, list[Var]], str],
) -> list[Lines]:  # fmt: skip
    """One sum after another, of which 16 lanes take every 16th term."""
    kind, size = kind_of(call), terms.size
    j, k, l = Var("j", columns), Var("k", terms), Var("l", terms)  # noqa: E741 - a lane
    x, y = (typed(call, call.value(n, [*around, j, k, l])) for n in (1, 2))
    rest = [typed(call, call.value(n, [*around, j, k])) for n in (1, 2)]
    every = f"for (int l = 0; l < {LANES}; l++)"
    body = [
        [f"{kind} lane[{LANES}] = {{0}}, sum = 0;"],
        ["int64_t k = 0;"],
        block(f"for (; k + {LANES} <= {size}; k += {LANES})",
              block(every, added(call, "lane[l]", x, y))),
        block(f"for (; k < {size}; k++)", added(call, "sum", *rest)),
        block(every, ["sum += lane[l];"]),
        written(call, [*around, j], end("sum", [j])),
    ]  # fmt: skip
    return [loop(j, *body)]


def typed(call: Call, text: str) -> str:
    """A factor as it is multiplied."""
    kind = kind_of(call)
    same = not call.step.dtype.is_integer or kind == call.c.stored[call.step.dtype]
    return text if same else f"({kind}){text}"


def added(call: Call, total: str, x: str, y: str) -> Lines:
    """One term more."""
    if call.step.dtype.is_integer:
        return [f"{total} += {x} * {y};"]
    return [f"{total} = multiply_add_{kind_of(call)}({x}, {y}, {total});"]


def written(call: Call, at: list[Var], value: str) -> Lines:
    dtype: DType = call.step.dtype
    if dtype.is_integer:
        value = typed_back(call, value)
    return [f"{call.place(0, at)} = {stored(dtype, value)};"]


def typed_back(call: Call, value: str) -> str:
    own = call.c.stored[call.step.dtype]
    return value if own == kind_of(call) else f"({own}){value}"
