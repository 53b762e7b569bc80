"""einsum: sums of products, written by naming the axes (Einstein's summation convention)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tutor._storage import layout
from tutor._storage.array_like import is_number
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Sizes, TensorLike
from tutor.errors import ShapeError
from tutor.methods.tensor import Tensor

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@spelled
def einsum(equation: str, *operands: TensorLike) -> Tensor:
    """`einsum("ij,jk->ik", x, y)`: one letter for each axis, operands separated by commas.

    Letters missing from the result are summed over; a letter twice in one operand takes its
    diagonal; "..." means any leading axes, which broadcast. Without "->" the result has the letters
    that occur once, in alphabetical order. Operands are contracted from left to right, two at a
    time, by one matrix product. Raises ShapeError if the letters do not match the shapes.
    """
    if not isinstance(equation, str):
        raise ShapeError("einsum", f"no equation: {equation!r:.40}", 'einsum("ij,jk->ik", x, y)')
    xs = [x if isinstance(x, Tensor) else Tensor(x) for x in operands]
    inputs, output = parsed(equation, [x.ndim for x in xs])
    terms = [diagonals(x, names) for x, names in zip(xs, inputs, strict=True)]
    sizes = sizes_of(equation, terms)
    x, names = terms[0]
    for i, (y, others) in enumerate(terms[1:], 1):
        needed = set(output).union(*(later for _, later in terms[i + 1 :]))
        x, names = contracted(x, names, y, others, needed, sizes)
    gone = tuple(axis for axis, name in enumerate(names) if name not in output)
    x = x.sum(gone) if gone else x
    left = [name for name in names if name in output]
    return x.permute(*[left.index(name) for name in output]) if output else x


@spelled
def tensordot(x: Tensor, y: Tensor, axes: Sizes | Sequence[Sizes] = 2) -> Tensor:
    """The sum of products over the last `axes` axes of x and the first of y, or over a pair of axes
    or of tuples of axes: (those of x, those of y). Raises ShapeError."""
    x, y = checks.tensor("tensordot(x)", x), checks.tensor("tensordot(y)", y)
    sides: Any = axes
    if is_number(axes):
        n = layout.whole_number(axes, "a number of axes")
        if not 0 <= n <= min(x.ndim, y.ndim):
            raise ShapeError(f"tensordot({axes=})", f"{x.ndim} and {y.ndim} axes", "give fewer")
        pair = [tuple(range(x.ndim)[-n:] if n else ()), tuple(range(n))]
    elif not isinstance(axes, (tuple, list)):
        raise ShapeError(f"tensordot(axes={axes!r:.40})", "no axes", "give a number, or a pair")
    else:
        pair = [layout.whole_numbers(side, "the axes of tensordot") for side in sides]
    if len(pair) != 2 or len(pair[0]) != len(pair[1]):
        raise ShapeError(f"tensordot({axes=})", "not as many axes on either side", "name pairs")
    names1, names2 = list(LETTERS[: x.ndim]), list(LETTERS[x.ndim : x.ndim + y.ndim])
    summed = [names1[layout.axis_of(a, x.ndim)] for a in pair[0]]
    for axis, name in zip(pair[1], summed, strict=True):
        names2[layout.axis_of(axis, y.ndim)] = name
    kept = [name for name in names1 + names2 if name not in summed]
    return einsum(f"{''.join(names1)},{''.join(names2)}->{''.join(kept)}", x, y)


def parsed(equation: str, ndims: list[int]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with letters for the axes of "..."."""

    def refuse(found: str) -> ShapeError:
        return ShapeError(
            f"einsum({equation!r}, ...)", found, "write it like 'ij,jk->ik' or '...ij,jk->...ik'"
        )

    text = equation.replace(" ", "")
    left, arrow, output = text.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(ndims):
        raise refuse(f"it names {len(inputs)} operands, {len(ndims)} are given")
    if set(text.replace("->", "").replace(",", "").replace("...", "")) - set(LETTERS):
        raise refuse("an axis is named by a letter")
    free = [letter for letter in LETTERS if letter not in text]
    widest = max((n - len(names) + 3 for names, n in zip(inputs, ndims, strict=True)
                  if "..." in names), default=0)  # fmt: skip
    filled = []
    for names, ndim in zip(inputs, ndims, strict=True):
        extra = ndim - len(names.replace("...", ""))
        if extra < 0 or (extra and "..." not in names) or names.count(".") not in (0, 3):
            raise refuse(f"{names!r} does not name the {ndim} axes of its operand")
        filled.append(names.replace("...", "".join(free[widest - extra : widest])))
    several = "".join(filled)
    if not arrow:
        once = sorted(n for n in set(several) if several.count(n) == 1 and n not in free[:widest])
        output = ("..." if widest else "") + "".join(once)
    output = output.replace("...", "".join(free[:widest]))
    if set(output) - set(several) or len(set(output)) != len(output):
        raise refuse(f"the result {output!r} must name axes of the operands, each once")
    return filled, output


