"""torch.utils.checkpoint: backward recomputes a part of a network instead of storing it."""

from __future__ import annotations

from tutor.functions import checkpointing
from tutor.torch.carrier import tag


def checkpoint(function, *args, use_reentrant=None, preserve_rng_state=True, **options):
    """`function(*args)`; its intermediate results are computed again in backward."""
    return tag(checkpointing.checkpoint(lambda *given: function(*tag(given), **options), *args))
