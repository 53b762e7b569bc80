"""Steps with one expression per element: elementwise, fill, arange, updates, fused."""

from __future__ import annotations

from tutor.backends.codegen.dialect import HALVES
from tutor.backends.codegen.expressions import (
    MOVES,
    cast,
    expression,
    loaded,
    operands,
    refused,
    rounded,
    stored,
    uses,
)
from tutor.backends.codegen.loops import Lines, joined, loops, named, ordered, summed
from tutor.backends.codegen.updates import UPDATES
from tutor.dtype import DType, float64
from tutor.programs.source.call import Call, Function


def elementwise(call: Call) -> Function:
    """out[i] = f(x[i], y[i], ...): one loop, or as many as the operands' layouts require."""
    step, c = call.step, call.c
    variables = named(call.any_order())
    places = [call.place(k, variables) for k in range(len(call.walks))]
    dtypes = [call.dtype(k) for k in range(len(call.walks))]
    body: list[Lines] = []
    if step.kernel == "cast":
        of, to = dtypes[1], dtypes[0]
        several = to.is_integer and of.is_float
        x = once(body, "x", loaded(of, places[1]), of, call, several)
        value = stored(to, cast(to, of, x, c))
    else:
        moved = step.kernel in MOVES and step.dtype in HALVES
        args = []
        for k, letter in enumerate(operands(step.kernel), 1):
            text = places[k] if moved and dtypes[k] in HALVES else loaded(dtypes[k], places[k])
            several = uses(step.kernel, step.dtype, letter) > 1
            args.append(once(body, letter, text, dtypes[k], call, several))
        value = expression(step.kernel, step.dtype, args, c)
        if not moved:
            value = stored(dtypes[0], value)
    body.append([f"{places[0]} = {value};"])
    check = refusal(call)
    return Function(*check, *loops(variables, *body), refuses=bool(check))


def once(body: list[Lines], name: str, text: str, dtype: DType, call: Call, several: bool) -> str:
    """The operand as it is used; an operand used several times gets a name first."""
    if not several:
        return text
    body.append([f"const {call.c.computed(dtype)} {name} = {text};"])
    return name


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
        value = f"({c.computed(dtype)})({first} + {by} * ({unsigned}){number})"
    else:
        first, by, count = (c.number(float(n), float64) for n in (start, step, parts))  # type: ignore[arg-type]
        value = f"{first} + {by} * ((double){number} / {count})"
        value = f"round_to_odd({value})" if dtype in HALVES else value
    return Function(*loops(variables, [f"{call.place(0, variables)} = {stored(dtype, value)};"]))


# ---- optimizer steps -----------------------------------------------------------------------------


def update(call: Call) -> Function:
    """An optimizer's step: read the parameter and the state, and overwrite them."""
    c, dtype = call.c, call.step.dtype
    letters, cells, formulas = UPDATES[call.step.kernel]
    kind, count = c.computed(dtype), len(letters)
    head: list[Lines] = []
    values = [call.place(k) for k in range(count, len(call.walks))]
    for cell in cells:
        name, value = cell.format(*values).split(" = ")
        head.append(
            [f"const {kind} {name} = {value if dtype is float64 else f'({kind})({value})'};"]
        )
    variables = named(call.any_order(*range(count)))
    places = [call.place(k, variables) for k in range(count)]
    body: list[Lines] = [
        [f"{'const ' * (letter == 'g')}{kind} {letter} = {loaded(dtype, place)};"]
        for letter, place in zip(letters, places, strict=True)
    ]
    for formula in formulas:
        name, value = formula.removeprefix("const ").split(" = ")
        if dtype is not float64:
            value = value.replace("sqrt(", c.called("sqrt", False) + "(")
        if formula.startswith("const "):
            body.append([f"const {kind} {name} = {value};"])
        else:
            body.append([f"{name} = {rounded(dtype, value)};"])
    body += [
        [f"{place} = {stored(dtype, letter)};"]
        for letter, place in zip(letters, places, strict=True)
        if letter != "g"
    ]
    return Function(*head, *loops(variables, *body))
