"""Activations beyond those of elementwise.py: the nonlinearities that follow a layer's product.

Each is composed of a few ops, which give its derivative as well. Where a formula has a kink, the
docstring says from which side the derivative is taken, unless both sides agree.
"""

from __future__ import annotations

from typing import Self

from tutor._storage import layout
from tutor._storage.array_like import is_tensor
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import TensorLike
from tutor.core.engine import apply
from tutor.errors import DomainError, ShapeError
from tutor.methods.learning import Learning

# Klambauer, Unterthiner, Mayr and Hochreiter 2017, equation 14: these keep mean 0 and variance 1
# from a layer's inputs to its outputs.
SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


@spelled
class Activations(Learning):
    """Nonlinear functions: without them, stacked linear layers would be a single linear layer."""

    __slots__ = ()

    # ---- exponential below 0 ---------------------------------------------------------------------

    def selu(self) -> Self:
        """scale * (x where x > 0, else alpha (e**x - 1)), with scale = 1.0507 and alpha = 1.6733
        (Klambauer et al. 2017): `elu` that keeps mean 0 and variance 1 from layer to layer."""
        return self.elu(SELU_ALPHA) * SELU_SCALE

    def celu(self, alpha: float = 1.0) -> Self:
        """x where x > 0, else alpha (e**(x / alpha) - 1) (Barron 2017): the slope at 0 is 1 from
        both sides for every alpha. Raises DomainError if alpha is 0."""
        if not checks.number("celu(alpha=...)", alpha):
            raise DomainError("celu(alpha=0)", "x would be divided by it", "give another alpha")
        below = (apply("where", self > 0, 0.0, self) / alpha).expm1() * alpha
        return apply("where", self > 0, self, below)

    def mish(self) -> Self:
        """x tanh(ln(1 + e**x)) (Misra 2019)"""
        return self * self.softplus().tanh()

    def logsigmoid(self) -> Self:
        """ln(1 / (1 + e**-x)) = -ln(1 + e**-x), which never takes the logarithm of 0."""
        return -(-self).softplus()

    def softsign(self) -> Self:
        """x / (1 + |x|)"""
        return self / (self.abs() + 1)

    def tanhshrink(self) -> Self:
        """x - tanh(x)"""
        return self - self.tanh()

    # ---- piecewise linear ------------------------------------------------------------------------

    def hardsigmoid(self) -> Self:
        """0 for x <= -3, 1 for x >= 3, else x/6 + 1/2; the derivative at -3 and 3 is 0."""
        return (self + 3).relu6() / 6

    def hardswish(self) -> Self:
        """x hardsigmoid(x) (Howard et al. 2019, MobileNetV3)"""
        return self * self.hardsigmoid()

    def threshold(self, threshold: float, value: float) -> Self:
        """x where x > threshold, else `value`."""
        checks.number("threshold(threshold=...)", threshold)
        checks.number("threshold(value=...)", value)
        kept: Self = apply("where", self <= threshold, value, self)
        return kept

    def hardshrink(self, lambd: float = 0.5) -> Self:
        """x where |x| > lambd, else 0."""
        small = self.abs() <= checks.number("hardshrink(lambd=...)", lambd)
        kept: Self = apply("where", small, 0, self)
        return kept

    def softshrink(self, lambd: float = 0.5) -> Self:
        """x moved towards 0 by lambd, 0 where |x| <= lambd: soft thresholding, as in the lasso."""
        checks.number("softshrink(lambd=...)", lambd, 0, nan=False)
        return self - self.clip(-lambd, lambd)

    # ---- with a weight, or along an axis ---------------------------------------------------------

    def prelu(self, weight: TensorLike) -> Self:
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

    def glu(self, axis: int = -1) -> Self:
        """a sigmoid(b), where a and b are the halves of x along axis (Dauphin et al. 2017)."""
        a = layout.axis_of(axis, self.ndim)
        if self.shape[a] % 2:
            raise ShapeError(
                f"glu of shape {self.shape} along axis {a}",
                f"{self.shape[a]} is odd",
                "give an even number there: half of it is the gate",
            )
        half = self.shape[a] // 2
        values, gate = self.split((half, half), a)
        return values * gate.sigmoid()

    def softmin(self, axis: int = -1) -> Self:
        """e**-x / sum e**-x along axis."""
        return (-self).softmax(axis)
