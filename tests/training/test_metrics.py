"""Metrics: equal to what NumPy counts."""

from __future__ import annotations

from typing import Any

import pytest

from tutor import Tensor, is_grad_enabled
from tutor.errors import DataError, DTypeError, OutOfRangeError, ShapeError, TutorError
from tutor.training import accuracy, confusion, evaluate, scores

np = pytest.importorskip("numpy")
RNG = np.random.default_rng(0)
INPUT, TARGET = RNG.normal(size=(50, 4)).astype("float32"), RNG.integers(0, 4, 50)


def test_accuracy_and_confusion_are_counted() -> None:
    guesses = INPUT.argmax(-1)
    assert accuracy(Tensor(INPUT), Tensor(TARGET)).item() == pytest.approx(
        (guesses == TARGET).mean()
    )
    table = np.zeros((4, 4), "int64")
    np.add.at(table, (TARGET, guesses), 1)
    assert confusion(Tensor(INPUT), Tensor(TARGET)).tolist() == table.tolist()
    by_place = accuracy(Tensor(INPUT.reshape(5, 10, 4)), Tensor(TARGET.reshape(5, 10)))
    assert by_place.item() == pytest.approx((guesses == TARGET).mean())


def test_scores_are_those_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    guesses = INPUT.argmax(-1)
    theirs = metrics.precision_recall_fscore_support(TARGET, guesses, zero_division=0)
    for ours, wanted in zip(scores(Tensor(INPUT), Tensor(TARGET)), theirs[:3], strict=True):
        assert ours.tolist() == pytest.approx(wanted.tolist())


def test_a_class_that_nobody_guesses_has_precision_0() -> None:
    found = scores(Tensor([[1.0, 0.0, -1.0], [1.0, 0.0, -1.0]]), Tensor([0, 1]))
    assert [t.tolist() for t in found] == [[0.5, 0, 0], [1, 0, 0], [pytest.approx(2 / 3), 0, 0]]


class Model:
    training = True

    def __init__(self) -> None:
        self.modes: list[Any] = []

    def eval(self) -> None:
        self.training = False

    def train(self) -> None:
        self.training = True

    def __call__(self, x: Tensor) -> Tensor:
        self.modes.append((self.training, is_grad_enabled()))
        if not x.numel():
            raise ZeroDivisionError
        return x


def test_evaluating_weighs_batches_by_their_rows_and_leaves_the_mode_as_it_was() -> None:
    model = Model()
    batches = [(Tensor(INPUT[:40]), Tensor(TARGET[:40])), (Tensor(INPUT[40:]), Tensor(TARGET[40:]))]
    expected = (INPUT.argmax(-1) == TARGET).mean()
    assert evaluate(model, batches) == pytest.approx(expected)
    assert model.training and model.modes == [(False, False)] * 2
    with pytest.raises(ZeroDivisionError):
        evaluate(model, [(Tensor.zeros(0, 4), Tensor([0]))])
    assert model.training
    assert evaluate(lambda x: x, iter(batches)) == pytest.approx(expected)
    with pytest.raises(DataError, match="no batches"):
        evaluate(model, [])


WRONG: dict[str, tuple[Any, type[TutorError]]] = {
    "one target too many": (lambda: accuracy(Tensor(INPUT), Tensor([*TARGET, 0])), ShapeError),
    "probabilities": (lambda: accuracy(Tensor(INPUT), Tensor(INPUT)), DTypeError),
    "a number": (lambda: accuracy(Tensor(1.0), Tensor(1)), ShapeError),
    "no Tensor": (lambda: accuracy(INPUT, Tensor(TARGET)), DTypeError),
    "a class that is none": (
        lambda: confusion(Tensor([[1.0, 0.0]]), Tensor([2])), OutOfRangeError,
    ),
    "a class below 0": (lambda: confusion(Tensor([[1.0, 0.0]]), Tensor([-1])), OutOfRangeError),
}  # fmt: skip


@pytest.mark.parametrize(("call", "error"), WRONG.values(), ids=WRONG)
def test_mistakes_are_said(call: Any, error: type[TutorError]) -> None:
    with pytest.raises(error):
        call()
