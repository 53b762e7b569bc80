"""Smooth relus: softplus, silu (Elfwing, Uchibe and Doya 2018) and mish (Misra 2019).

s is the sigmoid of x, t the tanh of its softplus, g the gradient of the result. Each is one kernel,
and so is its derivative; the second derivative is composed of other ops.
"""

from __future__ import annotations

from typing import Any

from tutor.core.engine import apply
from tutor.ops.elementwise import Binary
from tutor.ops.functions import RealFunction


class Smooth(RealFunction, abstract=True):
    """A function of x whose derivative is the kernel of its name and `_grad`."""

    saves = ("x",)

    def backward(self, g, x):
        return apply(f"{self.kernel}_grad", g, x)


class SmoothGrad(Binary, abstract=True):
    """g times a slope at x. `bend` is the slope's derivative."""

    saves = ("x", "y")

    def backward(self, h, g, x):
        return apply(self.kernel, h, x), h * g * self.bend(x) if self.needs[1] else None

    def bend(self, x: Any) -> Any:
        raise NotImplementedError


class Softplus(Smooth):
    """z = ln(1 + e**x)"""

    kernel = "softplus"


class SoftplusGrad(SmoothGrad):
    """d = g s: the derivative of softplus"""

    kernel = "softplus_grad"

    def bend(self, x):
        s = x.sigmoid()
        return s * (1 - s)


class Silu(Smooth):
    """z = x s"""

    kernel = "silu"


class SiluGrad(SmoothGrad):
    """d = g (s + x s'), s' = s (1 - s): the derivative of silu"""

    kernel = "silu_grad"

    def bend(self, x):
        """s' (2 + x (1 - 2 s))"""
        s = x.sigmoid()
        return s * (1 - s) * (x * (1 - s * 2) + 2)


class Mish(Smooth):
    """z = x t"""

    kernel = "mish"


class MishGrad(SmoothGrad):
    """d = g (t + x t'), t' = s (1 - t**2): the derivative of mish"""

    kernel = "mish_grad"

    def bend(self, x):
        """t' (2 + x (1 - s - 2 s t))"""
        s, t = x.sigmoid(), x.softplus().tanh()
        return s * (1 - t * t) * (x * (1 - s - s * t * 2) + 2)
