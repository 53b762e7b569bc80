"""torch.cuda: there is none. Functions that only ask say so; the others refuse."""

from __future__ import annotations

from typing import Any

from tutor.torch import amp  # noqa: F401 - torch.cuda.amp
from tutor.torch.carrier import watch

ANSWERS = {
    "is_available": False, "device_count": 0, "is_bf16_supported": False, "is_initialized": False,
    "manual_seed": None, "manual_seed_all": None, "synchronize": None, "empty_cache": None,
}  # fmt: skip


def _answer(found: Any) -> Any:
    return lambda *args, **options: found


globals().update({name: _answer(found) for name, found in ANSWERS.items()})
watch(__name__)
