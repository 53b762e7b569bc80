"""Where temps go: no two that are needed at the same time have a byte in common."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import Recorded

from tutor import Tensor, nn, optim
from tutor.backends.step import Step
from tutor.dtype import TABLE, DType, float32, float64, uint64
from tutor.errors import DomainError
from tutor.programs.plan import ALIGNMENT, LARGEST, Life, aligned, lives, plan
from tutor.programs.program import Program, Slot, Walk


def slot(role: str = "temp", count: int = 16, dtype: DType = float32) -> Slot:
    return Slot(role, count, dtype)


def whole(slot: Slot) -> Walk:
    return Walk(slot, (slot.count,), (1,))


def step(out: Slot, *ins: Slot, kernel: str = "add", **params: Any) -> Step:
    return Step(kernel, out.dtype, whole(out), tuple(map(whole, ins)), params)


# ---- When a temp is needed -----------------------------------------------------------------------


def test_a_temp_is_needed_from_its_first_write_to_its_last_use() -> None:
    x, y = slot("input"), slot("output")
    a, b, c = slot(), slot(), slot()
    steps = [
        step(a, x, x),  # 0
        step(b, a, a),
        step(x, x, x),
        step(c, b, x),  # written, and never read
        step(y, b, x),
        step(a, x, x),  # written again
    ]
    assert lives(Program(steps)) == {a: Life(0, 5), b: Life(1, 4), c: Life(3, 3)}


def test_what_a_step_updates_is_needed_by_it() -> None:
    rate, seed, counter = slot("state", 1, float64), *[slot("state", 1, uint64) for _ in "sc"]
    p, g, v, drawn = slot("state"), slot(), slot(), slot()
    steps = [
        step(g, kernel="fill", value=1),
        step(v, kernel="fill", value=0),
        step(p, g, v, rate, rate, rate, kernel="sgd"),
        step(drawn, seed, counter, kernel="uniform", blocks=4),
        step(p, v, g),
    ]
    assert lives(Program(steps)) == {g: Life(0, 4), v: Life(1, 4), drawn: Life(3, 3)}
    assert not lives(Program([]))


@pytest.mark.parametrize("role", ["temp", "output"])
def test_what_is_read_before_it_is_written_is_an_error(role: str) -> None:
    x, early = slot("input"), slot(role)
    with pytest.raises(DomainError, match=r"step 1: (.|\n)*is read before a step has written it"):
        plan(Program([step(slot(), x, x), step(early, early, x), step(slot(), x, x)]))
    with pytest.raises(DomainError, match="read before"):
        plan(Program([step(early, *[slot("state")] * 2, kernel="descend")]))
    plan(Program([step(early, x, x), step(early, early, x)]))


def test_a_constant_is_not_written() -> None:
    with pytest.raises(DomainError, match=r"step 0: (.|\n)*c0 is written, and a constant"):
        plan(Program([step(slot("constant"), slot("input"), slot("input"))]))


# ---- Offsets -------------------------------------------------------------------------------------


def test_a_chain_needs_room_for_two() -> None:
    temps, x = [slot(count=1000) for _ in range(50)], slot("input", 1000)
    steps = [step(t, before, before) for before, t in zip([x, *temps], temps, strict=False)]
    layout = plan(Program(steps))
    assert set(layout.offsets.values()) == {0, 4032}
    assert layout.nbytes == 2 * 4032


def test_empty_temps_take_no_room() -> None:
    x, empty = slot("input"), slot(count=0)
    layout = plan(Program([Step("fill", float32, whole(empty), (), {"value": 0}), step(x, x, x)]))
    assert layout == ({empty: 0}, 0)


def most_needed(program: Program) -> int:
    """The bytes of the temps that are needed by one step, of the step that needs most."""
    needed = [0] * len(program)
    for temp, life in lives(program).items():
        for number in range(life.first, life.last + 1):
            needed[number] += aligned(temp.nbytes)
    return max(needed)


def drawn(rng: random.Random, length: int) -> Program:
    """Steps that read temps written before, now and then again."""
    x = slot("input")
    steps, known = [], [x]
    for _ in range(length):
        ins = rng.choices(known[-rng.randrange(1, 20) :], k=2)
        new = rng.random() < 0.8 or len(known) == 1
        out = slot("temp" if rng.random() < 0.9 else "output", rng.choice((0, 1, 7, 16, 17, 900)),
                   rng.choice(TABLE)) if new else rng.choice(known[1:])  # fmt: skip
        steps.append(Step("add", out.dtype, whole(out), tuple(map(whole, ins))))
        known.append(out)
    return Program(steps)


@given(seed=st.integers(0, 2**32), length=st.integers(1, 60), largest=st.sampled_from((3, LARGEST)))
def test_no_two_temps_overlap_that_are_needed_at_once(seed: int, length: int, largest: int) -> None:
    program = drawn(random.Random(seed), length)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tutor.programs.plan.LARGEST", largest)
        layout, found = plan(program), lives(program)
    assert layout.offsets.keys() == found.keys() == {s for s in program.slots if s.role == "temp"}
    for a, life in found.items():
        at = layout.offsets[a]
        assert at % ALIGNMENT == 0
        assert 0 <= at <= at + a.nbytes <= layout.nbytes
        for b, other in found.items():
            if a is not b and life.first <= other.last and other.first <= life.last:
                to = layout.offsets[b]
                assert at + a.nbytes <= to or to + b.nbytes <= at
    assert most_needed(program) <= layout.nbytes <= sum(aligned(a.nbytes) for a in found)


@pytest.mark.parametrize("layers", [
    [nn.Flatten(), nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10)],
    [nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
     nn.Linear(16, 10)],
], ids=["MLP", "CNN"])  # fmt: skip
def test_a_training_step_needs_no_more_than_its_step_that_needs_most(layers: list[Any]) -> None:
    """No result that lives for a moment stands between two that the backward pass needs."""
    model, x, y = nn.Sequential(*layers), Tensor.randn(9, 1, 8, 8), Tensor([3] * 9)
    sgd = optim.SGD(nn.get_parameters(model), lr=0.1)

    def work() -> list[Tensor]:
        sgd.zero_grad()
        loss = model(x).cross_entropy(y)
        loss.backward()
        sgd.step()
        return [loss]

    program = Recorded(work, [x, y]).program
    assert 9000 < plan(program).nbytes <= 1.05 * most_needed(program)


def test_a_plan_of_many_steps_takes_no_time_that_grows_with_their_square() -> None:
    """Forward and back again through 10,000 temps; and a chain as long, which needs few places."""
    x, temps = slot("input"), [slot(count=10_000 - i) for i in range(10_000)]
    there = [step(t, before, before) for before, t in zip([x, *temps], temps, strict=False)]
    back = [step(x, t, x) for t in reversed(temps)]
    assert plan(Program([*there, *back])).nbytes == sum(aligned(t.nbytes) for t in temps)
    chain = [slot(count=50 + i % 3) for i in range(10_000)]
    steps = [step(t, before, before) for before, t in zip([x, *chain], chain, strict=False)]
    assert plan(Program(steps)).nbytes <= 8 * 256
