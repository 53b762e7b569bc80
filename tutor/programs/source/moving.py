"""Moving: cat, pad, gather, index_select, scatter. Numbers are moved without being changed."""

from __future__ import annotations

from collections.abc import Sequence

from tutor._storage.layout import axis_of
from tutor.backends.codegen import elements
from tutor.backends.codegen.elements import moved
from tutor.backends.codegen.loops import (
    Axis,
    Lines,
    Var,
    axes_of,
    joined,
    loops,
    named,
    ordered,
)
from tutor.programs.program import Walk
from tutor.programs.source.call import Call, Function


def axis_in(call: Call, dims: int) -> int:
    axis = call.step.params["axis"]
    assert isinstance(axis, int | tuple)
    return axis_of(axis if isinstance(axis, int) else axis[0], dims)


def part(call: Call, operand: int, first: int) -> list[Lines]:
    """Copy an operand into the part of out that begins at `first`, a position in out's memory."""
    out, x = call.walks[0], call.walks[operand]
    still = (0,) * len(x.shape)
    strides = [still] * len(call.walks)
    strides[0], strides[operand] = out.strides, x.strides
    variables = named(joined(ordered(axes_of(x.shape, *strides))))
    to = call.place(0, variables, str(first))
    place = call.place(operand, variables)
    return loops(variables, [moved(call.dtype(0), to, place)])


def cat(call: Call) -> Function:
    """The inputs, concatenated along axis."""
    out = call.walks[0]
    axis, body, first = axis_in(call, len(out.shape)), list[Lines](), 0
    for operand in range(1, len(call.walks)):
        x = call.walks[operand]
        if 0 not in x.shape:
            body += part(call, operand, first * out.strides[axis])
        first += x.shape[axis]
    return Function(*body)


def pad(call: Call) -> Function:
    """`value` everywhere, with x written at index `before`."""
    out, params = call.walks[0], call.step.params
    before, value = params["before"], params["value"]
    assert isinstance(before, tuple)
    assert isinstance(value, bool | int | float)
    variables = named(call.any_order(0))
    text = call.c.memory(value, call.dtype(0))
    all_of_it = loops(variables, [f"{call.place(0, variables)} = {text};"])
    first = sum(n * stride for n, stride in zip(before, out.strides, strict=True))
    inside = [] if 0 in call.walks[1].shape else part(call, 1, first)
    return Function(*all_of_it, *inside)


# ---- by index ------------------------------------------------------------------------------------


def checked(call: Call, operand: int, size: int) -> list[Lines]:
    """Check that every index is from -size to size - 1, before anything is written."""
    index = call.walks[operand]
    still = (0,) * len(index.shape)
    strides = [index.strides if k == operand else still for k in range(len(call.walks))]
    moving = [axis for axis in axes_of(index.shape, *strides) if axis.strides[operand]]
    variables = named(joined(ordered(moving)))
    if 0 in index.shape:
        return []
    place = call.place(operand, variables)
    return loops(variables, [f"if (!(-{size} <= {place} && {place} < {size})) return 1;"])


def position(call: Call, operand: int, variables: Sequence[Var], size: int) -> list[Lines]:
    """The index as `at`, counted from the front; checked again, since another thread may write."""
    lines = elements.position(call.place(operand, variables), str(size))
    return [*([line] for line in lines), [f"if (!(0 <= at && at < {size})) return 1;"]]


def gather(call: Call) -> Function:
    """z[.., i, ..] = x[.., index[.., i, ..], ..] along axis"""
    out, x, index = call.walks
    if 0 in out.shape:
        return Function()
    axis = axis_in(call, len(x.shape)) if x.shape else 0
    size, step = (x.shape[axis], x.strides[axis]) if x.shape else (1, 0)
    stay = tuple(0 if a == axis else s for a, s in enumerate(x.strides))
    variables = named(joined(ordered(axes_of(out.shape, out.strides, stay, index.strides))))
    at = Var("at", Axis(size, (0, step, 0)))
    to, place = call.place(0, variables), call.place(1, [*variables, at])
    body = [*position(call, 2, variables, size), [moved(call.dtype(0), to, place)]]
    return Function(*checked(call, 2, size), *loops(variables, *body), refuses=True)


def index_select(call: Call) -> Function:
    """The slices of x at the positions in a 1-D index, along axis."""
    out, x, index = call.walks
    if 0 in out.shape:
        return Function(*checked_if_any(call, x), refuses=True)
    axis = axis_in(call, len(x.shape))
    size = x.shape[axis]
    steps = tuple(0 if a == axis else s for a, s in enumerate(x.strides))
    along = tuple(index.strides[0] if a == axis else 0 for a in range(len(x.shape)))
    every = axes_of(out.shape, out.strides, steps, along)
    chosen = [axis for axis in every if axis.strides[2]]
    inner = joined(ordered(axis for axis in every if not axis.strides[2]))
    outer = named(chosen)
    rest = named(inner, "jklmn")
    at = Var("at", Axis(size, (0, x.strides[axis], 0)))
    every_one = [*outer, *rest]
    to, place = call.place(0, every_one), call.place(1, [*every_one, at])
    move = loops(rest, [moved(call.dtype(0), to, place)])
    body = loops(outer, *position(call, 2, outer, size), *move)
    return Function(*checked(call, 2, size), *body, refuses=True)


def checked_if_any(call: Call, x: Walk) -> list[Lines]:
    axis = axis_in(call, len(x.shape))
    return checked(call, 2, x.shape[axis])


def scatter(call: Call) -> Function:
    """z = x, then z[.., index[.., i, ..], ..] = (or +=) src[.., i, ..], row-major"""
    out, x, index, src = call.walks
    dtype, adds = call.dtype(0), call.step.kernel == "scatter_add"
    axis = axis_in(call, len(out.shape)) if out.shape else 0
    size, step = (out.shape[axis], out.strides[axis]) if out.shape else (1, 0)
    copy = named(joined(ordered(axes_of(out.shape, out.strides, x.strides))))
    before = moved(dtype, call.place(0, copy), call.place(1, copy))
    first = [] if x == out else loops(copy, [before])
    if 0 in index.shape:
        return Function(*first)
    still = (0,) * len(index.shape)
    stay = tuple(0 if a == axis else s for a, s in enumerate(out.strides))
    variables = named(axes_of(index.shape, stay, still, index.strides, src.strides))
    at = Var("at", Axis(size, (step, 0, 0, 0)))
    to, place = call.place(0, [*variables, at]), call.place(3, variables)
    put = elements.added(dtype, to, place, call.c) if adds else moved(dtype, to, place)
    body = loops(variables, *position(call, 2, variables, size), [put])
    return Function(*checked(call, 2, size), *first, *body, refuses=True)
