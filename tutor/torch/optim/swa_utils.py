"""torch.optim.swa_utils: a running average of a model's parameters."""

from __future__ import annotations

import copy
from typing import Any

from tutor.core.engine.grad_mode import no_grad
from tutor.errors import ArgumentError
from tutor.torch.carrier import Plain, watch
from tutor.torch.nn.module import Module


def get_ema_avg_fn(decay=0.999):
    """averaged -> decay averaged + (1 - decay) p"""
    return lambda averaged, p, count: decay * averaged + (1 - decay) * p


def get_ema_multi_avg_fn(decay=0.999):
    """The same for lists of tensors, in place."""

    def update(averaged: Any, parameters: Any, count: Any) -> None:
        for mean, p in zip(averaged, parameters, strict=True):
            Plain.assign(mean, decay * mean + (1 - decay) * p)

    return update


class AveragedModel(Module):
    """A copy of a model whose parameters are the mean of those it was updated with, or what
    `avg_fn(averaged, p, count)` makes of them."""

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        self.module = copy.deepcopy(model)
        self.register_buffer("n_averaged", Plain(0, dtype="int64"))
        if multi_avg_fn is not None and avg_fn is not None:
            raise ArgumentError("AveragedModel", "it has both averaging functions", "give one")
        self.avg_fn = avg_fn or (lambda mean, p, count: mean + (p - mean) / (count + 1))
        self.multi_avg_fn, self.use_buffers = multi_avg_fn, use_buffers

    def forward(self, *args, **options):
        """The averaged model's."""
        return self.module(*args, **options)

    @no_grad
    def update_parameters(self, model):
        """Take the parameters as they are now into the average."""
        count = int(self.n_averaged.item())
        later = []
        for mean, p in self.pairs(model, self.use_buffers):
            if count and mean.dtype.is_float:
                later.append((mean.detach(), p.detach()))
            else:
                Plain.assign(mean, p.detach())
        if self.multi_avg_fn is not None and later:
            self.multi_avg_fn(*map(list, zip(*later, strict=True)), self.n_averaged)
        for mean, p in later if self.multi_avg_fn is None else ():
            Plain.assign(mean, self.avg_fn(mean, p, self.n_averaged))
        if not self.use_buffers:
            for mine, theirs in zip(self.module.buffers(), model.buffers(), strict=True):
                Plain.assign(mine, theirs.detach())
        self.n_averaged += 1

    def pairs(self, model: Any, buffers: bool) -> list[tuple[Any, Any]]:
        """What is averaged, and its counterpart."""
        mine, theirs = [*self.module.parameters()], [*model.parameters()]
        if buffers:
            mine, theirs = [*mine, *self.module.buffers()], [*theirs, *model.buffers()]
        return list(zip(mine, theirs, strict=True))


watch(__name__)