def diagonals(x: Tensor, names: str) -> tuple[Tensor, str]:
    """Each letter once: a repeated letter becomes the diagonal of its two axes."""
    for name in dict.fromkeys(names):
        while names.count(name) > 1:
            a = names.index(name)
            b = names.index(name, a + 1)
            if x.shape[a] != x.shape[b]:
                raise ShapeError(
                    f"the diagonal {name!r} of an einsum",
                    f"its axes have sizes {x.shape[a]} and {x.shape[b]}",
                    "a letter must mean one size",
                )
            x = x.diagonal(0, a, b)
            names = names[:a] + names[a + 1 : b] + names[b + 1 :] + name
    return x, names


def sizes_of(equation: str, terms: list[tuple[Tensor, str]]) -> dict[str, int]:
    """The size that each letter means; an axis of size 1 broadcasts to it."""
    sizes: dict[str, int] = {}
    for x, names in terms:
        for name, size in zip(names, x.shape, strict=True):
            if size != sizes.setdefault(name, size) and 1 not in (size, sizes[name]):
                raise ShapeError(
                    f"einsum({equation!r}, ...)",
                    f"{name!r} is {sizes[name]} in one operand and {size} in another",
                    "a letter must mean one size",
                )
            sizes[name] = size if sizes[name] == 1 else sizes[name]
    return sizes


def contracted(
    x: Tensor, a: str, y: Tensor, b: str, needed: set[str], sizes: dict[str, int]
) -> tuple[Tensor, str]:
    """Both as one Tensor, by a matrix product: letters not needed any more are summed over."""
    x, a = summed(x, a, needed | set(b))
    y, b = summed(y, b, needed | set(a))
    batch = [n for n in a if n in b and n in needed]
    inner = [n for n in a if n in b and n not in needed]
    rows, columns = [n for n in a if n not in b], [n for n in b if n not in a]

    def matrix(t: Tensor, names: str, first: list[str], second: list[str]) -> Tensor:
        t = t.expand([sizes[n] for n in names]).permute(
            *[names.index(n) for n in (*batch, *first, *second)]
        ) if names else t  # fmt: skip
        return t.reshape(
            (*(sizes[n] for n in batch), math.prod(sizes[n] for n in first),
             math.prod(sizes[n] for n in second))
        )  # fmt: skip

    z = matrix(x, a, rows, inner) @ matrix(y, b, inner, columns)
    names = "".join([*batch, *rows, *columns])
    return z.reshape(tuple(sizes[n] for n in names)), names


def summed(x: Tensor, names: str, needed: set[str]) -> tuple[Tensor, str]:
    """x summed over the letters that are not in `needed`."""
    gone = tuple(axis for axis, name in enumerate(names) if name not in needed)
    return (x.sum(gone) if gone else x), "".join(n for n in names if n in needed)
