"""Elementwise kernels: a formula for one element, lifted to all of them.

Python follows IEEE 754 but for one habit: where the standard gives an infinity or nan, division and
the functions of `math` raise. The formulas here give what the standard says.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from itertools import starmap
from typing import Any

from tutor.backends.python_ref.walk import Kernel, Number, Operand, read, write
from tutor.dtype import float32
from tutor.errors import DomainError


def lift(f: Callable[..., Number]) -> Kernel:
    """The kernel out[i] = f(x[i], y[i], ...)."""

    def kernel(out: Operand, *ins: Operand) -> None:
        write(out, list(starmap(f, zip(*map(read, ins), strict=True))))

    return kernel


# ---- one operand ---------------------------------------------------------------------------------


def relu(x: Any) -> Any:
    """x if x > 0 else 0; nan stays nan"""
    return 0 if x <= 0 else x


def sqrt(x: float) -> float:
    """sqrt(x); nan for x < 0"""
    return math.nan if x < 0 else math.sqrt(x)


def exp(x: float) -> float:
    """e**x"""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def log(x: float) -> float:
    """ln(x); -inf at 0, nan for x < 0"""
    if x == 0:
        return -math.inf
    return math.nan if x < 0 else math.log(x)


def sin(x: float) -> float:
    """sin(x); nan at +-inf"""
    return math.nan if math.isinf(x) else math.sin(x)


def cos(x: float) -> float:
    """cos(x); nan at +-inf"""
    return math.nan if math.isinf(x) else math.cos(x)


def sigmoid(x: float) -> float:
    """1 / (1 + e**-x), which for x < 0 is the same as e**x / (1 + e**x), but exact down to 0"""
    return exp(x) / (1 + exp(x)) if x < 0 else 1 / (1 + exp(-x))


def identity(x: Any) -> Any:
    """x"""
    return x


# ---- two or three operands -----------------------------------------------------------------------


def div(x: float, y: float) -> float:
    """x / y; x/0 is +-inf, 0/0 nan"""
    if y != 0:
        return x / y
    if x == 0 or math.isnan(x):
        return math.nan
    return math.copysign(math.inf, x) * math.copysign(1, y)


def power(x: Any, y: Any) -> Any:
    """x**y; for integers modulo 2**64, of which a narrower dtype keeps the low bits"""
    if isinstance(x, int):
        if y < 0:
            raise DomainError(
                f"kernel pow: {x}**{y}",
                "integers to a negative power are no integers",
                "cast to a float dtype first",
            )
        return pow(x, y, 2**64)
    try:
        return math.pow(x, y)
    except (OverflowError, ValueError):  # too large, 0 to a negative power, or not real
        if x < 0 and not y.is_integer():
            return math.nan
        odd = abs(math.fmod(y, 2)) == 1
        return math.copysign(math.inf, x) if odd else math.inf


def maximum(x: Any, y: Any) -> Any:
    """the larger; nan if either is; +0 over -0"""
    if x != x or y != y:
        return math.nan
    if x == y == 0:
        return x + y  # -0 only where both are
    return x if x > y else y


def minimum(x: Any, y: Any) -> Any:
    """the smaller; nan if either is; -0 under +0"""
    return -maximum(-x, -y)


def where(condition: bool, x: Any, y: Any) -> Any:
    """x if cond else y"""
    return x if condition else y


# ---- kernels that look at out's dtype ------------------------------------------------------------


def cast(out: Operand, x: Operand) -> None:
    """z = x in out's dtype"""
    values, to = read(x), out.buf.dtype
    if to.is_integer and x.buf.dtype.is_float:
        values = [cut(value, int(to.min), int(to.max)) for value in values]
    elif to is float32 and x.buf.dtype.is_integer:
        values = [sticky(value) for value in values]
    write(out, values)


def cut(x: float, low: int, high: int) -> int:
    """x without its fraction; 0 for nan, the nearest end for what lies beyond"""
    return 0 if math.isnan(x) else int(min(max(x, low), high))


def sticky(x: int) -> int:
    """x with 53 significant bits, the last one set if any lower bit was.

    float64 holds that exactly, and float32 rounds it as it would round x: rounding x to float64
    first and to float32 then could round a number just above a tie down (Boldo and Melquiond 2008,
    "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd").
    """
    lost = max(abs(x).bit_length() - 53, 0)
    kept = abs(x) >> lost | (abs(x) % 2**lost != 0)
    return (kept << lost) * (-1 if x < 0 else 1)


def fill(out: Operand, *, value: Number) -> None:
    """z = value"""
    value = int(value) if out.buf.dtype.is_integer else value
    write(out, [value] * math.prod(out.shape))


KERNELS: dict[str, Kernel] = {
    "neg": lift(operator.neg),
    "abs": lift(abs),
    "relu": lift(relu),
    "sqrt": lift(sqrt),
    "exp": lift(exp),
    "log": lift(log),
    "sin": lift(sin),
    "cos": lift(cos),
    "tanh": lift(math.tanh),
    "sigmoid": lift(sigmoid),
    "copy": lift(identity),
    "cast": cast,
    "fill": fill,
    "add": lift(operator.add),
    "sub": lift(operator.sub),
    "mul": lift(operator.mul),
    "div": lift(div),
    "pow": lift(power),
    "maximum": lift(maximum),
    "minimum": lift(minimum),
    "eq": lift(operator.eq),
    "ne": lift(operator.ne),
    "lt": lift(operator.lt),
    "le": lift(operator.le),
    "gt": lift(operator.gt),
    "ge": lift(operator.ge),
    "where": lift(where),
}
