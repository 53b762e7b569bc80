"""The moments of chapter 15, whose orders it enumerates, and its recorded and simulated data."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import pytest

from course import recorded, scatter
from course.threads import Moment, ends, orders
from tutor.errors import DomainError


def add_one() -> Iterator[Any]:
    value = yield "load", "n"
    value = yield "add", value, 1
    yield "store", "n", value


def locked() -> Iterator[Any]:
    yield "lock", "m"
    yield from add_one()
    yield "unlock", "m"


def by_swap() -> Iterator[Any]:
    while True:
        old = yield "load", "n"
        if (yield "swap", "n", old, old + 1):
            return


def spinning() -> Iterator[Any]:
    while not (yield "load", "flag"):
        pass
    yield from add_one()


def raises_it() -> Iterator[Any]:
    yield "store", "flag", 1


def left(threads: list[Any], **memory: Any) -> set[Any]:
    """What n is, and whether all have ended, in every way in which the threads can end."""
    return {(now.memory["n"], now.ended) for _, now in ends(Moment(threads, {"n": 0, **memory}))}


def by_hand(threads: list[Any], lengths: list[int]) -> set[int]:
    """What n is after each order, one after the other: what `ends` must not fall short of."""
    found = set()
    for order in orders(lengths):
        moment = Moment(threads, {"n": 0})
        for i in order:
            moment = moment.step(i)
        found.add(moment.memory["n"])
    return found


def test_all_interleavings_are_covered() -> None:
    for count in (1, 2, 3):
        expected = by_hand([add_one] * count, [3] * count)
        assert expected == set(range(1, count + 1))
        assert left([add_one] * count) == {(n, True) for n in expected}


def test_what_is_repaired_is_right_in_all_of_them() -> None:
    assert left([locked] * 3) == left([by_swap] * 3) == {(3, True)}


def test_who_waits_for_a_change_goes_on_with_it() -> None:
    assert left([spinning, raises_it], flag=0) == {(1, True)}
    assert left([spinning], flag=0) == {(0, False)}


def test_a_machine_does_not_change() -> None:
    moment = Moment([add_one, add_one], {"n": 0})
    once = moment.step(0)
    twice = once.step(1)
    assert (moment.heard, once.heard, twice.heard) == (((), ()), ((0,), ()), ((0,), (0,)))
    assert once.step(1).state == twice.state != once.state
    again = once.step(0).step(0)
    assert again.memory == {"n": 1} and once.memory == {"n": 0} and again.ready() == [1]


@pytest.mark.parametrize(
    ("thread", "found"),
    [
        (lambda: iter(["load"]), "list_iterator"),
        (lambda: (step for step in ["load n"]), "yield 'load n'"),
        (lambda: (step for step in [("load", "x")]), r"yield \('load', 'x'\)"),
        (lambda: (step for step in [("store", "n")]), r"yield \('store', 'n'\)"),
        (lambda: (("add", 1, 1) for _ in itertools.count()), "more than 60 steps"),
    ],
)
def test_a_step_that_there_is_not(thread: Any, found: str) -> None:
    with pytest.raises(DomainError, match=found):
        ends(Moment([thread], {"n": 0}))


def test_only_who_is_ready_takes_a_step() -> None:
    moment = Moment([locked, locked], {"n": 0}).step(0)
    assert moment.ready() == [0]
    with pytest.raises(DomainError, match=r"ready\(\) gives \[0\]"):
        moment.step(1)


@pytest.mark.parametrize("lengths", [[], [2], [1, 1], [3, 3], [2, 1, 2]])
def test_orders(lengths: list[int]) -> None:
    found = orders(lengths)
    whole = math.factorial(sum(lengths)) // math.prod(map(math.factorial, lengths))
    assert len(found) == len(set(found)) == whole
    assert all([order.count(i) for i in range(len(lengths))] == lengths for order in found)


# ---- the ten graphs, and the five recordings -----------------------------------------------------


def test_ten_graphs_that_an_allocator_does_not_pack() -> None:
    graphs = recorded.GRAPHS
    assert len(graphs) == 10 and sum(map(len, graphs.values())) == 296
    for lives in graphs.values():
        assert all(n > 0 and n % recorded.LINE == 0 and 0 <= a <= b for n, a, b in lives)
        offsets = recorded.by_steps(lives)
        assert recorded.over(lives, offsets) >= 1.0
        for (at, one), (other_at, other) in itertools.combinations(
            zip(offsets, lives, strict=True), 2
        ):
            together = one[1] <= other[2] and other[1] <= one[2]
            assert not together or at + one[0] <= other_at or other_at + other[0] <= at
    worst = max(recorded.over(lives, recorded.by_steps(lives)) for lives in graphs.values())
    assert worst > 1.1


def test_live_bytes() -> None:
    assert recorded.live_bytes([]) == 0
    assert recorded.live_bytes([(64, 0, 1), (128, 1, 2), (64, 2, 3)]) == 192


def test_a_picture_of_a_plan() -> None:
    lives = [(64, 0, 1), (128, 1, 2)]
    picture = recorded.drawn(lives, [128, 0], "two")
    assert picture.svg.count("<rect") == 3 and "two: 2 temps in 192 bytes" in picture.svg
    assert recorded.drawn([], [], "none").svg


def test_the_recordings_are_the_same_each_time_and_differ_in_form() -> None:
    first, again = scatter.recordings(), scatter.recordings()
    assert first == again and sorted(first) == list("ABCDE")
    by_cause = {scatter.LETTERS[letter]: times for letter, times in first.items()}
    assert set(by_cause) == set(scatter.CAUSES)
    slow = {
        cause: [run for run, time in enumerate(times) if time > 1.15 * scatter.QUIET]
        for cause, times in by_cause.items()
    }
    assert slow["faults"] == list(range(0, scatter.RUNS, 8))
    assert slow["frequency"] == list(range(len(slow["frequency"])))
    assert slow["heat"] == list(range(slow["heat"][0], scatter.RUNS))
    assert slow["migration"] == list(range(22, 42))
    gaps = {b - a for a, b in itertools.pairwise(slow["process"])}
    assert len(gaps) > 3 and len(slow["process"]) < 10
