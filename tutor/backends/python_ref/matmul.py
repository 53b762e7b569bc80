"""Matrix products."""

from __future__ import annotations

import math
import operator
from typing import Any

from tutor.backends.python_ref.reduce import total
from tutor.backends.python_ref.walk import Kernel, Operand, groups, write


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


KERNELS: dict[str, Kernel] = {"matmul": matmul}
