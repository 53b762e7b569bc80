"""torch.cuda: there is none. Functions that only ask say so; the others refuse."""

from __future__ import annotations

from typing import Any

from tutor.torch.carrier import missing


def is_available() -> bool:
    """False"""
    return False


def device_count() -> int:
    """0"""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing to seed."""


def manual_seed_all(seed: int) -> None:
    """Nothing to seed."""


def synchronize(device: Any = None) -> None:
    """Nothing to wait for."""


def empty_cache() -> None:
    """Nothing to empty."""


def is_bf16_supported() -> bool:
    """False"""
    return False


def __getattr__(name: str) -> Any:
    if name == "amp":
        from tutor.torch import amp

        return amp
    raise missing("cuda", name)
