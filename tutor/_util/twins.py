"""Twins: native code that takes the place of readable code, and does the same faster.

The readable code is complete. It asks here for its twin, and so knows no backend; simd_cpp puts its
twins here when it is imported, unless it was not built, and those of the Engine unless
TUTOR_NATIVE=0 is set. (PEP 399 asks this of every accelerator: the same tests for both, and the
readable one stays.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _none_of_engine(engine: Any, apply: Callable[..., Any]) -> Any:
    return apply


def _no_change(name: str, x: Any, y: Any) -> bool:
    return False


# The extension module, with the classes Memory, Holder and Edges; None if it was not built.
extension: Any = None

# Gives the methods of an Engine their twins, and returns that of `apply`.
of_engine: Callable[[Any, Callable[..., Any]], Any] = _none_of_engine

# Does `x += y`, and says whether it has: methods/inplace.py.
change: Callable[[str, Any, Any], bool] = _no_change
