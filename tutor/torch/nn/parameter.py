"""torch.nn.parameter: Parameter."""

from __future__ import annotations

from tutor.torch.carrier import Parameter, watch

__all__ = ["Parameter"]
watch(__name__)
