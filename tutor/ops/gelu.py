"""gelu: x times the probability that a standard normal X is at most x (Hendrycks and Gimpel 2016).

z is the result, g its gradient. Each form is one kernel, and so is its derivative; the second
derivative is composed of other ops.
"""

from __future__ import annotations

import math
from typing import Any

from tutor.core.engine import apply
from tutor.ops.elementwise import Binary
from tutor.ops.functions import RealFunction

LINE = 2 * math.sqrt(2 / math.pi)
CURVE = LINE * 0.044715


class Gelu(RealFunction):
    """z = x P(X <= x)"""

    kernel, saves = "gelu", ("x",)

    def backward(self, g, x):
        return apply("gelu_grad", g, x)


class GeluGrad(Binary):
    """d = g (P(X <= x) + x p(x)), p(x) = e**-(x**2 / 2) / sqrt(2 pi): the derivative of gelu"""

    kernel, saves = "gelu_grad", ("x", "y")

    def backward(self, h, g, x):
        return apply("gelu_grad", h, x), h * g * bend(x) if self.needs[1] else None


class GeluTanh(RealFunction):
    """z = x s(x), s(x) = sigmoid(u) = (1 + tanh(u/2)) / 2, u = 2 sqrt(2/pi) (x + 0.044715 x**3)"""

    kernel, saves = "gelu_tanh", ("x",)

    def backward(self, g, x):
        return apply("gelu_tanh_grad", g, x)


class GeluTanhGrad(Binary):
    """d = g (s(x) + x s'(x)): the derivative of gelu by tanh"""

    kernel, saves = "gelu_tanh_grad", ("x", "y")

    def backward(self, h, g, x):
        return apply("gelu_tanh_grad", h, x), h * g * bend_tanh(x) if self.needs[1] else None


def bend(x: Any) -> Any:
    """The second derivative, p(x) (2 - x**2), since p'(x) = -x p(x)"""
    square = x * x
    return (square * -0.5).exp() * (2 - square) * (1 / math.sqrt(2 * math.pi))


def bend_tanh(x: Any) -> Any:
    """The second derivative, 2 s' + x s'', of s = sigmoid(u): s' = s (1 - s) u', and s'' = s (1 -
    s) ((1 - 2 s) u'**2 + u'')"""
    square = x * x
    s = ((square * CURVE + LINE) * x).sigmoid()
    slope = square * (3 * CURVE) + LINE
    return s * (1 - s) * (slope * 2 + x * ((1 - s * 2) * slope * slope + x * (6 * CURVE)))
