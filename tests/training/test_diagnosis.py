"""Diagnosis: each of the usual faults is found, by its name, and a network that learns has none."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import tutor
from tutor import Tensor, nn, optim
from tutor.errors import DataError
from tutor.nn.functional import cross_entropy, mse_loss
from tutor.training import diagnose, overfit


class Case:
    """A network that learns, each part of which a test may spoil."""

    def __init__(self) -> None:
        tutor.manual_seed(1)
        self.model: Any = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 5))
        self.x, self.y = Tensor.randn(64, 12), tutor.randint(0, 5, (64,))
        self.loss: Callable[[Any, Tensor], Tensor] = cross_entropy
        self.lr, self.forgets = 0.05, True
        self.moves: list[Tensor] | None = None

    def made(self) -> Case:
        self.optimizer = optim.SGD(self.moves or nn.get_parameters(self.model), lr=self.lr)
        return self

    def step(self, x: Tensor, y: Tensor) -> Tensor:
        loss = self.loss(self.model(x), y)
        if self.forgets:
            for p in nn.get_parameters(self.model):
                p.grad = None
        loss.backward()
        self.optimizer.step()
        return loss


def dead(case: Case) -> None:
    case.model.layers[0].bias.assign(Tensor.full((32,), -50.0))


def deep_and_saturated(case: Case) -> None:
    layers: list[Any] = [nn.Linear(12, 12)]
    for _ in range(12):
        layers += [Tensor.sigmoid, nn.Linear(12, 12)]
    case.model = nn.Sequential(*layers, nn.Linear(12, 5))


def exploding(case: Case) -> None:
    linears: list[Any] = [nn.Linear(12, 12) for _ in range(8)]
    for linear in linears:
        linear.weight.assign(linear.weight.detach() * 30)
    case.model = nn.Sequential(*linears, nn.Linear(12, 5))


def unused(case: Case) -> None:
    case.model.extra = [nn.Linear(2, 2)]  # in a list it is no layer of the Sequential


def probabilities(case: Case) -> None:
    case.model.layers.append(lambda x: x.softmax(-1))


FAULTS: dict[str, Callable[[Case], Any]] = {
    "scale of the inputs": lambda c: setattr(c, "x", c.x * 100 + 300),
    "inputs that are no numbers": lambda c: c.x.__setitem__((0, 0), math.nan),
    "one class only": lambda c: setattr(c, "y", c.y * 0 + 2),
    "weights that are no numbers": lambda c: c.model.layers[2].bias.assign([math.inf] * 5),
    "a loss that is no number": lambda c: c.x.__setitem__((0, 0), math.nan),
    "dead relus": dead,
    "softmax before cross_entropy": probabilities,
    "a first loss far above guessing": lambda c: c.model.layers[2].weight.assign(
        c.model.layers[2].weight.detach() * 40),
    "vanishing gradients": deep_and_saturated,
    "exploding gradients": exploding,
    "parameters that the loss does not depend on": unused,
    "gradients that are 0": dead,
    "gradients that are never forgotten": lambda c: setattr(c, "forgets", False),
    "parameters that do not move": lambda c: setattr(c, "moves", [c.model.layers[0].weight]),
    "steps that are too large": lambda c: setattr(c, "lr", 100.0),
    "steps that are too small": lambda c: setattr(c, "lr", 1e-9),
}  # fmt: skip


def test_a_network_that_learns_has_nothing_of_it() -> None:
    case = Case().made()
    found = diagnose(case.model, case.loss, case.x, case.y, case.step)
    assert found == [] and repr(found) == "nothing of the usual is wrong"


@pytest.mark.parametrize("kind", FAULTS)
def test_each_fault_is_found(kind: str) -> None:
    case = Case()
    FAULTS[kind](case)
    case.made()
    found = diagnose(case.model, case.loss, case.x, case.y, case.step)
    assert kind in found.kinds, found
    finding = next(f for f in found if f.kind == kind)
    assert finding.found and finding.do and finding.do in repr(found)


def test_it_leaves_everything_as_it_was() -> None:
    case = Case().made()
    case.step(case.x, case.y)
    before = {n: (t.tolist(), t.grad.tolist()) for n, t in nn.state_dict(case.model).items()}
    diagnose(case.model, case.loss, case.x, case.y, case.step)
    with pytest.raises(ZeroDivisionError):
        diagnose(case.model, lambda a, b: 1 / 0, case.x, case.y)
    after = {n: (t.tolist(), t.grad.tolist()) for n, t in nn.state_dict(case.model).items()}
    assert after == before


def test_a_step_under_jit_and_one_that_ends_without_gradients() -> None:
    case = Case().made()
    found = diagnose(case.model, case.loss, case.x, case.y, tutor.jit(case.step))
    assert found == []

    def and_forget(x: Tensor, y: Tensor) -> None:
        case.step(x, y)
        case.optimizer.zero_grad()

    assert diagnose(case.model, case.loss, case.x, case.y, and_forget) == []


def test_a_network_of_ones_own_that_predicts_numbers() -> None:
    class Line:
        def __init__(self) -> None:
            self.w = Tensor([[0.5]], requires_grad=True)

        def __call__(self, x: Tensor) -> Tensor:
            return x @ self.w

    x = Tensor.randn(32, 1)
    assert diagnose(Line(), mse_loss, x, 3 * x) == []
    with pytest.raises(DataError, match="requires a gradient"):
        diagnose(lambda x: x, mse_loss, x, x)


def test_one_batch_is_learned_by_heart_or_it_is_said() -> None:
    case = Case()
    case.lr = 1.0
    case.made()
    losses = overfit(case.step, case.x, case.y, 200)
    assert len(losses) == 200 and losses[-1] < losses[0] / 10
    case = Case()
    case.lr = 0.0
    with pytest.raises(DataError, match="by heart in 5 steps"):
        overfit(case.made().step, case.x, case.y, 5)
