"""Chapter 8's training, where the chapter itself does not look: batches out of views; and what is
said to a training that does not learn."""

from __future__ import annotations

import random
from typing import Any

import pytest
from wrong import edit, text

from course.exercise import Exercise, find
from course.judging import judged
from course.library import ours

ch08 = ours(8)
TABLE = ch08.Tensor([[10.0 * i + j for j in range(3)] for i in range(6)])


@pytest.mark.parametrize(
    "view",
    [
        TABLE,
        TABLE[2:],
        TABLE[1:5],
        TABLE[::-1],
        TABLE[::2],
        TABLE[:, 1:],
        TABLE.T,
        TABLE[3],
        TABLE[4:5],
        TABLE.reshape(6, 1, 3)[3:],
    ],
    ids=lambda t: f"shape {t.shape} strides {t.strides} offset {t.offset}",
)
def test_rows_are_those_of_the_view(view: Any) -> None:
    last = view.shape[0] - 1
    found = ch08.rows(view, [last, 0, last])
    assert found.tolist() == [view.tolist()[i] for i in (last, 0, last)]
    assert found.is_contiguous() and found.offset == 0
    assert found.buf.raw is not TABLE.buf.raw


def test_a_checkpoint_keeps_no_memory_of_the_tensors() -> None:
    p = ch08.Tensor([1.0, 2.0], requires_grad=True)
    optimizer = ch08.Adam([p], lr=0.5)
    checkpoint = ch08.Checkpoint(optimizer)
    for _ in range(2):  # what was restored may be changed, and restored again
        (p * p).sum().backward()
        optimizer.step()
        assert p.tolist() != [1.0, 2.0]
        checkpoint.restore(optimizer)
        assert p.tolist() == [1.0, 2.0] and optimizer.t == 0
        assert [m.tolist() for m in optimizer.m] == [[0.0, 0.0]]
        assert optimizer.parameters[0] is p


MISSING = {
    "Does a step go anywhere": edit("0.01", "0.00001"),
    "has not arrived. How far": edit("0.01", "0.0002"),
    "not these labels for these pictures": edit("[labels[i] for i in order]", "labels"),
    "Is what the loss is given what it wants": edit(
        "cross_entropy(model(x)", "cross_entropy(log_softmax(model(x)).exp()"
    ),
}


@pytest.mark.parametrize("words", MISSING)
def test_what_ten_pictures_demand_is_said_and_what_is_missing(words: str) -> None:
    entry = find("08.4")
    assert isinstance(entry, Exercise)
    names = {name: getattr(ch08, name) for name in ch08.__all__} | {"random": random}
    exec(text(MISSING[words], entry.solution), names)
    verdict = judged(entry, names["overfit"])
    assert verdict.kind == "wrong"
    assert "demanded: a loss of these ten below 0.2, after at most 60 steps" in verdict.text
    assert "of the 10 are read right" in verdict.text
    assert words in " ".join(verdict.text.split())


@pytest.mark.parametrize("lr", [0.001, 0.002, 0.005, 0.02, 0.05])
def test_ten_pictures_are_learned_at_any_usual_rate(lr: float) -> None:
    """Adam's own default is enough, as it is for the ten pictures that the chapter shows."""
    entry = find("08.4")
    assert isinstance(entry, Exercise)
    names = {name: getattr(ch08, name) for name in ch08.__all__} | {"random": random}
    exec(text(edit("0.01", str(lr)), entry.solution), names)
    verdict = judged(entry, names["overfit"])
    assert verdict.passed, verdict.text
