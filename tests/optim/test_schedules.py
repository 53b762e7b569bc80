"""Schedules: 100 rates against PyTorch's, in cells, saved and gone on with."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tutor
from tutor import Tensor, optim
from tutor.errors import DataError, DomainError, DTypeError
from tutor.optim import lr_scheduler as ours_of

theirs_of: Any = torch.optim.lr_scheduler
MAKES: dict[str, Any] = {  # (the module of schedules, the optimizer) -> the schedule
    "step": lambda s, o: s.StepLR(o, 7, 0.5),
    "multi step": lambda s, o: s.MultiStepLR(o, [5, 5, 40, 80], gamma=0.3),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.97),
    "constant": lambda s, o: s.ConstantLR(o, 0.25, 12),
    "linear": lambda s, o: s.LinearLR(o, 0.1, 0.9, 20),
    "polynomial": lambda s, o: s.PolynomialLR(o, 60, 2.0),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 100, 0.001),
    "cosine, there and back": lambda s, o: s.CosineAnnealingLR(o, 30),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 10, 2, 0.001),
    "lambda": lambda s, o: s.LambdaLR(o, lambda t: 1 / (1 + t)),
    "lambdas": lambda s, o: s.LambdaLR(o, [lambda t: 0.9**t, lambda t: 1 / (1 + t)]),
    "one cycle": lambda s, o: s.OneCycleLR(o, 0.3, 100),
    "one cycle, the momentum stays": lambda s, o: s.OneCycleLR(o, 0.3, 100, cycle_momentum=False),
    "one cycle, lines": lambda s, o: s.OneCycleLR(
        o, 0.3, 120, pct_start=0.4, anneal_strategy="linear"
    ),
    "one cycle, three": lambda s, o: s.OneCycleLR(o, [0.3, 0.1], 101, three_phase=True),
    "chained": lambda s, o: s.ChainedScheduler(
        [s.LinearLR(o, 0.1, 1.0, 20), s.ExponentialLR(o, 0.99), s.StepLR(o, 30)]
    ),
    "in a row": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, 1.0, 20), s.CosineAnnealingLR(o, 80)], [20]
    ),
    "three in a row": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 5), s.ExponentialLR(o, 0.9), s.StepLR(o, 9)], [10, 50]
    ),
}
SETTINGS = ({"lr": 0.1}, {"lr": 0.02})


def pair() -> tuple[Any, Any]:
    """An optimizer of ours and one of PyTorch's, with two groups."""
    mine = [{"params": [Tensor([1.0], requires_grad=True)], **more} for more in SETTINGS]
    other = [{"params": [torch.ones(1, requires_grad=True)], **more} for more in SETTINGS]
    return optim.SGD(mine, momentum=0.9), torch.optim.SGD(other, momentum=0.9)


def rates(schedule: Any, optimizer: Any, steps: int = 100, *metrics: Any) -> list[Any]:
    found = []
    for _ in range(steps):
        found.append([(group["lr"], group["momentum"]) for group in optimizer.param_groups])
        optimizer.step()
        schedule.step(*metrics)
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MAKES)
def test_a_hundred_rates(name: str) -> None:
    mine, other = pair()
    schedule = MAKES[name](ours_of, mine)
    found = rates(schedule, mine)
    wanted = rates(MAKES[name](theirs_of, other), other)
    for step, (a, b) in enumerate(zip(found, wanted, strict=True)):
        assert sum(a, ()) == pytest.approx(sum(b, ()), rel=1e-9, abs=1e-12), f"step {step}"
    if name != "lambdas":
        assert schedule.curve(100) == pytest.approx([step[0][0] for step in found], rel=1e-15)


@pytest.mark.parametrize("name", MAKES)
def test_it_goes_on_where_it_was_saved(name: str) -> None:
    one, other = pair()[0], pair()[0]
    schedule = MAKES[name](ours_of, one)
    rates(schedule, one, 33)
    for group in other.param_groups:  # it is made over another rate
        group["lr"] *= 7
    again, state = MAKES[name](ours_of, other), schedule.state_dict()
    again.load_state_dict(state)
    state["base_lrs"][:] = [9.0, 9.0]  # which is a copy, and was copied
    assert rates(schedule, one, 40) == rates(again, other, 40)
    for count, bases in ((None, None), (-1, [1.0, 1.0]), (1, [1.0]), (1, [-1.0, 1.0])):
        bad = {"last_epoch": count, "base_lrs": bases}
        with pytest.raises(DataError):
            again.load_state_dict(bad)


