"""Metrics: how good a model is, in numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.core.engine.grad_mode import no_grad
from tutor.errors import DataError, DTypeError, OutOfRangeError, ShapeError
from tutor.methods.tensor import Tensor


@spelled
def accuracy(input: Tensor, target: Tensor) -> Tensor:
    """Share of rows whose largest score is at the target: input (..., C), target (...)."""
    guesses = _classes(input, target, "accuracy")
    return (guesses == target).cast("float32").mean()


@spelled
def confusion(input: Tensor, target: Tensor) -> Tensor:
    """Confusion matrix (C, C) int64 for scores (..., C): row = true class, column = predicted."""
    guesses, classes = _classes(input, target, "confusion"), input.shape[-1]
    if ((target < 0) | (target >= classes)).any().item():
        raise OutOfRangeError(
            f"confusion of {classes} classes",
            checks.span(target),
            f"give classes from 0 to {classes - 1}",
        )
    pairs = target.cast("int64").flatten() * classes + guesses.flatten()
    counts = Tensor.zeros(classes * classes, dtype="int64", device=pairs.device)
    ones = Tensor.ones_like(pairs)
    return counts.scatter_add(0, pairs, ones).reshape(classes, classes)


class Scores(NamedTuple):
    """Precision, recall and their harmonic mean f1 for each class (C,); 0 / 0 counts as 0."""

    precision: Tensor
    recall: Tensor
    f1: Tensor


@spelled
def scores(input: Tensor, target: Tensor) -> Scores:
    """Precision p (the correct share of predictions of a class), recall r (the share of a class
    that was found) and f1 = 2 p r / (p + r), for scores (..., C) and classes (...)."""
    table = confusion(input, target).cast("float32")
    right = table.diagonal()
    precision, recall = (_share(right, table.sum(axis)) for axis in (0, 1))
    return Scores(precision, recall, _share(2 * precision * recall, precision + recall))


def _share(part: Tensor, whole: Tensor) -> Tensor:
    return (whole == 0).where(0.0, part / (whole == 0).where(1.0, whole))


def _classes(input: Tensor, target: Tensor, name: str) -> Tensor:
    """The index of the largest score in each row."""
    checks.tensors(name, (input, target))
    if not target.dtype.is_integer:
        raise DTypeError(
            f"{name} with targets of {target.dtype.name}",
            "a class is a whole number",
            "give class numbers; of probabilities their argmax(-1)",
        )
    if not input.shape or input.shape[:-1] != target.shape:
        raise ShapeError(
            f"{name} of scores {input.shape} and targets {target.shape}",
            "there must be one target for each row",
            "give scores (..., C) and targets (...)",
        )
    return input.argmax(-1)


def evaluate(
    model: Callable[..., Any], batches: Iterable[tuple[Tensor, Tensor]],
    metric: Callable[[Any, Tensor], Tensor] = accuracy,
) -> float:  # fmt: skip
    """The mean of `metric(model(x), y)` over all rows of `batches`, without a graph. A model with
    an `eval()` method is in eval mode meanwhile, then in its previous mode. DataError without rows.
    """
    training = bool(getattr(model, "training", False)) and hasattr(model, "eval")
    total, rows = 0.0, 0
    try:
        if training:
            model.eval()  # type: ignore[attr-defined]
        with no_grad():
            for x, y in batches:
                total += float(metric(model(x), y).item()) * len(y)
                rows += len(y)
    finally:
        if training:
            model.train()  # type: ignore[attr-defined]
    if not rows:
        raise DataError("to evaluate a model", "there are no batches", "give at least one batch")
    return total / rows
