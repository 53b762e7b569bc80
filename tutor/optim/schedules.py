"""Schedules: learning rates that change with the steps, or with the loss.

    schedule = OneCycleLR(optimizer, max_lr=0.1, total_steps=1000)
    for x, y in batches:
        ...
        optimizer.step()
        schedule.step()

A schedule writes into the cells of the optimizer's groups, so a step that tutor.jit has recorded
follows it; `schedule.step()` itself is called outside the recorded function. Each rate is computed
from the step count in closed form, `at`, and not from the previous rate: so a schedule can be
evaluated at any step, drawn (`schedule.curve(100)`), and set to one (`load_state_dict`). Where the
rate is no longer the one that the schedule wrote, because you or another schedule have set it, the
schedule goes on from there: as if it had begun with the base that leads to this rate. Schedules
have PyTorch's names and behaviour; t counts steps, from 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.errors import DataError, DomainError
from tutor.optim.limits import RATE, float_or_nan
from tutor.optim.optimizer import Optimizer

Function = Callable[[int], float]


def whole(asked: str, value: object, least: int = 1) -> int:
    """The value, if it is a whole number of at least `least`; DomainError otherwise."""
    if type(value) is int and value >= least:
        return value
    raise DomainError(f"{asked}={value!r:.40}", f"it counts steps: a whole number from {least} on",
                      "use 10, for example")  # fmt: skip


def within(asked: str, value: Any, low: float = 0.0, high: float = math.inf) -> float:
    """The value as float, if it is a number from low to high; DomainError otherwise."""
    number = float_or_nan(value)
    if low <= number <= high and number < math.inf:
        return number
    found = f"it must be a finite number from {low:g} to {high:g}"
    raise DomainError(f"{asked}={value!r:.40}", found,
                      f"use {max(low, min(0.1, high)):g}, for example")  # fmt: skip


def scheduled(of: object, optimizer: Any) -> Optimizer:
    """The optimizer of a schedule. DomainError for anything else."""
    if isinstance(optimizer, Optimizer):
        return optimizer
    raise DomainError(f"{type(of).__name__} over {checks.said(optimizer)}",
                      "it is no optimizer", "give the optimizer first")  # fmt: skip


@spelled
class LRScheduler:
    """A schedule over the groups of an optimizer. A subclass defines `at(t, base)`: the rate after
    t steps of a group that began with the rate `base`.

    `base_lrs` are the rates of each group that `at` starts from, `last_epoch` is the number of
    steps that the schedule has made, and `get_last_lr()` returns the current rates. With
    `goes_on` = False a rate that the schedule did not write is overwritten.
    """

    goes_on = True

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer, self.last_epoch = scheduled(self, optimizer), 0
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        first = "lr" if self.goes_on else "initial_lr"
        self.base_lrs = [float(group[first]) for group in optimizer.param_groups]
        self.write()
        self.written = self.get_last_lr()

    def at(self, t: int, base: float) -> float:
        """The rate after t steps of a group that began with `base`: defined by subclasses."""
        raise NotImplementedError(f"{type(self).__name__} has no at(self, t, base)")

    def step(self) -> None:
        """Advance one step: write the rates for the optimizer's next step."""
        fixed = self.rebase() if self.goes_on else {}
        self.last_epoch += 1
        self.write()
        self.written = self.get_last_lr()
        for i, rate in fixed.items():
            self.optimizer.param_groups[i]["lr"] = rate

    def rebase(self) -> dict[int, float]:
        """Give each group whose rate was set by somebody else the base that leads to it: `at` is a
        line over the base. Returns the rates for which there is none, as where the line is flat."""
        found, t = {}, self.last_epoch
        for i, (rate, own) in enumerate(zip(self.get_last_lr(), self.written, strict=False)):
            if rate != own:
                zero = self.at(t, 0.0)
                slope = self.at(t, 1.0) - zero
                if slope:
                    self.base_lrs[i] = (rate - zero) / slope
                else:
                    found[i] = rate
        return found

    def write(self) -> None:
        """Write the rates after `last_epoch` steps."""
        for group, base in zip(self.optimizer.param_groups, self.base_lrs, strict=False):
            group["lr"] = self.at(self.last_epoch, base)

    def get_last_lr(self) -> list[float]:
        """The current rate of each group."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def curve(self, steps: int) -> list[float]:
        """The rates of the first group for that many steps from the beginning, for plotting."""
        return [self.at(t, self.base_lrs[0]) for t in range(whole("a curve with steps", steps))]

    def state_dict(self) -> dict[str, Any]:
        """Its position: with the same arguments, enough for an exact continuation."""
        return {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Load a `state_dict`, and write the rates. DataError, and nothing is changed, for anything
        else."""
        asked = f"to load a state into {type(self).__name__}"
        do = "load what state_dict() of the same schedule gave"
        checks.state(asked, state, do)
        count, bases = state.get("last_epoch"), state.get("base_lrs")
        fits = isinstance(bases, list) and len(bases) == len(self.base_lrs)
        fits = fits and all(map(RATE.allowed, bases or ()))
        if type(count) is not int or count < 0 or not fits:
            found = f"last_epoch is {count!r:.40}, base_lrs {bases!r:.60}"
            raise DataError(asked, found, do)
        self.last_epoch, self.base_lrs = count, list(bases or ())
        self.write()
        self.written = self.get_last_lr()


