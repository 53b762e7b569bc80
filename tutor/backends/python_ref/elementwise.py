"""Elementwise kernels: a formula for one element, lifted to all of them.

Python follows IEEE 754 except in one habit: where the standard gives an infinity or nan, division
and the functions of `math` raise. Here they follow the standard: see `ieee` and `div`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from itertools import starmap
from typing import Any, NoReturn

from tutor._storage.bits import unpack
from tutor.backends.python_ref.activations import (
    gelu,
    gelu_grad,
    gelu_tanh,
    gelu_tanh_grad,
    mish,
    mish_grad,
    sigmoid,
    silu,
    silu_grad,
    softplus,
)
from tutor.backends.python_ref.walk import Kernel, Number, Operand, packed, read, write
from tutor.backends.signatures import TABLE_OF_KERNELS
from tutor.dtype import bfloat16, float32, float64
from tutor.errors import DomainError


def lift(f: Callable[..., Number]) -> Kernel:
    """The kernel out[i] = f(x[i], y[i], ...)."""

    def kernel(out: Operand, *ins: Operand) -> None:
        write(out, list(starmap(f, zip(*map(read, ins), strict=True))))

    return kernel


def ieee(f: Callable[..., float], *poles: tuple[float, float]) -> Callable[..., float]:
    """f of `math`, with infinities and nan instead of exceptions: overflow gives infinity with the
    sign of x; a point outside f's domain gives nan, except at a pole (x, f(x)), which gives f(x)
    """

    def function(x: float, *y: float) -> float:
        try:
            return f(x, *y)
        except OverflowError:
            return math.copysign(math.inf, x)
        except ValueError:
            return dict(poles).get(x, math.nan)

    return function


def refuse(call: str, found: str, do: str) -> NoReturn:
    """Raise the DomainError for integers that have no result."""
    raise DomainError(f"kernel {call}", found, do)


# ---- one operand ---------------------------------------------------------------------------------

sqrt, exp, log = ieee(math.sqrt), ieee(math.exp), ieee(math.log, (0, -math.inf))


def relu(x: Any) -> Any:
    """x if x > 0 else 0; nan stays nan"""
    return 0 if x <= 0 else x


def sign(x: Any) -> Any:
    """-1, 0 or 1 as x < 0, x = 0, x > 0; nan is nan"""
    return x if x != x else (x > 0) - (x < 0)


def cosh(x: float) -> float:
    """(e**x + e**-x) / 2, the same for -x"""
    return ieee(math.cosh)(abs(x))


def acosh(x: float) -> float:
    """ln(x + sqrt(x**2 - 1)), nan for x < 1, where some C libraries (musl's) give numbers"""
    return math.nan if x < 1 else ieee(math.acosh)(x)


def whole(f: Callable[[float], int]) -> Callable[[float], float]:
    """f(x), an integer, as a float with x's sign: ceil(-0.5) is -0.0; inf and nan stay"""
    return lambda x: math.copysign(f(x), x) if math.isfinite(x) else x


def bitwise_not(x: Any) -> Any:
    """~x, all bits flipped; on bools, not"""
    return not x if isinstance(x, bool) else ~x


# ---- two or three operands -----------------------------------------------------------------------


def div(x: float, y: float) -> float:
    """x / y; x/0 is +-inf, 0/0 nan"""
    if y != 0:
        return x / y
    if x == 0 or math.isnan(x):
        return math.nan
    return math.copysign(math.inf, x) * math.copysign(1, y)


def power(x: Any, y: Any) -> Any:
    """x**y; integers modulo 2**64, of which a narrower dtype keeps the low bits"""
    if isinstance(x, int):
        if y < 0:
            found = "an integer to a negative power is no integer"
            refuse(f"pow: {x}**{y}", found, "cast to a float dtype first")
        return pow(x, y, 2**64)
    try:
        return math.pow(x, y)
    except (OverflowError, ValueError):  # too large, 0 to a negative power, or not real
        if x < 0 and not y.is_integer():
            return math.nan
        odd = abs(math.fmod(y, 2)) == 1
        return math.copysign(math.inf, x) if odd else math.inf


def floor_divide(x: Any, y: Any) -> Any:
    """floor(x / y) like Python's //; floats by 0 give x / y"""
    if y == 0:
        return div(x, y) if isinstance(y, float) else by_zero(f"floor_divide: {x} // 0")
    return x // y


def remainder(x: Any, y: Any) -> Any:
    """x - y * floor(x / y) like Python's %, with the sign of y; floats by 0 give nan"""
    if y == 0:
        return math.nan if isinstance(y, float) else by_zero(f"remainder: {x} % 0")
    return x % y


def fmod(x: Any, y: Any) -> Any:
    """x - y * trunc(x / y) like C's %, with the sign of x; floats by 0 give nan"""
    if isinstance(y, float):
        return ieee(math.fmod)(x, y)
    size = abs(x) % abs(y) if y else by_zero(f"fmod: {x} by 0")
    return -size if x < 0 else size


def by_zero(call: str) -> NoReturn:
    """Raise the DomainError for an integer that is divided by 0."""
    do = "keep zeros out of the divisor, or cast to a float dtype first"
    refuse(call, "an integer divided by 0 is no integer", do)


def logaddexp(x: float, y: float) -> float:
    """ln(e**x + e**y) = max + ln(1 + e**-|x - y|), where equal infinities are max"""
    if x == y:
        return x + math.log(2)
    return max(x, y) + math.log1p(math.exp(-abs(x - y)))


def shifted(f: Callable[[int, int], int], name: str) -> Callable[[int, int], int]:
    """x << y or x >> y; shifts by more than 64 bits change nothing further. DomainError if y < 0"""

    def shift(x: int, y: int) -> int:
        if y < 0:
            do = "keep the second operand at 0 or more; shift the other way instead"
            refuse(f"bitwise_{name}: {x} by {y}", "a shift by a negative number of bits", do)
        return f(x, min(y, 64))

    return shift


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


def mul_add(out: Operand, x: Operand, y: Operand, w: Operand) -> None:
    """z = x * y + w, with the product rounded first; 16-bit floats are computed in float32"""
    dtype = float64 if out.buf.dtype is float64 else float32
    products = unpack(packed(list(map(operator.mul, read(x), read(y))), dtype), dtype)
    sums = list(map(operator.add, products, read(w)))
    write(out, unpack(packed(sums, dtype), dtype))


def where(condition: bool, x: Any, y: Any) -> Any:
    """x if cond else y"""
    return x if condition else y


# ---- kernels that look at out's dtype ------------------------------------------------------------


def cast(out: Operand, x: Operand) -> None:
    """z = x in out's dtype"""
    values, to = read(x), out.buf.dtype
    if to.is_integer and x.buf.dtype.is_float:
        values = [cut(value, int(to.min), int(to.max)) for value in values]
    elif to in (bfloat16, float32) and x.buf.dtype.is_integer:
        values = [sticky(value) for value in values]
    write(out, values)


def cut(x: float, low: int, high: int) -> int:
    """x without its fraction, clamped to low ... high; 0 for nan"""
    return 0 if math.isnan(x) else int(min(max(x, low), high))


def sticky(x: int) -> int:
    """x with 53 significant bits, the last one set if any lower bit was.

    float64 holds that exactly, and float32 rounds it as it would round x. Rounding x to float64 and
    then to float32 could round a number just above a tie down (Boldo and Melquiond 2008,
    "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd").
    """
    lost = max(abs(x).bit_length() - 53, 0)
    kept: int = abs(x) >> lost | (abs(x) % 2**lost != 0)
    return (kept << lost) * (-1 if x < 0 else 1)


def fill(out: Operand, *, value: Number) -> None:
    """z = value"""
    value = int(value) if out.buf.dtype.is_integer else value
    write(out, [value] * math.prod(out.shape))


def arange(out: Operand, *, start: Number, step: Number, parts: Number) -> None:
    """z_i = start + step * (i / parts); of integers start + step * i"""
    each = range(math.prod(out.shape))
    if out.buf.dtype.is_integer:
        write(out, [int(start) + int(step) * i for i in each])
    else:
        write(out, [float(start) + float(step) * div(i, parts) for i in each])


KERNELS: dict[str, Kernel] = {
    "neg": lift(operator.neg),
    "abs": lift(abs),
    "sqrt": lift(sqrt),
    "relu": lift(relu),
    "sign": lift(sign),
    "floor": lift(whole(math.floor)),
    "ceil": lift(whole(math.ceil)),
    "round": lift(whole(round)),
    "trunc": lift(whole(math.trunc)),
    "bitwise_not": lift(bitwise_not),
    "exp": lift(exp),
    "exp2": lift(ieee(math.exp2)),
    "expm1": lift(ieee(math.expm1)),
    "log": lift(log),
    "log2": lift(ieee(math.log2, (0, -math.inf))),
    "log10": lift(ieee(math.log10, (0, -math.inf))),
    "log1p": lift(ieee(math.log1p, (-1, -math.inf))),
    "sin": lift(ieee(math.sin)),
    "cos": lift(ieee(math.cos)),
    "tan": lift(ieee(math.tan)),
    "asin": lift(ieee(math.asin)),
    "acos": lift(ieee(math.acos)),
    "atan": lift(math.atan),
    "sinh": lift(ieee(math.sinh)),
    "cosh": lift(cosh),
    "tanh": lift(math.tanh),
    "asinh": lift(math.asinh),
    "acosh": lift(acosh),
    "atanh": lift(ieee(math.atanh, (-1, -math.inf), (1, math.inf))),
    "erf": lift(math.erf),
    "gelu": lift(gelu),
    "gelu_tanh": lift(gelu_tanh),
    "sigmoid": lift(sigmoid),
    "softplus": lift(softplus),
    "silu": lift(silu),
    "mish": lift(mish),
    "cast": cast,
    "fill": fill,
    "arange": arange,
    "add": lift(operator.add),
    "sub": lift(operator.sub),
    "mul": lift(operator.mul),
    "div": lift(div),
    "pow": lift(power),
    "floor_divide": lift(floor_divide),
    "remainder": lift(remainder),
    "fmod": lift(fmod),
    "hypot": lift(math.hypot),
    "atan2": lift(math.atan2),
    "logaddexp": lift(logaddexp),
    "copysign": lift(math.copysign),
    "relu_grad": lift(lambda g, z: g if z > 0 else 0.0),
    "tanh_grad": lift(lambda g, z: g * ((1 - z) * (1 + z))),
    "sigmoid_grad": lift(lambda g, z: g * (z * (1 - z))),
    "gelu_grad": lift(gelu_grad),
    "gelu_tanh_grad": lift(gelu_tanh_grad),
    "softplus_grad": lift(lambda g, x: g * sigmoid(x)),
    "silu_grad": lift(silu_grad),
    "mish_grad": lift(mish_grad),
    "bitwise_and": lift(operator.and_),
    "bitwise_or": lift(operator.or_),
    "bitwise_xor": lift(operator.xor),
    "bitwise_left_shift": lift(shifted(operator.lshift, "left_shift")),
    "bitwise_right_shift": lift(shifted(operator.rshift, "right_shift")),
    "maximum": lift(maximum),
    "minimum": lift(minimum),
    "mul_add": mul_add,
    "where": lift(where),
}

# A kernel without a line above is what its formula in signatures.py says, which is Python then.
STATED: dict[str, Kernel] = {
    row.name: lift(eval(f"lambda {', '.join('xy'[: len(row.types) - 1])}: {row.expression}"))
    for row in TABLE_OF_KERNELS
    if row.form == "elementwise" and not row.params and row.name not in KERNELS
}
KERNELS |= STATED
