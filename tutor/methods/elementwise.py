"""Elementwise methods that are composed of ops: choosing, closeness, and activations.

Activations are the nonlinearities that follow a layer's product: without them, stacked linear
layers would be a single linear layer. Where a formula has a kink, the docstring says from which
side the derivative is taken, unless both sides agree.
"""

from __future__ import annotations

import math
from typing import Any

from tutor._storage import layout
from tutor._storage.array_like import is_number, is_tensor
from tutor._util import checks
from tutor._util.typing import Number, TensorLike
from tutor.core.engine import apply
from tutor.dtype import of_number
from tutor.errors import DomainError, ShapeError
from tutor.methods import views
from tutor.methods.operators import T

# Klambauer, Unterthiner, Mayr and Hochreiter 2017, equation 14: these keep mean 0 and variance 1
# from a layer's inputs to its outputs.
SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


# ---- choosing and comparing ----------------------------------------------------------------------


def logical_and(self: T, other: TensorLike) -> T:
    """True where x and y are both not 0."""
    return apply("bitwise_and", self != 0, _true(self, other))


def logical_or(self: T, other: TensorLike) -> T:
    """True where at least one of x and y is not 0."""
    return apply("bitwise_or", self != 0, _true(self, other))


def logical_xor(self: T, other: TensorLike) -> T:
    """True where exactly one of x and y is not 0."""
    return apply("bitwise_xor", self != 0, _true(self, other))


def masked_fill(self: T, mask: TensorLike, value: TensorLike) -> T:
    """`value` where the bool `mask` is true, else x."""
    filled: T = apply("where", mask, value, self)
    return filled


def clip(self: T, min: TensorLike | None = None, max: TensorLike | None = None) -> T:
    """x, but at least `min` and at most `max` (numbers or Tensors; None: no bound).

    The gradient passes where min <= x <= max.
    """
    low = self if min is None else apply("where", _or_nan(self < min, min), min, self)
    if max is not None:
        low = apply("where", _or_nan(low > max, max), max, low)
    return low


def lerp(self: T, end: T | Number, weight: TensorLike) -> T:
    """x + weight * (end - x), from the nearer end: exactly x at weight 0, `end` at weight 1."""
    away = end - self
    if is_number(weight):
        return self + weight * away if weight < 0.5 else end - (1 - weight) * away
    w = weight if is_tensor(weight) else self.wrap(weight)
    return apply("where", w < 0.5, self + w * away, end - (1 - w) * away)


