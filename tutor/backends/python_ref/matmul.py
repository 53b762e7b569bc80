"""Matrix products."""

from __future__ import annotations

import math
import operator
from typing import Any

from tutor.backends.python_ref.elementwise import relu as cut
from tutor.backends.python_ref.reduce import total
from tutor.backends.python_ref.walk import Kernel, Operand, groups, read, write


def dot(x: list[Any], y: list[Any]) -> Any:
    """sum_k x_k * y_k"""
    return total(list(map(operator.mul, x, y)))


def matmul(out: Operand, x: Operand, y: Operand) -> None:
    """z_ij = sum_k x_ik * y_kj, for each index of the leading axes"""
    m, n = out.shape[-2:]
    rows, columns = groups(x, -1), groups(y, -2)
    write(
        out,
        [
            dot(row, column)
            for b in range(math.prod(out.shape[:-2]))
            for row in rows[b * m : (b + 1) * m]
            for column in columns[b * n : (b + 1) * n]
        ],
    )


def linear(out: Operand, x: Operand, w: Operand, b: Operand, *, relu: bool = False) -> None:
    """z_ij = sum_k x_ik * w_jk + b_j, cut off at 0 if relu"""
    columns = list(zip(groups(w, -1), read(b), strict=True))
    z = [dot([*row, 1.0], [*column, bias]) for row in groups(x, -1) for column, bias in columns]
    write(out, [cut(zi) for zi in z] if relu else z)


KERNELS: dict[str, Kernel] = {"matmul": matmul, "linear": linear}
