"""torch.optim.lr_scheduler: tutor's schedules with PyTorch's signatures."""

from __future__ import annotations

from typing import Any

from tutor.optim import lr_scheduler as ours
from tutor.torch.carrier import watch
from tutor.torch.optim.base import adopted

SIGNATURES = """
ConstantLR(optimizer, factor=0.3333333333333333, total_iters=5, last_epoch=-1)
CosineAnnealingLR(optimizer, T_max, eta_min=0.0, last_epoch=-1)
CosineAnnealingWarmRestarts(optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1)
ExponentialLR(optimizer, gamma, last_epoch=-1)
LambdaLR(optimizer, lr_lambda, last_epoch=-1)
LinearLR(optimizer, start_factor=0.3333333333333333, end_factor=1.0, total_iters=5, last_epoch=-1)
MultiStepLR(optimizer, milestones, gamma=0.1, last_epoch=-1)
PolynomialLR(optimizer, total_iters=5, power=1.0, last_epoch=-1)
SequentialLR(optimizer, schedulers, milestones, last_epoch=-1)
StepLR(optimizer, step_size, gamma=0.1, last_epoch=-1)
ReduceLROnPlateau(optimizer, mode='min', factor=0.1, patience=10, threshold=0.0001, \
threshold_mode='rel', cooldown=0, min_lr=0, eps=1e-08)
"""
_ONE_CYCLE = """
OneCycleLR(optimizer, max_lr, total_steps=None, *, pct_start=0.3, anneal_strategy='cos', \
cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0, \
final_div_factor=10000.0, three_phase=False, last_epoch=-1)
"""
LRScheduler, ChainedScheduler = ours.LRScheduler, ours.ChainedScheduler
globals().update(adopted(SIGNATURES, ours))
_OneCycleLR: Any = adopted(_ONE_CYCLE, ours)["OneCycleLR"]


class OneCycleLR(_OneCycleLR):  # type: ignore[misc]
    """The rate rises to `max_lr` and falls, in total_steps or epochs * steps_per_epoch."""

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None,
                 pct_start=0.3, **options):  # fmt: skip
        if total_steps is None and epochs is not None and steps_per_epoch is not None:
            total_steps = epochs * steps_per_epoch
        super().__init__(optimizer, max_lr, total_steps, pct_start=pct_start, **options)


watch(__name__)
