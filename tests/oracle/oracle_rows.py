"""What a row of oracle_edges.py and oracle_rules.py says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Edge(NamedTuple):
    """f at `inputs`. With `why`: PyTorch's answer is another one, and right are `z`, the values,
    `dx`, the derivatives of s = sum(z) by the operands, and `ddx`, those of r = sum(dx) + sum(z),
    see oracle.py (None: the same as PyTorch's)."""

    name: str
    f: Callable
    inputs: tuple
    torch: Callable | None = None
    orders: int = 2
    why: str | None = None
    z: Any = None
    dx: Any = None
    ddx: Any = None
