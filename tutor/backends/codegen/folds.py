"""Reductions: the number to begin with, and what two terms become. The loops are each dialect's."""

from __future__ import annotations

from tutor.backends.codegen.dialect import Dialect, limits
from tutor.backends.codegen.expressions import expression
from tutor.dtype import DType, float32, float64, uint64

CHOOSE = {"max": "maximum", "min": "minimum"}  # a reduction that is of two terms


def accumulator(kernel: str, dtype: DType) -> DType:
    """The dtype in which terms are folded: sums of integers wrap as unsigned ones."""
    if kernel in CHOOSE:
        return dtype
    return uint64 if not dtype.is_float else float64 if dtype is float64 else float32


def neutral(kernel: str, dtype: DType) -> str:
    """The result for no terms, which changes none."""
    if kernel not in CHOOSE:
        return "1" if kernel == "prod" else "0"
    ends = ("-INFINITY", "INFINITY") if dtype.is_float else ("0", "1")
    return (limits(dtype) if dtype.is_integer else ends)[kernel == "min"]


def combined(kernel: str, dtype: DType, a: str, b: str, c: Dialect) -> str:
    """Two terms of dtype `dtype` as one."""
    if kernel not in CHOOSE:
        return f"{a} {'*' if kernel == 'prod' else '+'} {b}"
    if dtype.is_float:  # a function: the operands may be long
        return f"{CHOOSE[kernel]}_{c.computed(dtype)}({a}, {b})"
    return expression(CHOOSE[kernel], dtype, [a, b], c)
