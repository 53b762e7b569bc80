"""One element of a kernel as statements: the reads of its operands, its value, the write.

`places` are texts for the element in each operand's memory, out first: `t3[i * 128 + j]` in a loop
of C, `p1[b1 + i]` in a work-item. The statements are the same for both.
"""

from __future__ import annotations

from collections.abc import Sequence

from tutor.backends.codegen.dialect import HALVES, Dialect
from tutor.backends.codegen.expressions import (
    MOVES,
    cast,
    expression,
    loaded,
    operands,
    rounded,
    stored,
    uses,
)
from tutor.backends.codegen.loops import Lines
from tutor.backends.codegen.updates import UPDATES
from tutor.dtype import DType, bool_, float64


def elementwise(
    kernel: str, dtype: DType, dtypes: Sequence[DType], places: Sequence[str], c: Dialect
) -> Lines:
    """out = f(x, y, ...). `dtypes`: those of out and the operands."""
    lines: Lines = []

    def once(name: str, text: str, of: DType, count: int) -> str:
        """The operand as it is used; an operand used several times gets a name first."""
        if count < 2:
            return text
        lines.append(f"const {c.computed(of)} {name} = {text};")
        return name

    if kernel == "cast":
        to, of = dtypes
        x = once("x", loaded(of, places[1]), of, 2 * (to.is_integer and of.is_float))
        return [*lines, f"{places[0]} = {stored(to, cast(to, of, x, c))};"]
    moved = kernel in MOVES and dtype in HALVES
    args = []
    for letter, of, place in zip(operands(kernel), dtypes[1:], places[1:], strict=True):
        text = place if moved and of in HALVES else loaded(of, place)
        args.append(once(letter, text, of, uses(kernel, dtype, letter)))
    value = expression(kernel, dtype, args, c)
    return [*lines, f"{places[0]} = {value if moved else stored(dtypes[0], value)};"]


def moved(dtype: DType, to: str, place: str) -> str:
    """One number, moved without being changed. Bools become 0 or 1, whatever their byte was."""
    return f"{to} = {f'{place} != 0' if dtype is bool_ else place};"


def arange(dtype: DType, number: str, start: str, step: str, parts: str, c: Dialect) -> str:
    """Element `number`: start + step * (number / parts) in double; of integers start + step *
    number in the unsigned type, which wraps. In memory format."""
    if dtype.is_integer:
        return f"({c.stored[dtype]})({start} + {step} * ({c.unsigned(dtype)}){number})"
    value = f"{start} + {step} * ((double){number} / {parts})"
    if dtype in HALVES:
        value = f"round_to_odd({value})"
    return stored(dtype, value)


# ---- optimizer steps -----------------------------------------------------------------------------


def settings(kernel: str, cells: Sequence[str]) -> list[tuple[str, str]]:
    """Name and value of each number that all elements share, from the places of the cells."""
    pairs = [cell.format(*cells).split(" = ") for cell in UPDATES[kernel][1]]
    return [(name, value) for name, value in pairs]


def update(kernel: str, dtype: DType, places: Sequence[str], c: Dialect) -> Lines:
    """Read the parameter, its gradient and its state, and overwrite all but the gradient. The names
    of `settings` are constants."""
    letters, _, formulas = UPDATES[kernel]
    kind = c.computed(dtype)
    pairs = list(zip(letters, places, strict=True))
    lines = [
        f"{'const ' * (letter == 'g')}{kind} {letter} = {loaded(dtype, place)};"
        for letter, place in pairs
    ]
    for formula in formulas:
        name, value = formula.removeprefix("const ").split(" = ")
        value = value.replace("sqrt(", c.called("sqrt", dtype is float64) + "(")
        if formula.startswith("const "):
            lines.append(f"const {kind} {name} = {value};")
        else:
            lines.append(f"{name} = {rounded(dtype, value)};")
    return [*lines, *(f"{at} = {stored(dtype, x)};" for x, at in pairs if x != "g")]
