"""torch.utils: data, checkpoint."""
# ruff: noqa: F401 - the names are what is imported

from __future__ import annotations

from typing import Any

from tutor.torch.carrier import watch
from tutor.torch.utils import checkpoint, data

watch(__name__)
