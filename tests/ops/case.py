"""A row of the case tables rows_*.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Case(NamedTuple):
    op: str  # the op that the row is about, or the method, where that is composed of several
    f: Callable
    shapes: tuple
    oracle: Callable | None = None  # the same with NumPy; without, the derivative must do
    # normal; positive: from 0.5 on; apart: no two equal, none 0; unit: inside (-1, 1);
    # above: from 1.1 on; ints: small whole numbers as int64; bools
    values: str = "normal"
    orders: int = 2  # of derivatives to be checked; 0: it has none
