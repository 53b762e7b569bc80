"""Calls that are made again, cases that take turns, and tensors in another form."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from course.exercise import Exercise
from course.judge import Judge, Stop
from course.judging import judged
from course.library import ours
from course.repeat import MOST
from course.turns import FORM, GAP, formed, in_forms, scattered, take_turns

ch08 = ours(8)


def verdict(check: Callable[[Judge, Any], None], answer: Any) -> Any:
    return judged(Exercise("95.1", "t", "answer", 5, ("h",), 2.0, check), answer)


# ---- a call once more ----------------------------------------------------------------------------


class Vocabulary:
    def __init__(self, text: str) -> None:
        self.pieces = sorted(set(text))

    def encode(self, text: str) -> list[int]:
        return [self.pieces.index(c) for c in text]


class SharedVocabulary(Vocabulary):
    def __init__(self, text: str) -> None:
        SharedVocabulary.pieces = sorted(set(text))


def check_vocabularies(judge: Judge, answer: Any) -> None:
    for text in ("ab", "xyz"):
        made = judge.instance(answer, text)
        judge.equal(judge.call(made.encode, text), list(range(len(text))))


def test_what_belongs_to_the_class_is_seen_when_a_call_is_made_again() -> None:
    assert verdict(check_vocabularies, Vocabulary).kind == "exact"
    found = verdict(check_vocabularies, SharedVocabulary)
    assert found.kind == "wrong"
    assert "encode('ab')" in found.text and "once more, after" in found.text
    assert "what all calls share: in the class" in found.text


def cached() -> Callable[[list[float]], float]:
    known: dict[int, float] = {}
    return lambda row: known.setdefault(len(row), sum(row))


def remembering() -> Callable[[list[float]], float]:
    all_of_them: list[float] = []
    return lambda row: all_of_them.extend(row) or sum(all_of_them) - sum(all_of_them[: -len(row)])


def growing() -> Callable[[list[float]], float]:
    calls: list[int] = []
    return lambda row: calls.append(1) or sum(row) + (len(calls) > 2)


def check_sums(judge: Judge, answer: Any) -> None:
    for row in ([1.0, 2.0], [3.0]):
        judge.close(judge.call(answer, row), sum(row))


@pytest.mark.parametrize(
    ("answer", "kind"), [(sum, "exact"), (remembering(), "exact"), (growing(), "wrong")]
)
def test_a_function_must_give_the_same_again(answer: Any, kind: str) -> None:
    assert verdict(check_sums, answer).kind == kind


def test_the_same_random_numbers_are_drawn_again() -> None:
    def check(judge: Judge, answer: Any) -> None:
        random.seed(3)
        first = [judge.call(answer, 1.0) for _ in range(3)]
        random.seed(3)
        judge.equal(first, [random.random() for _ in range(3)])

    state = random.getstate()
    assert verdict(check, lambda x: random.random()).kind == "exact"
    random.setstate(state)


def counts(check: Callable[[Judge, Any], None]) -> int:
    calls: list[Any] = []
    verdict(check, lambda x: calls.append(x) or 1.0)
    return len(calls)


def test_what_may_not_be_made_again_is_not() -> None:
    def twice(judge: Judge, answer: Any) -> None:
        for x in (1, 2):
            judge.equal(judge.call(answer, x), 1.0)

    def once(judge: Judge, answer: Any) -> None:
        for x in (1, 2):
            judge.equal(judge.call(answer, x, again=False), 1.0)

    def changed(judge: Judge, answer: Any) -> None:
        row = [1.0]
        judge.equal(judge.call(answer, row), 1.0)
        row.append(2.0)  # so the call would be another one now
        judge.equal(judge.call(answer, 2), 1.0)

    def many(judge: Judge, answer: Any) -> None:
        for x in range(3 * MOST):
            judge.equal(judge.call(answer, x), 1.0)

    assert counts(twice) == 3
    assert counts(once) == 2
    assert counts(changed) == 2
    assert counts(many) == 4 * MOST


# ---- taking turns --------------------------------------------------------------------------------


def test_cases_go_on_a_step_at_a_time() -> None:
    done = []

    def case(name: str, steps: int) -> Iterator[None]:
        for step in range(steps):
            done.append((name, step))
            yield

    take_turns(case("a", 3), case("b", 1), case("c", 2))
    assert done == [("a", 0), ("b", 0), ("c", 0), ("a", 1), ("c", 1), ("a", 2)]


# ---- another form --------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [0.5, 0.25], 7.0])
def test_a_view_has_the_numbers_of_its_tensor_and_gaps_around_them(rows: Any) -> None:
    t = ch08.Tensor(rows, dtype="float64", requires_grad=True)
    view = scattered(t)
    assert view.tolist() == rows and view.requires_grad and view.buf.dtype == "float64"
    assert not view.is_contiguous() or t.shape == ()
    assert [view.buf[p] for p in range(len(view.buf)) if p not in view.positions()].count(GAP) > 2


def test_a_check_is_made_in_both_forms() -> None:
    seen: list[tuple[str, bool]] = []

    @in_forms
    def check(judge: Judge, answer: Any) -> None:
        """the task"""
        x = formed(ch08.Tensor([[1.0, 2.0], [3.0, 4.0]], dtype="float64"))
        seen.append((x.buf.dtype, x.is_contiguous()))
        judge.close(judge.call(answer, x), 10.0)

    assert check.__doc__ == "the task"
    assert verdict(check, lambda x: sum(x.values())).kind == "exact"
    assert seen == [("float64", True), ("float32", False)]
    found = verdict(check, lambda x: sum(x.buf.read(0, 4)))
    assert found.kind == "wrong" and f"tensors:  {FORM}" in found.text
    x = formed(ch08.Tensor([1.0], dtype="float64"))
    assert x.buf.dtype == "float64", "the other form ends with the check, also with a wrong answer"


# ---- mistakes that are known ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("got", "words"),
    [
        (6.0, "that is:  the sum"),
        (1 / 0.5, None),
        (1.0, "that is:  half of it"),
        (5.0, ""),
    ],
)
def test_a_known_mistake_is_named(got: float, words: str | None) -> None:
    judge = Judge()
    mistakes = {"the sum": 6.0, "nonsense": lambda: 1 / 0, "half of it": lambda: 1.0}
    if words is None:
        judge.close(got, 2.0, mistakes=mistakes)
        return
    with pytest.raises(Stop) as stop:
        judge.close(got, 2.0, mistakes=mistakes)
    assert any(line == words for line in stop.value.lines) is bool(words)


def test_numbers_are_shown_to_six_digits_unless_that_hides_the_difference() -> None:
    judge = Judge()
    with pytest.raises(Stop) as stop:
        judge.close([1 / 3, 0.1], [2 / 3, 0.1])
    assert "[0.333333, 0.1]" in "\n".join(stop.value.lines)
    with pytest.raises(Stop) as stop:
        judge.close(1 / 3, 1 / 3 + 1e-9, rtol=1e-12, atol=0)
    assert "0.3333333333333333" in "\n".join(stop.value.lines)
