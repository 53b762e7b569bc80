"""What the pages share that are carried out in a copy of the tree."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def field(tmp_path: Path) -> Iterator[Any]:
    """A copy of the tree with an interpreter of its own, and the extension in use: that of the
    planted bugs."""
    sys.path.append(str(ROOT / "tests" / "mutants"))
    try:
        field = importlib.import_module("plant").Field(ROOT, tmp_path)
        field.extend(native=False)
        yield field
    finally:
        sys.path.pop()
