"""Elementwise methods whose conventions differ from NumPy's, and those that tutor has not."""

from __future__ import annotations

import math
from typing import Any

from tutor import dtype as dtypes
from tutor._storage.array_like import is_number
from tutor.core.engine import apply
from tutor.errors import ArgumentError, DTypeError
from tutor.torch.carrier import Plain, promoted


def scaled(other: Any, alpha: Any) -> Any:
    """alpha y"""
    return other if alpha == 1 else other * alpha


def check_no_bools(*values: Any) -> None:
    """DTypeError for the difference of bools, as in PyTorch."""
    for value in values:
        if isinstance(value, bool) or getattr(value, "dtype", None) is dtypes.bool_:
            found = "tutor.torch refuses it, as PyTorch does"
            raise DTypeError("x - y of bools", found, "write x ^ y, or x.int() first")


def sub(x: Any, y: Any, alpha: Any) -> Any:
    """x - alpha y"""
    check_no_bools(x, y)
    return Plain.sub(*promoted(x, scaled(y, alpha)))


def div(x: Any, y: Any, rounding_mode: str | None) -> Any:
    """x / y; rounded towards 0 with "trunc", down with "floor"."""
    x, y = promoted(x, y)
    if rounding_mode is None:
        return Plain.div(x, y)
    if rounding_mode == "floor":
        return Plain.floor_divide(x, y)
    if rounding_mode != "trunc":
        raise ArgumentError(f"div(rounding_mode={rounding_mode!r})", "there is no such mode",
                            "give None, 'trunc' or 'floor'")  # fmt: skip
    if x.dtype.is_float or isinstance(y, float):
        return Plain.trunc(Plain.div(x, y))
    down = Plain.floor_divide(x, y)
    inexact = Plain.ne(Plain.mul(down, y), x)
    return Plain.add(down, Plain.cast(Plain.logical_and(inexact, Plain.lt(down, 0)), down.dtype))


def rounded(x: Any, decimals: int) -> Any:
    """The nearest whole number, or number of that many decimals; halves go to the even one."""
    if decimals == 0:
        return Plain.round(x)
    scale = 10.0 ** abs(decimals)
    if decimals > 0:
        return Plain.div(Plain.round(Plain.mul(x, scale)), scale)
    return Plain.mul(Plain.round(Plain.div(x, scale)), scale)


def clamp(x: Any, low: Any, high: Any) -> Any:
    """x, not below low and not above high."""
    if low is None and high is None:
        raise ArgumentError("clamp()", "no bound is given", "give min, max or both")
    x, *bounds = promoted(*[v for v in (x, low, high) if v is not None])
    if not x.dtype.is_float and any(isinstance(b, float) for b in bounds):
        x = Plain.cast(x, dtypes.float32)
    least = bounds.pop(0) if low is not None else None
    return Plain.clip(x, least, bounds[0] if bounds else None)


def signbit(x: Any) -> Any:
    """Is its sign bit set? True for -0.0."""
    if not x.dtype.is_float:
        return Plain.lt(x, 0)
    return Plain.lt(Plain.copysign(Plain.ones_like(x), x), 0)


def but_nan(f: Any, x: Any, y: Any) -> Any:
    """f(x, y); where one is nan, the other."""
    x, y = promoted(x, y)
    return apply("where", Plain.isnan(x), y, apply("where", Plain.isnan(y), x, f(x, y)))


def as_float(x: Any, dtype: Any = dtypes.float32) -> Any:
    """x as a tensor of floats."""
    x = x if isinstance(x, Plain) else Plain(x, dtype=dtype)
    return x if x.dtype.is_float else Plain.cast(x, dtypes.float32)


def xlogy(x: Any, y: Any) -> Any:
    """x ln y; 0 where x is 0, unless y is nan."""
    x, y = (as_float(v) for v in promoted(x, y))
    zero = Plain.logical_and(Plain.eq(x, 0), Plain.logical_not(Plain.isnan(y)))
    return Plain.mul(x, Plain.log(apply("where", zero, 1.0, y)))


def logit(x: Any, eps: float | None) -> Any:
    """ln(x / (1 - x)), with eps of x clipped to eps ... 1 - eps."""
    x = as_float(x) if eps is None else Plain.clip(as_float(x), eps, 1 - eps)
    return Plain.log(Plain.div(x, 1 - x))


def logaddexp2(x: Any, y: Any) -> Any:
    """log2(2**x + 2**y)"""
    x, y = (Plain.mul(v, math.log(2)) for v in promoted(x, y))
    return Plain.div(Plain.logaddexp(x, y), math.log(2))


