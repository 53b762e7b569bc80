"""Chapter 7, from scores to a loss: six exercises, five questions."""

from __future__ import annotations

import math
import random
from functools import partial
from typing import Any

from course.built import ch06
from course.compare import kind
from course.exercise import Judge, exercise, question

Rows = list[list[float]]


def softmax(row: list[float]) -> list[float]:
    """What one row of scores says, computed without overflow."""
    powers = [math.exp(score - max(row)) for score in row]
    return [power / math.fsum(powers) for power in powers]


@exercise(
    "07.1",
    "logsumexp",
    answer="logsumexp",
    minutes=10,
    hints=(
        "No exponent may be large: subtract one number from all scores, and think about which.",
        "With m the largest score, e**(x - m) is 1 at most. What has to be added at the end?",
        "Sum math.exp(x - m) over the scores; the result is m plus the logarithm of that sum.",
    ),
)
def check_07_1(judge: Judge, logsumexp: Any) -> None:
    """logsumexp(scores) is ln of the sum of e**x, for scores of any size."""
    for scores in (
        [0.0, 0.0],
        [1.5],
        [2.0, 1.0, -1.0],
        [1000.0, 999.0],
        [1e4, 0.0, -1e4],
        [-1e4, -1e4 - 1.0],
        [-math.inf, 3.0],
        [0.1 * k for k in range(100)],
    ):
        largest = max(scores)
        expected = largest + math.log(math.fsum(math.exp(x - largest) for x in scores))
        judge.close(judge.call(logsumexp, scores), expected, rtol=1e-12, atol=1e-12)


@exercise(
    "07.2",
    "Softmax and cross-entropy as one Op",
    answer="CrossEntropy",
    minutes=15,
    hints=(
        "The formula is above: the softmax of each row, minus 1 at the right class.",
        "log_softmax(x).exp() is the softmax. The table with the ones is in cross_entropy. And the "
        "loss is a mean over n rows: where does n appear in the derivative?",
        "With n, classes = x.shape and `right` as in cross_entropy, the gradient is (softmax - "
        "right) * g * (1 / n). Put it into a tuple.",
    ),
)
def check_07_2(judge: Judge, answer: Any) -> None:
    """CrossEntropy(x, labels=...).apply() is the loss, and backward() leaves its gradient in x."""
    cases: list[tuple[Rows, list[int], float]] = [
        ([[2.0, 1.0, -1.0]], [0], 1.0),
        ([[2.0, 1.0, -1.0], [0.5, 0.5, 0.0], [-2.0, 3.0, 1.0]], [1, 0, 2], 1.0),
        ([[1e4, 0.0, -1e4], [0.0, 1.0, 2.0]], [0, 2], 1.0),
        ([[2.0, 1.0, -1.0], [0.0, 0.5, 1.0]], [1, 0], 3.0),
    ]
    for rows, labels, factor in cases:
        given = f"x of shape ({len(rows)}, 3), labels {labels}"
        if factor != 1:
            given += f", and the loss times {factor:g}"
        x = ch06.Tensor(rows, dtype="float64", requires_grad=True)
        op = judge.instance(answer, x, labels=labels)
        judge.that(hasattr(op, "apply"), "it makes no Op: a class on top of Op is asked for")
        loss = judge.run(op.apply)
        n = len(rows)
        chances = [softmax(row) for row in rows]
        expected = [-math.log(p[label]) / n for p, label in zip(chances, labels, strict=True)]
        judge.close(loss, math.fsum(expected), given=f"forward, {given}")
        grads = judge.run(partial(op.backward, ch06.Tensor(factor, dtype="float64")))
        judge.that(
            isinstance(grads, tuple | list) and len(grads) == 1 and hasattr(grads[0], "buf"),
            f"backward gives {kind(grads)}; a tuple of one tensor is asked for: return (...,)",
            given=given,
        )
        judge.run((loss * factor).backward)
        judge.that(x.grad is not None, "backward left no gradient in x", given=given)
        gradient = [
            [factor * (p - (c == label)) / n for c, p in enumerate(row)]
            for row, label in zip(chances, labels, strict=True)
        ]
        judge.close(x.grad, gradient, given=f"the gradient, {given}", atol=1e-8)


