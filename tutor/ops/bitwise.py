"""Bitwise not, and, or, xor, and shifts. On bools the first four are the logical operations."""

from __future__ import annotations

from tutor.ops.elementwise import Binary, Unary


class BitwiseNot(Unary):
    """z = ~x: every bit flipped; on bools, not"""

    kernel = "bitwise_not"


class BitwiseAnd(Binary):
    """z = x & y"""

    kernel = "bitwise_and"


class BitwiseOr(Binary):
    """z = x | y"""

    kernel = "bitwise_or"


class BitwiseXor(Binary):
    """z = x ^ y"""

    kernel = "bitwise_xor"


class BitwiseLeftShift(Binary):
    """z = x * 2**y modulo 2**bits; DomainError where y < 0"""

    kernel = "bitwise_left_shift"


class BitwiseRightShift(Binary):
    """z = floor(x / 2**y); DomainError where y < 0"""

    kernel = "bitwise_right_shift"
