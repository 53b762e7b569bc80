"""Reductions: each element of out is computed from a group of x's elements."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from tutor.backends.python_ref.elementwise import maximum, minimum
from tutor.backends.python_ref.walk import Kernel, Operand, groups, write


def along_axis(f: Callable[[list[Any]], Any]) -> Kernel:
    """The kernel out[i] = f([x[i, 0], x[i, 1], ...]), the second index running over `axis`."""

    def kernel(out: Operand, x: Operand, *, axis: int | tuple[int, ...]) -> None:
        write(out, [f(group) for group in groups(x, axis)])

    return kernel


def total(terms: list[Any]) -> Any:
    """The sum of all terms; for floats the exact sum, rounded once (`math.fsum`)"""
    if not terms or isinstance(terms[0], int):
        return sum(terms)
    try:
        return math.fsum(terms)
    except ValueError:  # inf - inf
        return math.nan
    except OverflowError:  # in a partial sum: scale the terms by a power of two, which is exact
        return math.fsum(term * 2.0**-64 for term in terms) * 2.0**64


def mean(values: list[float]) -> float:
    """sum / count; nan where empty"""
    return total(values) / len(values) if values else math.nan


def argmax(values: list[Any]) -> int:
    """The position of the first largest element; the first nan wins"""
    for position, value in enumerate(values):
        if value != value:
            return position
    return values.index(max(values))


def argmin(values: list[Any]) -> int:
    """The position of the first smallest element; the first nan wins"""
    return argmax([-value for value in values])


KERNELS: dict[str, Kernel] = {
    "sum": along_axis(total),
    "prod": along_axis(math.prod),
    "mean": along_axis(mean),
    "max": along_axis(functools.partial(functools.reduce, maximum)),
    "min": along_axis(functools.partial(functools.reduce, minimum)),
    "argmax": along_axis(argmax),
    "argmin": along_axis(argmin),
}