def heaviside(x: Any, values: Any) -> Any:
    """0 below 0, 1 above it, `values` at 0."""
    x, v = promoted(x, values)
    return apply("where", Plain.eq(x, 0), v, Plain.cast(Plain.gt(x, 0), x.dtype))


def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x), 1 at 0"""
    zero = Plain.eq(as_float(x), 0)
    angle = Plain.mul(apply("where", zero, 1.0, as_float(x)), math.pi)
    return apply("where", zero, 1.0, Plain.div(Plain.sin(angle), angle))


def plus(x: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """beta x + alpha times a product"""
    if not x.dtype.is_float and (isinstance(beta, float) or isinstance(alpha, float)):
        raise DTypeError("beta and alpha beside integers", "one is a float", "give whole numbers")
    if x.dtype is dtypes.bool_:
        raise DTypeError("a product plus bools", "tutor.torch adds numbers", "write x.float()")
    return Plain.add(Plain.mul(x, beta), Plain.mul(product, alpha))


def wide_power(x: Any, y: Any) -> Any:
    """x**y in float64."""
    return Plain.pow(*(v if is_number(v) else Plain.cast(v, dtypes.float64) for v in (x, y)))


def infinite(sign: int) -> Any:
    """Is x that infinity?"""
    return lambda x: Plain.eq(x, sign * math.inf) if x.dtype.is_float else Plain.ne(x, x)


FORMULAS: dict[str, Any] = {
    "add(input, other, *, alpha=1)": lambda x, y, a: Plain.add(*promoted(x, scaled(y, a))),
    "sub(input, other, *, alpha=1)": sub,
    "div(input, other, *, rounding_mode=None)": div,
    "float_power(input, exponent)": wide_power,
    "round(input, *, decimals=0)": rounded,
    "frac(input)": lambda x: Plain.sub(x, Plain.trunc(x)),
    "clamp(input, min=None, max=None)": clamp,
    "clamp_min(input, min)": lambda x, low: clamp(x, low, None),
    "clamp_max(input, max)": lambda x, high: clamp(x, None, high),
    "isposinf(input)": infinite(1),
    "isneginf(input)": infinite(-1),
    "signbit(input)": signbit,
    "fmax(input, other)": lambda x, y: but_nan(Plain.maximum, x, y),
    "fmin(input, other)": lambda x, y: but_nan(Plain.minimum, x, y),
    "xlogy(input, other)": xlogy,
    "logit(input, eps=None)": logit,
    "logaddexp2(input, other)": logaddexp2,
    "deg2rad(input)": lambda x: Plain.mul(x, math.pi / 180),
    "rad2deg(input)": lambda x: Plain.mul(x, 180 / math.pi),
    **{f"{name}(input)": lambda x: x for name in
       ("positive", "conj", "conj_physical", "resolve_conj", "resolve_neg")},
    "isreal(input)": lambda x: Plain.eq(x, x) | Plain.ne(x, x),
    "heaviside(input, values)": heaviside,
    "sinc(input)": sinc,
    "ldexp(input, other)": lambda x, y: Plain.mul(*promoted(x, Plain.exp2(as_float(y)))),
    "vdot(input, other)": Plain.dot,
    "square(input)": lambda x: Plain.square(x if x.dtype is not dtypes.bool_ else Plain.long(x)),
    "addmm(input, mat1, mat2, *, beta=1, alpha=1)":
        lambda x, a, b, beta, alpha: plus(x, Plain.mm(a, b), beta, alpha),
    "addmv(input, mat, vec, *, beta=1, alpha=1)":
        lambda x, a, v, beta, alpha: plus(x, Plain.mv(a, v), beta, alpha),
    "baddbmm(input, batch1, batch2, *, beta=1, alpha=1)":
        lambda x, a, b, beta, alpha: plus(x, Plain.bmm(a, b), beta, alpha),
    "addr(input, vec1, vec2, *, beta=1, alpha=1)":
        lambda x, v, w, beta, alpha: plus(x, Plain.outer(v, w), beta, alpha),
    "addbmm(input, batch1, batch2, *, beta=1, alpha=1)":
        lambda x, a, b, beta, alpha: plus(x, Plain.sum(Plain.bmm(a, b), 0), beta, alpha),
}  # fmt: skip
ONLY_FUNCTIONS: dict[str, Any] = {
    "rsub(input, other, *, alpha=1)": lambda x, y, a: apply("sub", *promoted(y, scaled(x, a))),
}
ALSO = {
    "subtract": "sub", "divide": "div", "true_divide": "div", "clip": "clamp", "ger": "outer",
}  # fmt: skip
