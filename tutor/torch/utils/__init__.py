"""torch.utils: data, checkpoint."""
# ruff: noqa: F401 - the names are what is imported

from __future__ import annotations

from typing import Any

from tutor.torch.carrier import missing
from tutor.torch.utils import checkpoint, data


def __getattr__(name: str) -> Any:
    raise missing("utils", name)
