"""Elementwise functions by name. The formulas and their derivatives are in tutor/ops/."""

from __future__ import annotations

import math
from typing import Any, Self, TypeVar

from tutor._storage.array_like import is_number, is_tensor
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Number, TensorLike
from tutor.core.engine import apply
from tutor.errors import DomainError
from tutor.methods.create import Create

T = TypeVar("T", bound=Create)


@spelled
class Elementwise(Create):
    """Elementwise functions."""

    __slots__ = ()

    # ---- one operand -----------------------------------------------------------------------------

    def neg(self) -> Self:
        """-x"""
        return apply("neg", self)

    def abs(self) -> Self:
        """|x|"""
        return apply("abs", self)

    def sign(self) -> Self:
        """-1, 0 or 1: the sign of x"""
        return apply("sign", self)

    def square(self) -> Self:
        """x * x"""
        return self * self

    def reciprocal(self) -> Self:
        """1 / x"""
        return 1 / self

    def sqrt(self) -> Self:
        """The square root."""
        return apply("sqrt", self)

    def rsqrt(self) -> Self:
        """1 / sqrt(x)"""
        return 1 / self.sqrt()

    def exp(self) -> Self:
        """e**x"""
        return apply("exp", self)

    def exp2(self) -> Self:
        """2**x"""
        return apply("exp2", self)

    def expm1(self) -> Self:
        """e**x - 1, precise near 0"""
        return apply("expm1", self)

    def log(self) -> Self:
        """The natural logarithm."""
        return apply("log", self)

    def log2(self) -> Self:
        """The logarithm to base 2."""
        return apply("log2", self)

    def log10(self) -> Self:
        """The logarithm to base 10."""
        return apply("log10", self)

    def log1p(self) -> Self:
        """ln(1 + x), precise near 0"""
        return apply("log1p", self)

    def sin(self) -> Self:
        """The sine of an angle in radians."""
        return apply("sin", self)

    def cos(self) -> Self:
        """The cosine."""
        return apply("cos", self)

    def tan(self) -> Self:
        """The tangent."""
        return apply("tan", self)

    def asin(self) -> Self:
        """The angle whose sine is x."""
        return apply("asin", self)

    def acos(self) -> Self:
        """The angle whose cosine is x."""
        return apply("acos", self)

    def atan(self) -> Self:
        """The angle whose tangent is x."""
        return apply("atan", self)

    def sinh(self) -> Self:
        """(e**x - e**-x) / 2"""
        return apply("sinh", self)

    def cosh(self) -> Self:
        """(e**x + e**-x) / 2"""
        return apply("cosh", self)

    def tanh(self) -> Self:
        """sinh(x) / cosh(x)"""
        return apply("tanh", self)

    def asinh(self) -> Self:
        """The number whose sinh is x."""
        return apply("asinh", self)

    def acosh(self) -> Self:
        """The number >= 0 whose cosh is x."""
        return apply("acosh", self)

    def atanh(self) -> Self:
        """The number whose tanh is x."""
        return apply("atanh", self)

    def erf(self) -> Self:
        """The error function: 2 / sqrt(pi) times the integral of e**-t**2 from 0 to x."""
        return apply("erf", self)

    def floor(self) -> Self:
        """The largest integer <= x, in the dtype of x."""
        return apply("floor", self)

    def ceil(self) -> Self:
        """The smallest integer >= x."""
        return apply("ceil", self)

    def round(self) -> Self:
        """The nearest integer; halves go to the even one."""
        return apply("round", self)

    def trunc(self) -> Self:
        """x without its fraction."""
        return apply("trunc", self)

    def isnan(self) -> Self:
        """True where x is nan."""
        return self != self

    def isinf(self) -> Self:
        """True where x is infinite."""
        return self.abs() == math.inf if self.dtype.is_float else self != self

    def isfinite(self) -> Self:
        """True where x is neither infinite nor nan."""
        return self.abs() < math.inf if self.dtype.is_float else self == self

    def bitwise_not(self) -> Self:
        """~x, bit by bit; for bools, logical not."""
        return apply("bitwise_not", self)

    def logical_not(self) -> Self:
        """True where x is 0."""
        return self == 0

    # ---- two operands ----------------------------------------------------------------------------

    def add(self, other: TensorLike) -> Self:
        """x + y"""
        return apply("add", self, other)

    def sub(self, other: TensorLike) -> Self:
        """x - y"""
        return apply("sub", self, other)

    def mul(self, other: TensorLike) -> Self:
        """x * y"""
        return apply("mul", self, other)

    def div(self, other: TensorLike) -> Self:
        """x / y; integers divide as float32"""
        return apply("div", self, other)

    def pow(self, other: TensorLike) -> Self:
        """x**y"""
        return apply("pow", self, other)

    def floor_divide(self, other: TensorLike) -> Self:
        """The largest integer <= x / y."""
        return apply("floor_divide", self, other)

    def remainder(self, other: TensorLike) -> Self:
        """x - y * floor(x / y): it has the sign of y."""
        return apply("remainder", self, other)

    def fmod(self, other: TensorLike) -> Self:
        """x - y * trunc(x / y): it has the sign of x."""
        return apply("fmod", self, other)

    def maximum(self, other: TensorLike) -> Self:
        """The larger of two, element by element."""
        return apply("maximum", self, other)

    def minimum(self, other: TensorLike) -> Self:
        """The smaller of two, element by element."""
        return apply("minimum", self, other)

    def hypot(self, other: TensorLike) -> Self:
        """sqrt(x**2 + y**2)"""
        return apply("hypot", self, other)

    def atan2(self, other: TensorLike) -> Self:
        """The angle of the point with x coordinate `other` and y coordinate `self`, in radians."""
        return apply("atan2", self, other)

    def logaddexp(self, other: TensorLike) -> Self:
        """ln(e**x + e**y)"""
        return apply("logaddexp", self, other)

    def copysign(self, other: TensorLike) -> Self:
        """|x| with the sign of y."""
        return apply("copysign", self, other)

    def bitwise_and(self, other: TensorLike) -> Self:
        """x & y"""
        return apply("bitwise_and", self, other)

    def bitwise_or(self, other: TensorLike) -> Self:
        """x | y"""
        return apply("bitwise_or", self, other)

    def bitwise_xor(self, other: TensorLike) -> Self:
        """x ^ y"""
        return apply("bitwise_xor", self, other)

    def bitwise_left_shift(self, other: TensorLike) -> Self:
        """x << y"""
        return apply("bitwise_left_shift", self, other)

    def bitwise_right_shift(self, other: TensorLike) -> Self:
        """x >> y"""
        return apply("bitwise_right_shift", self, other)

    def logical_and(self, other: TensorLike) -> Self:
        """True where x and y are both not 0."""
        return apply("bitwise_and", self != 0, _true(self, other))

    def logical_or(self, other: TensorLike) -> Self:
        """True where at least one of x and y is not 0."""
        return apply("bitwise_or", self != 0, _true(self, other))

    def logical_xor(self, other: TensorLike) -> Self:
        """True where exactly one of x and y is not 0."""
        return apply("bitwise_xor", self != 0, _true(self, other))

    # ---- choosing --------------------------------------------------------------------------------

    def where(self, x: TensorLike, y: TensorLike) -> Self:
        """`cond.where(x, y)`: x where cond (a bool Tensor) is true, else y."""
        return apply("where", self, x, y)

    def masked_fill(self, mask: TensorLike, value: TensorLike) -> Self:
        """`value` where the bool `mask` is true, else x."""
        filled: Self = apply("where", mask, value, self)
        return filled

    def clip(self, min: TensorLike | None = None, max: TensorLike | None = None) -> Self:
        """x, but at least `min` and at most `max` (numbers or Tensors; None: no bound).

        The gradient passes where min <= x <= max.
        """
        low = self if min is None else apply("where", _or_nan(self < min, min), min, self)
        if max is not None:
            low = apply("where", _or_nan(low > max, max), max, low)
        return low

    clamp = clip

    def lerp(self, end: Self | Number, weight: TensorLike) -> Self:
        """x + weight * (end - x), from the nearer end: exactly x at weight 0, `end` at weight 1."""
        away = end - self
        if is_number(weight):
            return self + weight * away if weight < 0.5 else end - (1 - weight) * away
        w = weight if is_tensor(weight) else self.wrap(weight)
        return apply("where", w < 0.5, self + w * away, end - (1 - w) * away)

    # ---- activations -----------------------------------------------------------------------------

    def relu(self) -> Self:
        """x where x > 0, else 0."""
        return apply("relu", self)

    def sigmoid(self) -> Self:
        """1 / (1 + e**-x)"""
        return apply("sigmoid", self)

    def softplus(self, beta: float = 1.0, threshold: float = math.inf) -> Self:
        """ln(1 + e**(beta x)) / beta: a smooth relu; x itself where beta x is above `threshold`.
        Without a threshold nothing overflows either."""
        checks.number("softplus(threshold=...)", threshold)
        z = apply("logaddexp", self * beta, 0.0) / beta
        return z if threshold == math.inf else apply("where", self * beta > threshold, self, z)

    def silu(self) -> Self:
        """x * sigmoid(x), also called swish (Elfwing, Uchibe and Doya 2018)."""
        return self * self.sigmoid()

    def gelu(self, approximate: str = "none") -> Self:
        """x * P(X <= x) for a standard normal X (Hendrycks and Gimpel 2016): exact, by erf; or,
        with approximate="tanh", their formula x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x**3)))."""
        if approximate not in ("none", "tanh"):
            raise DomainError(f"gelu(approximate={approximate!r})", "no such way", "'none', 'tanh'")
        return apply("gelu" if approximate == "none" else "gelu_tanh", self)

    def elu(self, alpha: float = 1.0) -> Self:
        """x where x > 0, else alpha * (e**x - 1)."""
        below = apply("where", self > 0, 0.0, self).expm1()  # no overflow where it is unused
        return apply("where", self > 0, self, below * alpha)

    def leaky_relu(self, negative_slope: float = 0.01) -> Self:
        """x where x > 0, else negative_slope * x."""
        return apply("where", self > 0, self, self * negative_slope)

    def hardtanh(self, min_val: float = -1.0, max_val: float = 1.0) -> Self:
        """x clipped to min_val ... max_val; the derivative is 0 at the ends and beyond. Integers
        keep their dtype if both ends are whole numbers."""
        if self.dtype.is_integer and float(min_val).is_integer() and float(max_val).is_integer():
            min_val, max_val = int(min_val), int(max_val)
        upper = apply("where", self >= max_val, max_val, self)
        return apply("where", upper <= min_val, min_val, upper)

    def relu6(self) -> Self:
        """x clipped to 0 ... 6; the derivative is 0 at the ends and beyond."""
        return self.hardtanh(0.0, 6.0)


def _true(like: T, x: TensorLike) -> T:
    """True where x, a Tensor or the data of one, is not 0."""
    return (x if is_tensor(x) else like.wrap(x)) != 0


def _or_nan(beyond: T, bound: Any) -> T:
    """True where `beyond` is true, or where the bound is nan: nan must reach the result."""
    return beyond if is_number(bound) and bound == bound else beyond + (bound != bound)
