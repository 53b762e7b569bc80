"""All schedules under PyTorch's names: those of one formula (schedules.py), and here those made of
several, the one-cycle schedule, and the one that waits for the loss."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.errors import DataError, DomainError
from tutor.interop import missing_names
from tutor.optim.limits import flag, float_or_nan
from tutor.optim.optimizer import Optimizer
from tutor.optim.schedules import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    MultiStepLR,
    PolynomialLR,
    StepLR,
    cosine,
    scheduled,
    warmup_cosine,
    whole,
    within,
)

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts",
    "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "OneCycleLR",
    "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR", "warmup_cosine",
]  # fmt: skip


@spelled
class OneCycleLR(LRScheduler):
    """Up to max_lr and down to almost 0 within total_steps (Smith & Topin 2019,
    "Super-convergence: very fast training of neural networks using large learning rates")

    From max_lr / div_factor to max_lr within pct_start of the steps, then down to max_lr /
    (div_factor * final_div_factor), each as half a cosine or, with `anneal_strategy="linear"`, as a
    line. `three_phase` first falls to the initial rate as fast as it rose, then to the final one.
    With `cycle_momentum` the momentum (for Adam beta1) moves the other way, from max_momentum to
    base_momentum and back. DomainError for more than total_steps steps.
    """

    goes_on = False

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int,
        *,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float = 0.85,
        max_momentum: float = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
    ) -> None:
        of, groups = "OneCycleLR with ", optimizer.param_groups
        rates = list(max_lr) if isinstance(max_lr, (list, tuple)) else [max_lr] * len(groups)
        if len(rates) != len(groups) or anneal_strategy not in ("cos", "linear"):
            found = f"anneal_strategy={anneal_strategy!r} over {len(groups)} groups"
            do = 'give one max_lr, or one for each group; "cos" or "linear"'
            raise DomainError(f"{of}{len(rates)} rates and {found}", "they do not fit", do)
        self.max_lrs = [within(f"{of}max_lr", rate) for rate in rates]
        self.total_steps = whole(f"{of}total_steps", total_steps, 2)
        start = within(f"{of}pct_start", pct_start, 0, 1) * self.total_steps
        self.linear = anneal_strategy == "linear"
        self.first = 1 / within(f"{of}div_factor", div_factor, 1)
        self.last = self.first / within(f"{of}final_div_factor", final_div_factor, 1)
        low, top = (within(f"{of}a momentum", m, 0, 1) for m in (base_momentum, max_momentum))
        # Where each phase ends, its first and last share of max_lr, its first and last momentum.
        end = self.total_steps - 1.0
        self.phases = [(start - 1, self.first, 1.0, top, low)]
        if flag(f"{of}three_phase", three_phase):
            self.phases.append((2 * start - 2, 1.0, self.first, low, top))
            self.phases.append((end, self.first, self.last, top, top))
        else:
            self.phases.append((end, 1.0, self.last, low, top))
        has = [name for name in ("betas", "momentum") if name in optimizer.limits]
        self.moves = flag(f"{of}cycle_momentum", cycle_momentum) and has[:1]
        if cycle_momentum and not has:
            raise DomainError(f"{of}cycle_momentum over {type(optimizer).__name__}",
                              "it has neither momentum nor betas",
                              "pass cycle_momentum=False")  # fmt: skip
        super().__init__(optimizer)

    def share(self, t: int) -> tuple[float, float]:
        """The share of max_lr, and the momentum, after t steps."""
        ends = [0.0, *(phase[0] for phase in self.phases)]
        i = sum(t > end for end in ends[1:-1])
        begin, (end, first, last, m_first, m_last) = ends[i], self.phases[i]
        # A phase of a single step is at its end; so is the last phase after all steps.
        share = min(1.0, (t - begin) / (end - begin)) if end > begin else 1.0
        if self.linear:
            return first + (last - first) * share, m_first + (m_last - m_first) * share
        return cosine(first, last, share), cosine(m_first, m_last, share)

    def at(self, t: int, base: float) -> float:
        return self.max_lrs[0] * self.share(t)[0]

    def write(self) -> None:
        if self.last_epoch > self.total_steps:  # a loop's last step is followed by ours
            self.last_epoch -= 1
            raise DomainError(f"step {self.last_epoch + 1} of a OneCycleLR",
                              f"it was made for total_steps={self.total_steps}",
                              "make it for as many steps as there will be")  # fmt: skip
        share, momentum = self.share(self.last_epoch)
        for group, rate in zip(self.optimizer.param_groups, self.max_lrs, strict=False):
            group["lr"] = rate * share
            if self.moves == ["betas"]:
                group["betas"] = (momentum, group["betas"][1])
            elif self.moves:
                group["momentum"] = momentum


@spelled
class ChainedScheduler(LRScheduler):
    """base * (a_t / base) * (b_t / base) ...: the factors of several schedules multiplied."""

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        self.schedulers = checked("ChainedScheduler", schedulers, optimizer)
        super().__init__(self.schedulers[0].optimizer)

    def at(self, t: int, base: float) -> float:
        rate = base
        for schedule in self.schedulers if base else ():
            rate *= schedule.at(t, base) / base
        return rate


@spelled
class SequentialLR(LRScheduler):
    """One schedule after another: the i-th from milestones[i - 1] on, where its t is 0"""

    def __init__(self, optimizer: Optimizer, schedulers: Sequence[LRScheduler],
                 milestones: Sequence[int]) -> None:  # fmt: skip
        self.schedulers = checked("SequentialLR", schedulers, optimizer)
        self.milestones = [whole("SequentialLR with a milestone", m) for m in milestones]
        if len(milestones) != len(schedulers) - 1 or sorted(set(milestones)) != self.milestones:
            raise DomainError(f"SequentialLR of {len(schedulers)} schedules",
                              f"milestones are {self.milestones}",
                              "give one fewer than schedules, each above the last")  # fmt: skip
        super().__init__(optimizer)

    def at(self, t: int, base: float) -> float:
        i = sum(m <= t for m in self.milestones)
        return self.schedulers[i].at(t - (self.milestones[i - 1] if i else 0), base)


def checked(of: str, schedulers: Sequence[LRScheduler], optimizer: Any) -> list[LRScheduler]:
    """The schedules, with the rates as they were before them. DomainError unless all are of one
    formula, `at`, over one optimizer."""
    found = list(schedulers)
    alike = all(isinstance(s, LRScheduler) and type(s).write is LRScheduler.write for s in found)
    if not found or not alike or len({id(s.optimizer) for s in found}) > 1 or (
        optimizer is not None and found[0].optimizer is not optimizer
    ):  # fmt: skip
        raise DomainError(f"{of} of {[type(s).__name__ for s in found]}",
                          "it is made of schedules of one formula, over one optimizer",
                          "give such as LinearLR and CosineAnnealingLR")  # fmt: skip
    for group in found[0].optimizer.param_groups:
        group["lr"] = group["initial_lr"]
    return found


@spelled
class ReduceLROnPlateau:
    """rate <- max(factor * rate, min_lr) when `step(metric)` has seen no improvement for more than
    `patience` steps

    An improvement is below the best so far (`mode="max"`: above it) by the fraction `threshold` of
    it (with `threshold_mode="abs"`, by threshold itself). After a change `cooldown` steps do not
    count. A rate that would change by less than `eps` stays.

    `best` is the best metric so far, negated for `mode="max"`, so that less is always better.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0.0,
        eps: float = 1e-8,
    ) -> None:
        of = "ReduceLROnPlateau with "
        modes = mode in ("min", "max") and threshold_mode in ("rel", "abs")
        if not (modes and float_or_nan(factor) < 1):
            raise DomainError(
                f"{of}mode={mode!r}, threshold_mode={threshold_mode!r}, factor={factor!r}",
                "there is no such mode, or the rate would not become less",
                'use "min" or "max"; "rel" or "abs"; a factor below 1',
            )
        self.optimizer, self.sign = scheduled(self, optimizer), 1.0 if mode == "min" else -1.0
        self.factor, self.min_lr = (
            within(f"{of}factor", factor, 0, 1),
            within(f"{of}min_lr", min_lr),
        )
        self.patience = whole(f"{of}patience", patience, 0)
        self.cooldown = whole(f"{of}cooldown", cooldown, 0)
        self.threshold, self.relative = within(f"{of}threshold", threshold), threshold_mode == "rel"
        self.eps = within(f"{of}eps", eps)
        self.best, self.bad, self.resting, self.last_epoch = math.inf, 0, 0, 0

    def step(self, metrics: Any) -> None:
        """Take the current metric: a number, or a Tensor of one. DTypeError for anything else."""
        metric = metrics.item() if hasattr(metrics, "item") else metrics
        value = self.sign * float(checks.number("ReduceLROnPlateau.step(metrics)", metric))
        self.last_epoch += 1
        margin = self.threshold * (abs(self.best) if self.relative else 1.0)
        if value < (self.best - margin if self.best < math.inf else math.inf):
            self.best, self.bad = value, 0
        else:  # nan is never better
            self.bad += 1
        if self.resting:
            self.resting, self.bad = self.resting - 1, 0
        if self.bad > self.patience:
            for group in self.optimizer.param_groups:
                rate = max(group["lr"] * self.factor, self.min_lr)
                if group["lr"] - rate > self.eps:
                    group["lr"] = rate
            self.resting, self.bad = self.cooldown, 0

    def get_last_lr(self) -> list[float]:
        """The current rate of each group."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """The best so far and the counts; the rates are in the optimizer's own state."""
        return {name: getattr(self, name) for name in ("best", "bad", "resting", "last_epoch")}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Load a `state_dict`. DataError, and nothing is changed, for anything else."""
        asked = "to load a state into ReduceLROnPlateau"
        do = "load what state_dict() of such a schedule gave"
        if checks.state(asked, state, do).keys() != self.state_dict().keys():
            raise DataError(asked, f"it has {', '.join(state) or 'nothing'}", do)
        counts = [state[name] for name in ("bad", "resting", "last_epoch")]
        best = float_or_nan(state["best"])
        if best != best or any(type(n) is not int or n < 0 for n in counts):
            found = ", ".join(f"{name} is {value!r:.40}" for name, value in state.items())
            raise DataError(asked, found, do)
        for name, value in state.items():
            setattr(self, name, value)


missing_names.watch(__name__)