@exercise(
    "07.3",
    "Glorot's weights",
    answer="glorot",
    minutes=8,
    hints=(
        "One number `a` for the whole layer, computed once from both sizes.",
        "a = math.sqrt(6 / (inputs + outputs)), and each weight is random.uniform(-a, a).",
        "Two comprehensions: the inner one over range(outputs), the outer one over range(inputs).",
    ),
)
def check_07_3(judge: Judge, glorot: Any) -> None:
    """glorot(inputs, outputs) gives inputs rows of outputs numbers, even between -a and a."""
    before = random.getstate()
    try:
        for inputs, outputs in ((3, 5), (100, 50), (20, 300)):
            given = f"{inputs} inputs, {outputs} outputs"
            rows = judge.call(glorot, inputs, outputs)
            is_table = isinstance(rows, list) and all(isinstance(row, list) for row in rows)
            found = f"it gives {kind(rows)}; a list of rows is asked for, each of them a list"
            judge.that(is_table and rows, found, given=given)
            shape = [len(rows), len(rows[0])]
            judge.equal(shape, [inputs, outputs], given=f"the shape for {given}")
            judge.that({len(row) for row in rows} == {outputs}, "rows of different lengths")
            numbers = [x for row in rows for x in row]
            bound = math.sqrt(6 / (inputs + outputs))
            far = max(map(abs, numbers))
            judge.that(
                far <= bound,
                f"a weight is {far:.4f} away from 0, and a is {bound:.4f} here",
                given=given,
            )
            if len(numbers) < 1000:
                continue
            different = len(set(numbers))
            judge.that(
                different > len(numbers) / 2,
                f"of {len(numbers)} weights only {different} are different: draw each of them",
                given=given,
            )
            judge.that(
                min(numbers) < -0.97 * bound and max(numbers) > 0.97 * bound,
                f"they reach from {min(numbers):.4f} to {max(numbers):.4f} only, and a is "
                f"{bound:.4f}",
                given=given,
            )
            inner = sum(abs(x) < bound / 2 for x in numbers) / len(numbers)
            judge.that(
                0.44 < inner < 0.56,
                f"{inner:.0%} of them are nearer to 0 than a / 2; half would be even",
                given=given,
            )
    finally:
        random.setstate(before)


@exercise(
    "07.4",
    "Find the double softmax",
    answer="softmaxed",
    minutes=10,
    hints=(
        "There are two conditions, and both must hold in every row.",
        "logits.tolist() gives the rows. A row is suspect if min(row) >= 0 and its sum is near 1.",
        "return all(min(row) >= 0 and abs(sum(row) - 1) < 1e-5 for row in logits.tolist())",
    ),
)
def check_07_4(judge: Judge, softmaxed: Any) -> None:
    """softmaxed(logits) is True if every row is without negative numbers and sums to 1."""
    roll = random.Random(4)
    scores = [[roll.gauss(0, 2) for _ in range(10)] for _ in range(6)]
    cases: list[tuple[Rows, bool, str]] = [
        (scores, False, "scores"),
        ([softmax(row) for row in scores], True, "the softmax of scores, in float32"),
        ([[2.0, -1.0], [0.5, 0.5]], False, "a row that sums to 1 with a number below 0"),
        ([[0.5, 0.5], [0.9, 0.3]], False, "only the first row could be probabilities"),
        ([[0.9, 0.3], [0.5, 0.5]], False, "only the last row could be probabilities"),
        ([[0.25, 0.25], [0.75, 0.75]], False, "rows that sum to 1 only in the mean"),
        ([[0.0, 1.0, 0.0]], True, "one certain row"),
        ([[0.1] * 10] * 3, True, "ten times 0.1"),
    ]
    for rows, expected, given in cases:
        judge.equal(judge.call(softmaxed, ch06.Tensor(rows)), expected, given=given)


def message_of(function: Any, *args: Any) -> str:
    """The message of the ValueError that this call raises."""
    try:
        function(*args)
    except ValueError as error:
        return str(error)
    return ""


@exercise(
    "07.5",
    "A loss that minds shapes",
    answer="mse",
    minutes=8,
    hints=(
        "Compare the two shapes before you compute anything.",
        'if predictions.shape != targets.shape: raise ValueError(f"..."), with both shapes in it.',
        "The loss: d = predictions - targets, then (d * d).sum() * (1 / d.numel()), a tensor, so "
        "that backward() can be called on it.",
    ),
)
def check_07_5(judge: Judge, mse: Any) -> None:
    """mse is the mean square for tensors of one shape, and a ValueError for any others."""
    Tensor = ch06.Tensor
    for rows, wanted in (
        ([[1.0], [2.0], [4.0]], [[1.0], [0.0], [1.0]]),
        ([1.5, 2.5], [1.0, 2.0]),
        ([[1.0, 2.0], [3.0, 4.0]], [[0.0, 2.0], [3.0, 8.0]]),
    ):
        predictions = Tensor(rows, dtype="float64", requires_grad=True)
        targets = Tensor(wanted, dtype="float64")
        away = [p - t for p, t in zip(predictions.values(), targets.values(), strict=True)]
        loss = judge.call(mse, predictions, targets)
        judge.close(loss, math.fsum(d * d for d in away) / len(away))
        judge.that(hasattr(loss, "backward"), "the loss is no tensor, so it has no gradient")
        judge.run(loss.backward)
        gradient = Tensor([2 * d / len(away) for d in away], dtype="float64")
        judge.that(predictions.grad is not None, "backward left no gradient in the predictions")
        judge.close(predictions.grad.reshape(-1), gradient, given="the gradient")
    for one, other in (((4, 1), (4,)), ((4,), (4, 1)), ((4,), (1,)), ((2, 3), (3, 2)), ((3,), ())):
        shapes = Tensor(ch06.zeros(one).buf, one), Tensor(ch06.zeros(other).buf, other)
        given = f"shapes {one} and {other}"
        judge.raises(ValueError, mse, *shapes, given=given)
        for shape in (one, other):
            words = ", ".join(map(str, shape))  # "4, 1"
            judge.raises(ValueError, mse, *shapes, match=words, given=given)
        said = judge.run(partial(message_of, mse, *shapes))
        judge.that("reshape" in said.lower(), f"no `reshape` in the message: {said}", given=given)


