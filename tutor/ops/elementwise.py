"""Elementwise ops: one number in (or two, or three), one number out, at every position.

z is the result, g its gradient; x and y are the operands. No op here handles broadcasting: the
Engine stretches operands before the kernel and sums gradients back to the operand's shape.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, ClassVar

from tutor.core.engine import apply
from tutor.core.op import Op
from tutor.dtype import DType, bool_
from tutor.errors import DTypeError

BESIDE = MappingProxyType({"x": "y", "y": "x"})  # in a product each only serves the other


class Unary(Op, abstract=True):
    """One operand; the result has its shape."""

    promotes: ClassVar[int | None] = 0


class OfBools(Op, abstract=True):
    """An op that changes nothing on bools: there the result is a copy."""

    def settle(self) -> Any:
        (x,) = self.inputs
        return x.copy() if x.buf.dtype is bool_ else None


class Binary(Op, abstract=True):
    """Two operands or more, brought to one dtype and stretched to one shape."""

    promotes: ClassVar[int | None] = 0


# ---- arithmetic ----------------------------------------------------------------------------------


class Add(Binary):
    """z = x + y"""

    kernel = "add"

    def backward(self, g):
        return g, g


class Sub(Binary):
    """z = x - y"""

    kernel = "sub"

    def backward(self, g):
        return g, -g if self.needs[1] else None


class Mul(Binary):
    """z = x * y"""

    kernel, saves, saved_for = "mul", ("x", "y"), BESIDE

    def backward(self, g, x, y):
        return g * y if self.needs[0] else None, g * x if self.needs[1] else None


class MulAdd(Binary):
    """z = x * y + w"""

    kernel, takes, saves, saved_for = "mul_add", ("x", "y", "w"), ("x", "y"), BESIDE

    def backward(self, g, x, y):
        return g * y if self.needs[0] else None, g * x if self.needs[1] else None, g


class Div(Binary):
    """z = x / y; integers divide as float32"""

    kernel, saves, saved_for, wants_float = "div", ("x", "y"), {"x": "y"}, True

    def backward(self, g, x, y):
        gx = g / y
        return gx, -gx * (x / y) if self.needs[1] else None


class Pow(Binary):
    """z = x**y. d/dx = y x**(y-1), which is 0 where y = 0; d/dy = z ln x, which is 0 where x = 0
    and y >= 0"""

    kernel, saves = "pow", ("x", "y", "out")

    def backward(self, g, x, y, z):
        gx = gy = None
        if self.needs[0]:
            # At x = y = 0 the formula reads 0 * 0**-1; any exponent >= 0 gives the right 0 there.
            # (On bools * is and. If y needs no gradient, every y = 0 may use it, which is cheaper.)
            zero = (x == 0) * (y == 0) if self.needs[1] else y == 0
            gx = g * y * x ** apply("where", zero, y, y - 1)
        if self.needs[1]:
            gy = g * z * apply("where", (x == 0) * (y >= 0), 1.0, x).log()
        return gx, gy


class Neg(Unary):
    """z = -x"""

    kernel = "neg"

    def backward(self, g):
        return -g


class Abs(OfBools, Unary):
    """z = |x|, with derivative 0 at 0"""

    kernel, saves = "abs", ("x",)

    def backward(self, g, x):
        return apply("where", x > 0, g, apply("where", x < 0, -g, 0.0))


class Flat(Unary, abstract=True):
    """A step function: its derivative is 0 wherever it exists."""

    def backward(self, g):
        return g.like(0)


class Sign(OfBools, Flat):
    """z = -1 where x < 0, 0 where x = 0, 1 where x > 0"""

    kernel = "sign"


class FloorDivide(Binary):
    """z = the largest integer <= x / y, like Python's //; its derivative is 0 wherever it exists"""

    kernel = "floor_divide"

    def backward(self, g):
        return g.like(0), g.like(0)


class Remainder(Binary):
    """z = x - y floor(x / y), like Python's %: it has the sign of y"""

    kernel, saves = "remainder", ("x", "y")

    def backward(self, g, x, y):
        return g, -g * apply("floor_divide", x, y) if self.needs[1] else None


class Fmod(Binary):
    """z = x - y trunc(x / y), like C's %: it has the sign of x"""

    kernel, saves = "fmod", ("x", "y")

    def backward(self, g, x, y):
        return g, -g * (x / y).trunc() if self.needs[1] else None


class CopySign(Binary):
    """z = |x| with the sign of y

    >>> from tutor import Tensor
    >>> Tensor([3.0, 3.0]).copysign(Tensor([-1.0, 0.0]))
    Tensor([-3.,  3.])
    """

    kernel, saves, wants_float = "copysign", ("x", "out"), True

    def backward(self, g, x, z):
        return g * (x.sign() * z.sign()), g.like(0)


# ---- choosing ------------------------------------------------------------------------------------


class Extremum(Binary, abstract=True):
    """The larger (or smaller) of two; where they are equal, each gets half of the gradient."""

    saves = ("x", "y")

    def backward(self, g, x, y):
        first, second = (x, y) if self.kernel == "maximum" else (y, x)
        tie = apply("where", x == y, g * 0.5, 0.0)
        gx = apply("where", first > second, g, tie) if self.needs[0] else None
        gy = apply("where", second > first, g, tie) if self.needs[1] else None
        return gx, gy


class Maximum(Extremum):
    """z = the larger of x and y; nan if either is"""

    kernel = "maximum"


class Minimum(Extremum):
    """z = the smaller of x and y; nan if either is"""

    kernel = "minimum"


class Where(Binary):
    """z = x where cond is true, else y"""

    kernel, takes, saves, promotes = "where", ("cond", "x", "y"), ("cond",), 1

    def wrong_dtype(self, i: int, wanted: DType) -> DTypeError:
        found = self.inputs[0].dtype.name
        return DTypeError(
            f"where({found}, ...)",
            f"the condition is {found}, not bool",
            "the condition comes first: where(x > 0, a, b), or (x > 0).where(a, b)",
        )

    def backward(self, g, cond):
        gx = apply("where", cond, g, 0.0) if self.needs[1] else None
        gy = apply("where", cond, 0.0, g) if self.needs[2] else None
        return None, gx, gy


# ---- comparisons: yes or no, without a derivative ------------------------------------------------


class Eq(Binary):
    """z = x == y; nan equals nothing"""

    kernel = "eq"


class Ne(Binary):
    """z = x != y"""

    kernel = "ne"


class Lt(Binary):
    """z = x < y"""

    kernel = "lt"


class Le(Binary):
    """z = x <= y"""

    kernel = "le"


class Gt(Binary):
    """z = x > y"""

    kernel = "gt"


class Ge(Binary):
    """z = x >= y"""

    kernel = "ge"


# ---- the same numbers elsewhere, or in another dtype ---------------------------------------------


class Copy(Unary):
    """z = x, in its own memory"""

    kernel = "copy"

    def backward(self, g):
        return g


class Cast(Unary):
    """z = x in another dtype"""

    kernel, promotes = "cast", None

    def backward(self, g):
        return g.cast(self.edges[0].dtype)