def isclose(
    self: T, other: TensorLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> T:
    """|x - y| <= atol + rtol |y|. An infinity is close only to itself; nan is close to nothing,
    or to nan with equal_nan. Computed in float64, unless both are float32 or narrower."""
    checks.number("isclose(rtol=...)", rtol, 0, nan=False)
    checks.number("isclose(atol=...)", atol, 0, nan=False)
    x = self.detach()
    own = of_number(other, x.dtype) if is_number(other) else None
    y = other if is_tensor(other) else x.wrap(other, own)
    narrow = all(t.dtype.is_float and t.dtype.itemsize <= 4 for t in (x, y))
    to = "float32" if narrow else "float64"
    a, b = x.cast(to), y.detach().cast(to)
    near = (a - b).abs() <= b.abs() * rtol + atol
    # On bools, + is or and * is and. Numbers that are equal need no rounding to float64.
    close = (x == y) + near * b.isfinite()
    return close + (x != x) * (y != y) if equal_nan else close


def allclose(
    self: T, other: TensorLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Is every pair close (`isclose`)? True for empty tensors."""
    return bool(isclose(self, other, rtol, atol, equal_nan).all())


def _true(like: T, x: TensorLike) -> T:
    """True where x, a Tensor or the data of one, is not 0."""
    return (x if is_tensor(x) else like.wrap(x)) != 0


def _or_nan(beyond: T, bound: Any) -> T:
    """True where `beyond` is true, or where the bound is nan: nan must reach the result."""
    return beyond if is_number(bound) and bound == bound else beyond + (bound != bound)


# ---- activations ---------------------------------------------------------------------------------


def softplus(self: T, beta: float = 1.0, threshold: float = math.inf) -> T:
    """ln(1 + e**(beta x)) / beta: a smooth relu; x itself where beta x is above `threshold`.
    Without a threshold nothing overflows either."""
    checks.number("softplus(threshold=...)", threshold)
    z = apply("softplus", self) if beta == 1 else apply("softplus", self * beta) / beta
    return z if threshold == math.inf else apply("where", self * beta > threshold, self, z)


def gelu(self: T, approximate: str = "none") -> T:
    """x * P(X <= x) for a standard normal X (Hendrycks and Gimpel 2016): exact, by erf; or,
    with approximate="tanh", their formula x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x**3)))."""
    if approximate not in ("none", "tanh"):
        raise DomainError(f"gelu(approximate={approximate!r})", "no such way", "'none', 'tanh'")
    return apply("gelu" if approximate == "none" else "gelu_tanh", self)


def elu(self: T, alpha: float = 1.0) -> T:
    """x where x > 0, else alpha * (e**x - 1)."""
    below = apply("where", self > 0, 0.0, self).expm1()  # no overflow where it is unused
    return apply("where", self > 0, self, below * alpha)


def leaky_relu(self: T, negative_slope: float = 0.01) -> T:
    """x where x > 0, else negative_slope * x."""
    return apply("where", self > 0, self, self * negative_slope)


def hardtanh(self: T, min_val: float = -1.0, max_val: float = 1.0) -> T:
    """x clipped to min_val ... max_val; the derivative is 0 at the ends and beyond. Integers
    keep their dtype if both ends are whole numbers."""
    if self.dtype.is_integer and float(min_val).is_integer() and float(max_val).is_integer():
        min_val, max_val = int(min_val), int(max_val)
    upper = apply("where", self >= max_val, max_val, self)
    return apply("where", upper <= min_val, min_val, upper)


def selu(self: T) -> T:
    """scale * (x where x > 0, else alpha (e**x - 1)), with scale = 1.0507 and alpha = 1.6733
    (Klambauer et al. 2017): `elu` that keeps mean 0 and variance 1 from layer to layer."""
    return elu(self, SELU_ALPHA) * SELU_SCALE


def celu(self: T, alpha: float = 1.0) -> T:
    """x where x > 0, else alpha (e**(x / alpha) - 1) (Barron 2017): the slope at 0 is 1 from
    both sides for every alpha. Raises DomainError if alpha is 0."""
    if not checks.number("celu(alpha=...)", alpha):
        raise DomainError("celu(alpha=0)", "x would be divided by it", "give another alpha")
    below = (apply("where", self > 0, 0.0, self) / alpha).expm1() * alpha
    return apply("where", self > 0, self, below)


def threshold(self: T, threshold: float, value: float) -> T:
    """x where x > threshold, else `value`."""
    checks.number("threshold(threshold=...)", threshold)
    checks.number("threshold(value=...)", value)
    kept: T = apply("where", self <= threshold, value, self)
    return kept


def hardshrink(self: T, lambd: float = 0.5) -> T:
    """x where |x| > lambd, else 0."""
    small = self.abs() <= checks.number("hardshrink(lambd=...)", lambd)
    kept: T = apply("where", small, 0, self)
    return kept


def softshrink(self: T, lambd: float = 0.5) -> T:
    """x moved towards 0 by lambd, 0 where |x| <= lambd: soft thresholding, as in the lasso."""
    checks.number("softshrink(lambd=...)", lambd, 0, nan=False)
    return self - clip(self, -lambd, lambd)


def prelu(self: T, weight: TensorLike) -> T:
    """x where x > 0, else weight * x (He et al. 2015). The weight is learned: one number, or
    one per channel, on axis 1 of x (..., C, ...). Raises ShapeError for any other shape."""
    w = weight if is_tensor(weight) else self.wrap(weight)
    channels = self.shape[1] if self.ndim > 1 else 1
    if w.ndim > 1 or w.numel() not in (1, channels):
        raise ShapeError(
            f"prelu of shape {self.shape} with a weight of shape {w.shape}",
            f"there are {channels} channels, on axis 1",
            "give one number, or one for each channel",
        )
    w = w.reshape((-1, *[1] * (self.ndim - 2)) if w.numel() > 1 else ())
    return apply("where", self > 0, self, w * self)


def glu(self: T, axis: int = -1) -> T:
    """a sigmoid(b), where a and b are the halves of x along axis (Dauphin et al. 2017)."""
    a = layout.axis_of(axis, self.ndim)
    if self.shape[a] % 2:
        raise ShapeError(
            f"glu of shape {self.shape} along axis {a}",
            f"{self.shape[a]} is odd",
            "give an even number there: half of it is the gate",
        )
    half = self.shape[a] // 2
    values, gate = views.split(self, (half, half), a)
    return values * gate.sigmoid()


def softmin(self: T, axis: int = -1) -> T:
    """e**-x / sum e**-x along axis."""
    return (-self).softmax(axis)
