"""Modules that are loaded when they are first asked for.

`t.explain()` draws a picture, `t.__array_namespace__()` gives the array API, `@tutor.jit` records
and replays: they are built on all that a Tensor is, and many programs never need them. So the one
who asks knows a name only, and `tutor/__init__.py`, which stands above everything, says which
module that is.

    TUTOR_IMPORT=all python train_mnist.py    # everything at once: before a server forks, say

tests/test_imports.py lists what `import tutor` may load.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

PLACES: dict[str, str] = {}  # name -> module
AT_ONCE = os.environ.get("TUTOR_IMPORT") == "all"


def load(name: str) -> Any:
    """The module of that name."""
    return importlib.import_module(PLACES[name])