PLATEAUS: dict[str, dict[str, Any]] = {
    "plain": {"patience": 3},
    "absolute": {"threshold": 0.05, "threshold_mode": "abs", "patience": 1},
    "max": {"mode": "max", "patience": 2}, "cooldown": {"patience": 1, "cooldown": 4},
    "at least": {"patience": 0, "min_lr": 0.01, "factor": 0.5},
    "far": {"patience": 1, "threshold": 0.3, "factor": 0.9},
    "far, absolute": {
        "patience": 1, "threshold": 0.3, "threshold_mode": "abs", "factor": 0.9
    },
    "no less": {"patience": 0, "factor": 0.5, "eps": 0.05},
}  # fmt: skip


@pytest.mark.parametrize("name", PLATEAUS)
def test_a_plateau(name: str) -> None:
    mine, other = pair()
    a = ours_of.ReduceLROnPlateau(mine, **PLATEAUS[name])
    b = theirs_of.ReduceLROnPlateau(other, **PLATEAUS[name])
    metrics = [1.0, 0.9, 0.9, 0.95, 0.9, 0.90001, 0.5, 0.6, 0.7, float("nan"), 0.8, 0.4] * 5
    metrics += [0.3, 0.29, 0.26, 0.2, 0.15, 0.149, 0.0, -0.1, -0.101, -0.2]  # slowly, and below 0
    for n, metric in enumerate(metrics):
        mine.step()
        other.step()
        a.step(Tensor(metric) if n % 2 else metric)
        b.step(metric)
        assert a.get_last_lr() == pytest.approx([g["lr"] for g in other.param_groups])
    again = ours_of.ReduceLROnPlateau(pair()[0], **PLATEAUS[name])
    again.load_state_dict(a.state_dict())
    assert again.state_dict() == a.state_dict()
    with pytest.raises(DataError):
        again.load_state_dict({"best": 1.0})


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize(
    ("pct_start", "three_phase", "rates_at"),
    [(0.05, False, {0: 1.0, 19: 4e-6}), (0.05, True, {0: 1.0, 1: 0.04, 19: 4e-6}),
     (1.0, False, {0: 0.04, 19: 1.0, 20: 4e-6}),
     (0.3, False, {0: 0.04, 5: 1.0, 19: 4e-6, 20: 4e-6}), (0.3, True, {10: 0.04, 20: 4e-6})],
)  # fmt: skip
def test_one_cycle_at_its_edges(
    strategy: str, pct_start: float, three_phase: bool, rates_at: dict[int, float]
) -> None:
    """Phases of one step, where PyTorch divides by 0, are at their end; so is the last phase when
    the last step was made, where PyTorch's lines go on, below 0."""
    mine = pair()[0]
    schedule = ours_of.OneCycleLR(
        mine, 1.0, 20, pct_start=pct_start, anneal_strategy=strategy, three_phase=three_phase
    )
    curve = schedule.curve(21)
    rates(schedule, mine, 20)
    assert schedule.get_last_lr() == [curve[20]] * 2
    assert {t: curve[t] for t in rates_at} == pytest.approx(rates_at, rel=0.1)
    assert max(curve) == 1.0


def test_warmup_cosine() -> None:
    schedule = ours_of.warmup_cosine(pair()[0], 10, 110, 0.1)
    curve = schedule.curve(111)
    assert curve[0] == pytest.approx(0.01) and curve[9] == curve[10] == pytest.approx(0.1)
    assert curve[60] == pytest.approx(0.055) and curve[110] == pytest.approx(0.01)
    assert schedule.curve(150)[111:] == [curve[110]] * 39


def test_one_cycle_of_adam_moves_its_first_beta() -> None:
    found = []
    for lib, tensor in ((ours_of, Tensor), (theirs_of, torch.tensor)):
        adam = (optim if lib is ours_of else torch.optim).Adam([tensor([1.0], requires_grad=True)])
        schedule, betas = lib.OneCycleLR(adam, 0.1, 20), []
        for _ in range(19):
            betas += [adam.param_groups[0]["lr"], *adam.param_groups[0]["betas"]]
            adam.step()
            schedule.step()
        found.append(betas)
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_a_step_too_many_is_not_counted() -> None:
    mine = pair()[0]
    schedule = ours_of.OneCycleLR(mine, 0.1, 5)
    rates(schedule, mine, 5)
    last = schedule.get_last_lr()
    for _ in range(2):
        with pytest.raises(DomainError, match="step 6 of a OneCycleLR"):
            schedule.step()
    assert schedule.last_epoch == 5 and schedule.get_last_lr() == last


