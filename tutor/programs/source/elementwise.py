"""Steps with one expression per element: elementwise, fill, arange, updates, fused."""

from __future__ import annotations

from tutor.backends.codegen import elements
from tutor.backends.codegen.expressions import refused
from tutor.backends.codegen.loops import Lines, joined, loops, named, ordered, summed
from tutor.backends.codegen.updates import UPDATES
from tutor.dtype import float64
from tutor.programs.source.call import Call, Function


def elementwise(call: Call) -> Function:
    """out[i] = f(x[i], y[i], ...): one loop, or as many as the operands' layouts require."""
    variables = named(call.any_order())
    places = [call.place(k, variables) for k in range(len(call.walks))]
    dtypes = [call.dtype(k) for k in range(len(call.walks))]
    body = elements.elementwise(call.step.kernel, call.step.dtype, dtypes, places, call.c)
    check = refusal(call)
    return Function(*check, *loops(variables, *lines_of(body)), refuses=bool(check))


def lines_of(body: Lines) -> list[Lines]:
    """Each line as a statement."""
    return [[line] for line in body]


def refusal(call: Call) -> list[Lines]:
    """Check for a second operand for which integers have no result, before anything is written, so
    that an error leaves everything unchanged."""
    condition = refused(call.step.kernel, call.step.dtype)
    if condition is None or 0 in call.walks[0].shape:
        return []
    moving = [axis for axis in call.axes(2) if axis.strides[2]]
    variables = named(joined(ordered(moving)))
    return loops(variables, [f"if ({call.place(2, variables)} {condition}) return 1;"])


def fill(call: Call) -> Function:
    """out[i] = value"""
    variables = named(call.any_order())
    value = call.step.params["value"]
    assert isinstance(value, bool | int | float)
    text = call.c.memory(value, call.dtype(0))
    return Function(*loops(variables, [f"{call.place(0, variables)} = {text};"]))


def arange(call: Call) -> Function:
    """out[i] = start + step * (i / parts) in double; for integers start + step * i, which wraps"""
    c, dtype, params = call.c, call.dtype(0), call.step.params
    start, step, parts = (params[name] for name in ("start", "step", "parts"))
    assert all(isinstance(n, bool | int | float) for n in (start, step, parts))
    axes = joined(call.axes())
    variables = named(axes)
    inner = [1] * len(axes)
    for n in range(len(axes) - 2, -1, -1):
        inner[n] = inner[n + 1] * axes[n + 1].size
    number = summed(list(zip([v.name for v in variables], inner, strict=True)))
    number = f"({number})" if len(axes) > 1 else number
    if dtype.is_integer:
        unsigned = c.unsigned(dtype)
        first, by = (f"({unsigned}){c.whole(int(n), dtype)}" for n in (start, step))  # type: ignore[call-overload]
        count = ""
    else:
        first, by, count = (c.number(float(n), float64) for n in (start, step, parts))  # type: ignore[arg-type]
    value = elements.arange(dtype, number, first, by, count, c)
    return Function(*loops(variables, [f"{call.place(0, variables)} = {value};"]))


def update(call: Call) -> Function:
    """An optimizer's step: read the parameter and the state, and overwrite them."""
    c, dtype, kernel = call.c, call.step.dtype, call.step.kernel
    kind, count = c.computed(dtype), len(UPDATES[kernel][0])
    cells = [call.place(k) for k in range(count, len(call.walks))]
    head = [
        [f"const {kind} {name} = {value if dtype is float64 else f'({kind})({value})'};"]
        for name, value in elements.settings(kernel, cells)
    ]
    variables = named(call.any_order(*range(count)))
    places = [call.place(k, variables) for k in range(count)]
    body = elements.update(kernel, dtype, places, c)
    return Function(*head, *loops(variables, *lines_of(body)))