@spelled
class StepLR(LRScheduler):
    """base * gamma^floor(t / step_size)"""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1) -> None:
        self.step_size = whole("StepLR with step_size", step_size)
        self.gamma = within("StepLR with gamma", gamma)
        super().__init__(optimizer)

    def at(self, t: int, base: float) -> float:
        return float(base * self.gamma ** (t // self.step_size))


@spelled
class MultiStepLR(LRScheduler):
    """base * gamma^(number of milestones <= t)"""

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1) -> None:
        self.milestones = [whole("MultiStepLR with a milestone", m, 0) for m in milestones]
        self.gamma = within("MultiStepLR with gamma", gamma)
        super().__init__(optimizer)

    def at(self, t: int, base: float) -> float:
        return float(base * self.gamma ** sum(m <= t for m in self.milestones))


@spelled
class ExponentialLR(LRScheduler):
    """base * gamma^t"""

    def __init__(self, optimizer: Optimizer, gamma: float) -> None:
        self.gamma = within("ExponentialLR with gamma", gamma)
        super().__init__(optimizer)

    def at(self, t: int, base: float) -> float:
        return float(base * self.gamma**t)


@spelled
class ConstantLR(LRScheduler):
    """base * factor for t < total_iters, then base"""

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5) -> None:
        self.factor = within("ConstantLR with factor", factor, 0, 1)
        self.total_iters = whole("ConstantLR with total_iters", total_iters, 0)
        super().__init__(optimizer)

    def at(self, t: int, base: float) -> float:
        return base * self.factor if t < self.total_iters else base


@spelled
class LinearLR(LRScheduler):
    """base * (start_factor + (end_factor - start_factor) * min(t / total_iters, 1)): a warm-up"""

    def __init__(self, optimizer: Optimizer, start_factor: float = 1 / 3, end_factor: float = 1.0,
                 total_iters: int = 5) -> None:  # fmt: skip
        self.start_factor = within("LinearLR with start_factor", start_factor, 0, 1)
        self.end_factor = within("LinearLR with end_factor", end_factor, 0, 1)
        self.total_iters = whole("LinearLR with total_iters", total_iters)
        super().__init__(optimizer)

    def at(self, t: int, base: float) -> float:
        share = min(t, self.total_iters) / self.total_iters
        return base * (self.start_factor + (self.end_factor - self.start_factor) * share)


