"""Where temps go: no two that are needed at the same time have a byte in common."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutor.backends.step import Step
from tutor.dtype import TABLE, DType, float32, float64, uint64
from tutor.errors import DomainError
from tutor.programs.plan import ALIGNMENT, Gaps, Layout, Life, aligned, lives, plan
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
    assert layout == Layout({t: i % 2 * 4032 for i, t in enumerate(temps)}, 2 * 4032)


def test_the_smallest_gap_that_fits_is_taken() -> None:
    gaps = Gaps()
    places = [gaps.take(nbytes) for nbytes in (256, 64, 128, 64, 192, 64)]
    assert places == [0, 256, 320, 448, 512, 704]
    for place, nbytes in ((0, 256), (320, 128), (512, 192)):
        gaps.give(place, nbytes)
    assert gaps.take(128) == 320
    assert gaps.take(192) == 512
    assert gaps.take(64) == 0
    assert gaps.take(256) == 768
    gaps.give(768, 256)
    gaps.give(448, 64)
    assert gaps.take(320) == 768  # the last gap, and a little more
    gaps.give(512, 192)  # beside the gap before it
    assert gaps.take(256) == 448
    assert gaps.end == 768 + 320


def test_empty_temps_take_no_room() -> None:
    x, empty = slot("input"), slot(count=0)
    layout = plan(Program([Step("fill", float32, whole(empty), (), {"value": 0}), step(x, x, x)]))
    assert layout == ({empty: 0}, 0)


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


@given(seed=st.integers(0, 2**32), length=st.integers(1, 60))
def test_no_two_temps_overlap_that_are_needed_at_once(seed: int, length: int) -> None:
    program = drawn(random.Random(seed), length)
    layout, found = plan(program), lives(program)
    assert layout.offsets.keys() == found.keys() == {s for s in program.slots if s.role == "temp"}
    needed = [0] * length
    for a, life in found.items():
        at = layout.offsets[a]
        assert at % ALIGNMENT == 0
        assert 0 <= at <= at + a.nbytes <= layout.nbytes
        for number in range(life.first, life.last + 1):
            needed[number] += aligned(a.nbytes)
        for b, other in found.items():
            if a is not b and life.first <= other.last and other.first <= life.last:
                to = layout.offsets[b]
                assert at + a.nbytes <= to or to + b.nbytes <= at
    assert max(needed) <= layout.nbytes <= sum(aligned(a.nbytes) for a in found)


def test_a_plan_of_many_steps_is_made_in_one_pass() -> None:
    """Forward and back again through 20,000 temps: no work that grows with their square."""
    x, temps = slot("input"), [slot() for _ in range(20_000)]
    there = [step(t, before, before) for before, t in zip([x, *temps], temps, strict=False)]
    back = [step(x, t, x) for t in reversed(temps)]
    assert plan(Program([*there, *back])).nbytes == 20_000 * ALIGNMENT
