"""Bit by bit: not, and, or, xor, and shifts. On bools these are the words of logic."""

from __future__ import annotations

from typing import Any

from tutor.core.op import Op, Shape
from tutor.dtype import DType, bool_
from tutor.errors import DTypeError
from tutor.ops.elementwise import Binary, Unary, broadcast


def whole(op: Op, dtype: DType, bools: bool = True) -> DType:
    """`dtype`, if it is made of bits that mean something by themselves."""
    if not (dtype.is_integer or (bools and dtype is bool_)):
        raise DTypeError(
            f"{op.name} of {dtype.name}",
            f"it is for integers{' and bools' if bools else ''}",
            "compare first (x > 0), use logical_and and its like, or .cast() to an integer dtype",
        )
    return dtype


class BitwiseNot(Unary):
    """z = ~x: every bit turned; of a bool, not"""

    kernel, name = "bitwise_not", "bitwise_not"

    def infer(self, x: Any) -> tuple[Shape, DType]:
        return x.shape, whole(self, x.buf.dtype)


class Bitwise(Binary, abstract=True):
    """Two operands of integers, or of bools."""

    bools = True

    def infer(self, x: Any, y: Any) -> tuple[Shape, DType]:
        shape, dtype = broadcast(self, x, y)
        return shape, whole(self, dtype, self.bools)


class BitwiseAnd(Bitwise):
    """z = x & y"""

    kernel = "bitwise_and"


class BitwiseOr(Bitwise):
    """z = x | y"""

    kernel = "bitwise_or"


class BitwiseXor(Bitwise):
    """z = x ^ y"""

    kernel = "bitwise_xor"


class BitwiseLeftShift(Bitwise):
    """z = x * 2**y modulo 2**bits; DomainError where y < 0"""

    kernel, bools = "bitwise_left_shift", False


class BitwiseRightShift(Bitwise):
    """z = floor(x / 2**y); DomainError where y < 0"""

    kernel, bools = "bitwise_right_shift", False