@exercise(
    "07.6",
    "Mend the layer",
    answer="Mended",
    minutes=12,
    hints=(
        "The Engine leaves a gradient in leaves: tensors that are watched and that no op has made.",
        "b is not watched. w is no leaf: what is watched is the tensor before `* bound`, and "
        "nobody kept it.",
        "Multiply the numbers by bound before the tensor is made, or draw them from -bound to "
        "bound; and give both tensors requires_grad=True.",
    ),
)
def check_07_6(judge: Judge, answer: Any) -> None:
    """Both parameters have gradients after backward(), and a step on them changes the layer."""
    x = ch06.Tensor([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]])
    layer = judge.instance(answer, 3, 40)
    w, b = parameters = judge.run(lambda: list(layer.parameters()))
    bound = math.sqrt(6 / 43)
    judge.equal([w.shape, b.shape], [(3, 40), (40,)], given="the shapes of w and b")
    judge.equal(b.tolist(), [0.0] * 40, given="b, to begin with")
    numbers = w.values()
    judge.that(
        max(map(abs, numbers)) <= bound * (1 + 1e-6),
        f"a weight is {max(map(abs, numbers)):.3f} away from 0; bound is {bound:.3f}",
    )
    judge.that(
        max(numbers) > 0.7 * bound and min(numbers) < -0.7 * bound,
        f"the weights reach from {min(numbers):.3f} to {max(numbers):.3f}, bound is {bound:.3f}",
    )
    judge.run(lambda: (layer(x) * layer(x)).sum().backward())
    for name, p in (("w", w), ("b", b)):
        judge.that(
            p.op is None, f"{name} is the result of an op, no leaf: its gradient is not kept"
        )
        judge.that(p.grad is not None, f"{name} has no gradient after backward()")
        judge.equal(p.grad.shape, p.shape, given=f"the shape of the gradient of {name}")
    z = judge.run(lambda: layer(x))
    judge.close(b.grad, [2 * sum(column) for column in zip(*z.tolist(), strict=True)], rtol=1e-4,
                given="the gradient of b")  # fmt: skip
    for p in parameters:
        p.fill([value + 1.0 for value in p.values()])
    moved = judge.run(lambda: layer(x))
    expected = [[v + sum(row) + 1 for v in scores] for row, scores in zip(
        x.tolist(), z.tolist(), strict=True)]  # fmt: skip
    judge.close(
        moved, expected, rtol=1e-4, given="what the layer computes when all of w, b grew by 1"
    )


question(
    "07.q1",
    "A network for 3 classes begins with a loss of 1.10. What does that tell?",
    choices={
        "a": "it has learned something already",
        "b": "it gives all classes about the same probability",
        "c": "its weights are too large",
    },
    right="b",
    why="ln 3 is 1.0986: the loss of a network that says one third to each of three classes",
)
question(
    "07.q2",
    "The right class has probability 0.25. The derivative of the loss by its score?",
    right=-0.75,
    why="softmax - one-hot: 0.25 - 1. Negative: the loss falls when this score grows",
)
question(
    "07.q3",
    "log_softmax(x) is passed to cross_entropy instead of x. What happens to the loss?",
    choices={
        "a": "it has a floor, as with the double softmax",
        "b": "nothing: the log_softmax of a log_softmax is itself",
        "c": "it is infinite",
    },
    right="b",
    why="its e**x sum to 1 already, and ln 1 is 0: nothing is subtracted the second time",
)
question(
    "07.q4",
    "Predictions of shape (64, 1), targets of shape (64,). How many differences?",
    right=4096,
    why="they stretch to (64, 64), and only the 64 on the diagonal were meant",
)
question(
    "07.q5",
    "300 inputs and 300 outputs. How far from 0 may Glorot's even weights begin?",
    right=0.1,
    why="the square root of 6 / 600",
)