def test_a_rate_of_0_stays_0() -> None:
    sgd = optim.SGD([Tensor([1.0], requires_grad=True)], lr=0.0)
    chained = [ours_of.LinearLR(sgd), ours_of.ExponentialLR(sgd, 0.9)]
    assert ours_of.ChainedScheduler(chained).curve(9) == [0.0] * 9


def test_a_recorded_step_follows_a_schedule() -> None:
    found = []
    for jitted in (False, True):
        p = Tensor([1.0, 2.0], requires_grad=True)
        sgd = optim.SGD([p], lr=0.1, momentum=0.9)
        schedule = ours_of.OneCycleLR(sgd, 0.1, 20)

        def step(x: Tensor, p: Tensor = p, sgd: Any = sgd) -> Tensor:
            loss = ((p - x) ** 2).sum()
            sgd.zero_grad()
            loss.backward()
            sgd.step()
            return loss

        run: Any = tutor.jit(step) if jitted else step
        for _ in range(19):
            run(Tensor([3.0, 4.0]))
            schedule.step()
        found.append(p.tolist())
        if jitted:
            assert run.stats() == {**run.stats(), "recorded": 1, "replayed": 17}
    assert found[0] == found[1]


WRONG: dict[str, Any] = {
    "no optimizer": lambda o: ours_of.StepLR(3, 5),
    "no step size": lambda o: ours_of.StepLR(o, 0),
    "a negative gamma": lambda o: ours_of.ExponentialLR(o, -0.1),
    "a milestone": lambda o: ours_of.MultiStepLR(o, [1.5]),
    "three functions": lambda o: ours_of.LambdaLR(o, [min, max, abs]),
    "a share": lambda o: ours_of.LinearLR(o, 2.0),
    "T_max": lambda o: ours_of.CosineAnnealingLR(o, 0),
    "eta_min": lambda o: ours_of.CosineAnnealingLR(o, 5, float("nan")),
    "pct_start": lambda o: ours_of.OneCycleLR(o, 0.1, 10, pct_start=3.0),
    "a strategy": lambda o: ours_of.OneCycleLR(o, 0.1, 10, anneal_strategy="sine"),
    "nothing in a row": lambda o: ours_of.SequentialLR(o, [], []),
    "milestones": lambda o: ours_of.SequentialLR(o, [ours_of.StepLR(o, 5)], [3]),
    "two optimizers": lambda o: ours_of.ChainedScheduler(
        [ours_of.StepLR(o, 5), ours_of.StepLR(pair()[0], 5)]
    ),
    "too much warm-up": lambda o: ours_of.warmup_cosine(o, 10, 10),
    "a mode": lambda o: ours_of.ReduceLROnPlateau(o, "least"),
    "a factor": lambda o: ours_of.ReduceLROnPlateau(o, factor=1.5),
    "a factor that is none": lambda o: ours_of.ReduceLROnPlateau(o, factor="a"),
    "no optimizer, on a plateau": lambda o: ours_of.ReduceLROnPlateau(3),
    "too many steps": lambda o: rates(ours_of.OneCycleLR(o, 0.1, 5), o, 6),
    "an own rate below 0": lambda o: ours_of.LambdaLR(o, lambda t: -1.0),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name: str) -> None:
    with pytest.raises(DomainError) as caught:
        WRONG[name](pair()[0])
    lines = [line.partition(":")[0] for line in str(caught.value).splitlines()]
    assert lines == ["asked", "found", "to do"]


@pytest.mark.parametrize("metric", [None, "0.5", [0.5]], ids=repr)
def test_a_metric_is_a_number(metric: Any) -> None:
    schedule = ours_of.ReduceLROnPlateau(pair()[0])
    with pytest.raises(DTypeError, match="metrics"):
        schedule.step(metric)
    assert schedule.state_dict() == ours_of.ReduceLROnPlateau(pair()[0]).state_dict()


@pytest.mark.parametrize(
    "wrong", [{"best": "x"}, {"best": None}, {"bad": 1.5}, {"resting": -1}, {"last_epoch": True}],
    ids=repr,
)  # fmt: skip
def test_a_plateau_takes_no_other_state(wrong: dict[str, Any]) -> None:
    schedule = ours_of.ReduceLROnPlateau(pair()[0])
    schedule.step(0.5)
    before = schedule.state_dict()
    with pytest.raises(DataError, match="ReduceLROnPlateau"):
        schedule.load_state_dict({**before, **wrong})
    assert schedule.state_dict() == before
