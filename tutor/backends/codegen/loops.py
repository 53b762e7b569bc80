"""Loops: which memory is traversed in which order, as text.

An operand of a step is a strided walk: element [i, j] is at offset + i*strides[0] + j*strides[1].
So a view (a transposed, sliced, reversed or expanded operand) is just another index. Axes that all
operands traverse as one are merged, so contiguous memory becomes a single loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

Lines = list[str]  # C statements
LETTERS = "ijklmn"


class Axis(NamedTuple):
    """One loop: `size` iterations, each of which moves operand k by strides[k]."""

    size: int
    strides: tuple[int, ...]


class Var(NamedTuple):
    """The variable of a loop, and the loop."""

    name: str
    axis: Axis


def axes_of(shape: Sequence[int], *strides: Sequence[int]) -> list[Axis]:
    """A loop for each axis that is longer than 1."""
    together = zip(shape, zip(*strides, strict=True), strict=True) if shape else ()
    return [Axis(size, tuple(moves)) for size, moves in together if size != 1]


def joined(axes: Iterable[Axis]) -> list[Axis]:
    """The same walk with as few loops as possible: two neighbours merge if the outer's stride is
    the inner's whole length, for every operand."""
    found: list[Axis] = []
    for size, strides in axes:
        if found and all(a == size * b for a, b in zip(found[-1].strides, strides, strict=True)):
            found[-1] = Axis(found[-1].size * size, strides)
        else:
            found.append(Axis(size, strides))
    return found


def ordered(axes: Iterable[Axis]) -> list[Axis]:
    """The axes sorted, the smallest strides last, for loops in any order: by the strides of the
    first operand, then by those of the others."""
    return sorted(axes, key=lambda axis: [-abs(s) for s in axis.strides])


def named(axes: Iterable[Axis], letters: str = LETTERS) -> list[Var]:
    """i, j, k, ...; at6, at7 when the letters run out."""
    return [Var(letters[n] if n < len(letters) else f"at{n}", axis) for n, axis in enumerate(axes)]


def index(operand: int, variables: Iterable[Var], offset: int = 0) -> str:
    """The index expression of an element of that operand: `i * 128 + j + 3`."""
    return summed([(v.name, v.axis.strides[operand]) for v in variables], offset)


def summed(terms: Iterable[tuple[str, int]], offset: int = 0) -> str:
    """`i * 128 - j + 3` from (i, 128), (j, -1) and 3; zero terms are omitted."""
    text = ""
    for name, stride in terms:
        if stride:
            sign = " - " if stride < 0 else " + "
            factor = "" if abs(stride) == 1 else f" * {abs(stride)}"
            text += f"{sign}{name}{factor}"
    if offset:
        text += f" {'-' if offset < 0 else '+'} {abs(offset)}"
    return text.removeprefix(" + ").lstrip().replace("- ", "-", text.startswith(" - ")) or "0"


def flat(name: str, axes: Sequence[Axis], operand: int) -> str:
    """The index of term number `name` in a walk over several axes, counted row-major."""
    own = joined(Axis(axis.size, (axis.strides[operand],)) for axis in axes)
    terms: list[tuple[str, int]] = []
    inner = 1
    for n, (size, (stride,)) in reversed(list(enumerate(own))):
        part = name if inner == 1 else f"{name} / {inner}"
        whole = part if n == 0 else f"{part} % {size}"
        terms.insert(0, (name if whole == name else f"({whole})", stride))
        inner *= size
    return summed(terms)


# ---- statements ----------------------------------------------------------------------------------


def indented(lines: Iterable[str]) -> Lines:
    return ["    " + line if line else line for line in lines]


def block(head: str, *body: Lines, braces: bool = False) -> Lines:
    """`head` over its statements: in braces if there are several, or if `braces`."""
    inside = indented(line for statement in body for line in statement)
    if len(body) == 1 and not braces:
        return [head, *inside]
    return [head + " {", *inside, "}"]


def loop(var: Var, *body: Lines, first: str = "0", step: int = 1, index: str = "int64_t") -> Lines:
    by = f"{var.name}++" if step == 1 else f"{var.name} += {step}"
    return block(f"for ({index} {var.name} = {first}; {var.name} < {var.axis.size}; {by})", *body)


def loops(variables: Sequence[Var], *body: Lines) -> list[Lines]:
    """Nested loops, the innermost over the statements; without loops, only the statements."""
    found = list(body)
    for var in reversed(variables):
        found = [loop(var, *found)]
    return found
