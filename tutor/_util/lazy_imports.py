"""Lazy imports: modules that are loaded on first use.

`t.explain()` draws a picture, `t.__array_namespace__()` returns the array API, `@tutor.jit` records
and replays: all of them build on the complete Tensor, and many programs never need them. Callers
therefore know only a name; `tutor/__init__.py`, the top of the package, maps it to a module.

    TUTOR_IMPORT=all python train_mnist.py    # load everything at once, say before a server forks

tests/test_imports.py lists what `import tutor` may load.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from tutor.errors import TutorError

PLACES: dict[str, str] = {}  # name -> module
AT_ONCE = os.environ.get("TUTOR_IMPORT") == "all"


def load(name: str) -> Any:
    """The module registered under that name."""
    if name not in PLACES:
        raise TutorError(f"the module {name!r}", "nothing here knows it", "write `import tutor`")
    return importlib.import_module(PLACES[name])
