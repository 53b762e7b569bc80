"""torch.amp: autocast and GradScaler, as in tutor.amp. Without CUDA both are off for "cuda"."""

from __future__ import annotations

from tutor import amp as ours
from tutor.core.engine.casting import autocast as plain_autocast
from tutor.dtype import bfloat16
from tutor.torch.carrier import watch
from tutor.torch.objects import dtype_of


def autocast(device_type="cuda", dtype=None, enabled=True, cache_enabled=None):
    """A block, or a decorator, in which products compute in 16 bits: on the CPU by default in
    bfloat16. For "cuda", which is not here, it changes nothing, as in PyTorch."""
    wanted = dtype_of(dtype) or bfloat16
    return plain_autocast(wanted, enabled=bool(enabled) and device_type == "cpu")


class GradScaler(ours.GradScaler):
    """Loss scaling; off unless it is for the CPU, as PyTorch's is without CUDA."""

    def __init__(self, device="cuda", init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5,
                 growth_interval=2000, enabled=True) -> None:  # fmt: skip
        on = bool(enabled) and device == "cpu"
        super().__init__(init_scale, growth_factor, backoff_factor, growth_interval, on)

    def is_enabled(self) -> bool:
        """Does it scale?"""
        return bool(self.enabled)


watch(__name__)
