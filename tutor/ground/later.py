"""Modules that are loaded when they are first asked for.

`t.explain()` draws a picture, `t.__array_namespace__()` gives the array API: both are built on all
that a Tensor is, and most programs never need them. So the one who asks knows a name only, and
`tutor/__init__.py`, which stands above everything, says which module that is.
"""

from __future__ import annotations

import importlib
from typing import Any

PLACES: dict[str, str] = {}  # name -> module


def load(name: str) -> Any:
    """The module of that name."""
    return importlib.import_module(PLACES[name])
