"""Functions of one number, or two: exponentials, logarithms, angles, and rounding to integers.

z is the result, g its gradient; x and y are the operands. Integers become float32 first.
"""

from __future__ import annotations

import math

from tutor.core.engine import apply
from tutor.ops.elementwise import Binary, Flat, Unary


class RealFunction(Unary, abstract=True):
    """A function of one real number."""

    wants_float = True


# ---- powers and logarithms ---------------------------------------------------------------------


class Sqrt(RealFunction):
    """z = sqrt(x)"""

    kernel, saves = "sqrt", ("out",)

    def backward(self, g, z):
        return g / (z * 2)


class Exp(RealFunction):
    """z = e**x"""

    kernel, saves = "exp", ("out",)

    def backward(self, g, z):
        return g * z


class Exp2(RealFunction):
    """z = 2**x"""

    kernel, saves = "exp2", ("out",)

    def backward(self, g, z):
        return g * z * math.log(2)


class Expm1(RealFunction):
    """z = e**x - 1, accurate near x = 0"""

    kernel, saves = "expm1", ("out",)

    def backward(self, g, z):
        return g * (z + 1)


class Log(RealFunction):
    """z = ln x"""

    kernel, saves = "log", ("x",)

    def backward(self, g, x):
        return g / x


class Log2(RealFunction):
    """z = log2 x"""

    kernel, saves = "log2", ("x",)

    def backward(self, g, x):
        return g / (x * math.log(2))


class Log10(RealFunction):
    """z = log10 x"""

    kernel, saves = "log10", ("x",)

    def backward(self, g, x):
        return g / (x * math.log(10))


class Log1p(RealFunction):
    """z = ln(1 + x), accurate near x = 0"""

    kernel, saves = "log1p", ("x",)

    def backward(self, g, x):
        return g / (x + 1)


class LogAddExp(Binary):
    """z = ln(e**x + e**y)"""

    kernel, saves, wants_float = "logaddexp", ("x", "y"), True

    def backward(self, g, x, y):
        return g * (x - y).sigmoid(), g * (y - x).sigmoid() if self.needs[1] else None


class Hypot(Binary):
    """z = sqrt(x**2 + y**2)"""

    kernel, saves, wants_float = "hypot", ("x", "y", "out"), True

    def backward(self, g, x, y, z):
        return g * (x / z), g * (y / z) if self.needs[1] else None


# ---- angles ------------------------------------------------------------------------------------


class Sin(RealFunction):
    """z = sin x"""

    kernel, saves = "sin", ("x",)

    def backward(self, g, x):
        return g * x.cos()


class Cos(RealFunction):
    """z = cos x"""

    kernel, saves = "cos", ("x",)

    def backward(self, g, x):
        return -g * x.sin()


class Tan(RealFunction):
    """z = tan x"""

    kernel, saves = "tan", ("out",)

    def backward(self, g, z):
        return g * (z * z + 1)


class Asin(RealFunction):
    """z = arcsin x"""

    kernel, saves = "asin", ("x",)

    def backward(self, g, x):
        return g / (1 - x * x).sqrt()


class Acos(RealFunction):
    """z = arccos x"""

    kernel, saves = "acos", ("x",)

    def backward(self, g, x):
        return -g / (1 - x * x).sqrt()


class Atan(RealFunction):
    """z = arctan x"""

    kernel, saves = "atan", ("x",)

    def backward(self, g, x):
        return g / (x * x + 1)


class Atan2(Binary):
    """z = the angle of the point (y, x), whose height is x; with derivative 0 at the origin"""

    kernel, saves, wants_float = "atan2", ("x", "y"), True

    def backward(self, g, x, y):
        square = x * x + y * y
        g = apply("where", square == 0, 0.0, g / apply("where", square == 0, 1.0, square))
        return g * y, -g * x if self.needs[1] else None


# ---- hyperbolic functions, and activations -----------------------------------------------------


class Sinh(RealFunction):
    """z = (e**x - e**-x) / 2"""

    kernel, saves = "sinh", ("x",)

    def backward(self, g, x):
        return g * x.cosh()


class Cosh(RealFunction):
    """z = (e**x + e**-x) / 2"""

    kernel, saves = "cosh", ("x",)

    def backward(self, g, x):
        return g * x.sinh()


class Tanh(RealFunction):
    """z = tanh x"""

    kernel, saves = "tanh", ("out",)

    def backward(self, g, z):
        return apply("tanh_grad", g, z)


class TanhGrad(Binary):
    """d = g (1 - z²): the derivative of tanh, given its result z"""

    kernel, saves = "tanh_grad", ("x", "y")

    def backward(self, h, g, z):
        return apply("tanh_grad", h, z), h * g * z * -2 if self.needs[1] else None


class Asinh(RealFunction):
    """z = the number whose sinh is x"""

    kernel, saves = "asinh", ("x",)

    def backward(self, g, x):
        return g / (x * x + 1).sqrt()


class Acosh(RealFunction):
    """z = the number >= 0 whose cosh is x"""

    kernel, saves = "acosh", ("x",)

    def backward(self, g, x):
        return g / ((x - 1).sqrt() * (x + 1).sqrt())


class Atanh(RealFunction):
    """z = the number whose tanh is x"""

    kernel, saves = "atanh", ("x",)

    def backward(self, g, x):
        return g / (1 - x * x)


class Erf(RealFunction):
    """z = 2 / sqrt(pi) * integral of e**-t**2 from 0 to x"""

    kernel, saves = "erf", ("x",)

    def backward(self, g, x):
        return g * ((-x * x).exp() * (2 / math.sqrt(math.pi)))


class Sigmoid(RealFunction):
    """z = 1 / (1 + e**-x)"""

    kernel, saves = "sigmoid", ("out",)

    def backward(self, g, z):
        return apply("sigmoid_grad", g, z)


class SigmoidGrad(Binary):
    """d = g z (1 - z): the derivative of the sigmoid, given its result z"""

    kernel, saves = "sigmoid_grad", ("x", "y")

    def backward(self, h, g, z):
        return apply("sigmoid_grad", h, z), h * g * (1 - z * 2) if self.needs[1] else None


class ReLU(Unary):
    """z = x where x > 0, else 0; with derivative 0 at 0"""

    kernel, saves = "relu", ("out",)

    def backward(self, g, z):
        return apply("relu_grad", g, z)


class ReLUGrad(Binary):
    """d = g where z > 0, else 0: the derivative of the relu, given its result z"""

    kernel, saves = "relu_grad", ("y",)

    def backward(self, h, z):
        return apply("relu_grad", h, z), h.like(0) if self.needs[1] else None


# ---- to integers -------------------------------------------------------------------------------


class Rounding(Flat, abstract=True):
    """An integer near x, as a float; an integer x is returned as it is."""

    def settle(self):
        (x,) = self.inputs
        return None if x.buf.dtype.is_float else x


class Floor(Rounding):
    """z = the largest integer <= x"""

    kernel = "floor"


class Ceil(Rounding):
    """z = the smallest integer >= x"""

    kernel = "ceil"


class Round(Rounding):
    """z = the nearest integer; halves round to even"""

    kernel = "round"


class Trunc(Rounding):
    """z = x without its fraction"""

    kernel = "trunc"