@spelled
class PolynomialLR(LRScheduler):
    """base * (1 - min(t / total_iters, 1))^power"""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0) -> None:
        self.total_iters = whole("PolynomialLR with total_iters", total_iters)
        self.power = within("PolynomialLR with power", power)
        super().__init__(optimizer)

    def at(self, t: int, base: float) -> float:
        return float(base * (1 - min(t, self.total_iters) / self.total_iters) ** self.power)


@spelled
class CosineAnnealingLR(LRScheduler):
    """eta_min + (base - eta_min) * (1 + cos(pi t / T_max)) / 2 (Loshchilov & Hutter 2017, "SGDR:
    stochastic gradient descent with warm restarts", equation 5)"""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0) -> None:  # noqa: N803
        self.T_max = whole("CosineAnnealingLR with T_max", T_max)
        self.eta_min = within("CosineAnnealingLR with eta_min", eta_min)
        super().__init__(optimizer)

    def at(self, t: int, base: float) -> float:
        return cosine(base, self.eta_min, t / self.T_max)


def cosine(start: float, end: float, share: float) -> float:
    """Half a cosine wave from start, at share 0, to end, at share 1."""
    return end + (start - end) * (1 + math.cos(math.pi * share)) / 2


@spelled
class CosineAnnealingWarmRestarts(LRScheduler):
    """CosineAnnealingLR over T_0 steps, then again over T_0 * T_mult, T_0 * T_mult² ..."""

    goes_on = False

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1,  # noqa: N803
                 eta_min: float = 0.0) -> None:  # fmt: skip
        of = "CosineAnnealingWarmRestarts with "
        self.T_0, self.T_mult = whole(f"{of}T_0", T_0), whole(f"{of}T_mult", T_mult)
        self.eta_min = within(f"{of}eta_min", eta_min)
        super().__init__(optimizer)

    def at(self, t: int, base: float) -> float:
        length = self.T_0
        while t >= length:
            t, length = t - length, length * self.T_mult
        return cosine(base, self.eta_min, t / length)


@spelled
class LambdaLR(LRScheduler):
    """base * f(t), with one function for all groups, or one for each"""

    goes_on = False

    def __init__(self, optimizer: Optimizer, lr_lambda: Function | Sequence[Function]) -> None:
        groups = len(optimizer.param_groups)
        self.lambdas = [lr_lambda] * groups if callable(lr_lambda) else list(lr_lambda)
        if len(self.lambdas) != groups or not all(map(callable, self.lambdas)):
            raise DomainError(f"LambdaLR over {groups} groups", f"{len(self.lambdas)} functions",
                              "give one function of t, or one for each group")  # fmt: skip
        super().__init__(optimizer)

    def at(self, t: int, base: float) -> float:
        return float(base * self.lambdas[0](t))

    def write(self) -> None:
        groups = self.optimizer.param_groups
        for group, base, f in zip(groups, self.base_lrs, self.lambdas, strict=False):
            group["lr"] = base * f(self.last_epoch)


def warmup_cosine(optimizer: Optimizer, warmup_steps: int, total_steps: int,
                  end_factor: float = 0.0) -> LambdaLR:  # fmt: skip
    """From 0 to the rate within warmup_steps, as a line; then down to end_factor of it at
    total_steps, as half a cosine: the schedule of most language models.

    base * (t + 1) / warmup_steps, then base * (end_factor + (1 - end_factor) * (1 + cos(pi s)) / 2)
    with s = (t - warmup_steps) / (total_steps - warmup_steps), at most 1.
    """
    warm, total = whole("warmup_steps", warmup_steps, 0), whole("total_steps", total_steps)
    end = within("end_factor", end_factor, 0, 1)
    if warm >= total:
        raise DomainError(f"warmup_cosine with {warm} of {total} steps", "nothing is left to fall",
                          "give more total_steps than warmup_steps")  # fmt: skip

    def factor(t: int) -> float:
        if t < warm:
            return (t + 1) / warm
        return cosine(1.0, end, min(1.0, (t - warm) / (total - warm)))

    return LambdaLR(optimizer, factor)
