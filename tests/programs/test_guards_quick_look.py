"""A replay asks the quick look at the guards; one by one they are looked at only where something
was touched. Programs that people write must not fall back to the slow way: it costs more than many
a step."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import tutor
from benchmarks import gears
from tutor import Tensor, nn
from tutor.backends import simd_cpp
from tutor.nn.functional import cross_entropy

pytestmark = pytest.mark.skipif(simd_cpp.guards() is None, reason="the extension was not built")


def test_a_class_that_nobody_has_asked_anything_is_known_by_its_version() -> None:
    class Silent:
        pass

    guards: Any = simd_cpp.guards()
    guards.read(object(), [], [], [], [Silent], [], [], [])
    assert guards.hold()
    Silent.scale = 2.0  # type: ignore[attr-defined]
    assert not guards.hold()
    guards.read(object(), [], [], [], [Silent], [], [], [])
    assert guards.hold()


class Training:
    """What trains, logs and counts, as most people's trainers do."""

    scale = 1.0

    def __init__(self) -> None:
        self.model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        self.optimizer = tutor.optim.Adam(self.model.parameters(), lr=0.01)
        self.scaler = tutor.amp.GradScaler(enabled=False)
        self.seconds: dict[str, list[float]] = {"step": [], "data": []}
        self.options, self.log = {"lr": 0.01}, logging.getLogger("training")
        self.losses: list[float] = []
        self.epoch = 0
        self.step = tutor.jit(self.learn_from)

    def learn_from(self, x: Tensor, y: Tensor) -> Tensor:
        self.optimizer.zero_grad()
        with tutor.autocast("bfloat16", enabled=False):
            loss = cross_entropy(self.model(x), y) * self.scale
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss


def test_a_trainer_that_logs_between_steps_is_replayed_by_its_twin() -> None:
    training = Training()
    x, y = tutor.randn(6, 4), Tensor([0, 1, 2, 0, 1, 2])

    def between() -> None:
        training.seconds["step"].append(0.1)
        training.losses.append(training.step(x, y).item())
        training.epoch += 1
        training.log.info("loss %s", training.losses[-1])

    for _ in range(4):
        between()
    assert gears.slow_looks(between, calls=20) == 0  # type: ignore[arg-type]
    assert training.step.stats()["replayed"] == 22
    Training.scale = 0.5  # the class is another one: a slow look, and a recording
    try:
        assert gears.slow_looks(between, calls=1) > 0  # type: ignore[arg-type]
        assert training.step.stats()["recorded"] == 2
    finally:
        Training.scale = 1.0


@pytest.mark.parametrize("name", gears.STEPS)
def test_the_steps_of_the_ported_programs_are_replayed_without_slow_looks(name: str) -> None:
    pytest.importorskip("torch")  # pip install "tutorgrad[bench]"
    pytest.importorskip("scipy")
    _, jitted, eager = gears.of_program(name)
    for _ in range(4):
        found, wanted = jitted(), eager()
        both = [r if isinstance(r, tuple) else (r,) for r in (found, wanted)]
        assert [t.tolist() for t in both[0]] == [t.tolist() for t in both[1]]
    assert gears.gear_of(jitted) == "replayed"
    assert gears.slow_looks(jitted, calls=10) == 0
