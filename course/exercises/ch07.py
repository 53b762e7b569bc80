"""Chapter 7, from scores to a loss: ten exercises, two challenges, five questions."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from course.compare import kind
from course.exercise import Judge, exercise, question
from course.library import theirs_or_ours
from course.turns import Steps, formed, in_forms, scattered, take_turns

Rows = list[list[float]]


own = partial(theirs_or_ours, chapter=6)


@contextmanager
def order_kept() -> Iterator[None]:
    """The learner's `random` goes on as if the check had not been."""
    state = random.getstate()
    try:
        yield
    finally:
        random.setstate(state)


def softmax(row: list[float]) -> list[float]:
    """What one row of scores says, computed without overflow."""
    powers = [math.exp(score - max(row)) for score in row]
    return [power / math.fsum(powers) for power in powers]


def is_tensor(value: Any) -> bool:
    return hasattr(value, "buf") and hasattr(value, "shape")


def needs_tensor(judge: Judge, value: Any, what: str = "it gives") -> None:
    """The verdict where a learner gives something else."""
    found = f"{what} {kind(value)}; a tensor is asked for"
    judge.that(is_tensor(value), found)


def leads_back(judge: Judge, result: Any, x: Any, given: str) -> None:
    """result.backward() must leave a gradient in x."""
    found = (
        "its result has no gradient to give: the way from x to it leads through numbers or through "
        "`detach`, which no engine follows. Use operators of tensors all the way"
    )
    judge.that(result.requires_grad, found, given=given)
    judge.run(result.backward)
    judge.that(x.grad is not None, "backward left no gradient in the input", given=given)


def weighted(one: Any, other: Any) -> Any:
    return (one * other).sum()


def same_dtype(judge: Judge, got: Any, x: Any, given: str) -> None:
    """A result has the dtype of what it was made from."""
    judge.equal(got.buf.dtype, x.buf.dtype, given=f"the dtype, {given}")


def are_scores(judge: Judge, result: Any, given: str) -> None:
    """The rows of a result may be any numbers: they are no probabilities already."""
    found = "in each row its scores are without negative ones and add up to 1: they went through a "
    found += "softmax, and the loss is going to do that again. Leave the scores as they are"
    rows = result.reshape(-1, result.shape[-1]).tolist()
    already = all(min(row) >= 0 and abs(math.fsum(row) - 1) < 1e-4 for row in rows)
    judge.that(not already, found, given=given)


def total_of(layer: Any, x: Any) -> Any:
    return layer(x).sum()


def parameters_of(model: Any) -> Any:
    return model.parameters()


# ---- scores --------------------------------------------------------------------------------------


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
    why_ours="Nothing but the formula. The largest term of the sum is e**0 = 1, so the logarithm "
    "never sees a 0, and the others may vanish without harm.",
)
def check_07_1(judge: Judge, logsumexp: Any) -> None:
    """logsumexp(scores) is ln of the sum of e**x, for scores of any size."""
    for scores in (
        [0.0, 0.0],
        [1.5],
        [2.0, 1.0, -1.0],
        [1000.0, 999.0],
        [0.0, 1e4, 9999.0],
        [-1e4, 0.0, 1e4],
        [-1e4, -1e4 - 1.0],
        [-math.inf, 3.0],
        [0.1 * k for k in range(100)],
        [-0.1 * k for k in range(100)],
    ):
        largest = max(scores)
        expected = largest + math.log(math.fsum(math.exp(x - largest) for x in scores))
        judge.close(judge.call(logsumexp, scores), expected, rtol=1e-12, atol=1e-12)


@exercise(
    "07.7",
    "log_softmax, for a tensor",
    answer="log_softmax",
    minutes=12,
    without=("tutor",),
    hints=(
        "A row at a time, but without a loop: max(1) and sum(1) give one number for each row.",
        "One number for each row has shape (n,), and stands under the wrong axis. reshape(-1, 1) "
        "makes (n, 1) of it, which stretches along the row.",
        "First x = x - (the largest of each row), and then, from the shifted x, subtract the "
        "logarithm of the sum of its exponentials, of each row.",
    ),
    why_ours="The shift is done once, at the beginning, and x is the shifted table from there on, "
    "so m need not be added again. Its `detach` spares the Engine a walk whose result is 0 anyway: "
    "the result does not depend on the shift.",
)
@in_forms
def check_07_7(judge: Judge, log_softmax: Any) -> None:
    """log_softmax(x) is x minus ln of the sum of e**x of its row, for scores of any size, and
    backward finds the way from it to x."""
    Tensor = own(log_softmax, "Tensor")
    cases: list[tuple[Rows, str]] = [
        ([[2.0, 1.0, -1.0]], "one row"),
        ([[0.0, 0.0], [3.0, -2.0], [-5.0, 1.5]], "three rows of two classes"),
        ([[0.5, -1.0, 2.0], [1.0, 4.0, 0.0], [-2.0, -2.5, 0.5]], "as many rows as classes"),
        ([[1e4, 9999.0, 9997.0], [0.5, 0.0, -0.5]], "a row of large scores, and a usual one"),
        ([[-1e4, -9999.0], [0.5, 0.0]], "a row of scores far below 0, and a usual one"),
        ([[0.0, -200.0], [-800.0, 0.0]], "classes that are next to impossible"),
        ([[3.0], [-4.0]], "only one class"),
        ([[0.0, -math.inf, 1.0]], "a class that is ruled out"),
    ]
    for rows, given in cases:
        x = formed(Tensor(rows, dtype="float64"))
        got = judge.call(log_softmax, x, given=given)
        needs_tensor(judge, got)
        same_dtype(judge, got, x, given)
        expected = []
        for row in rows:
            largest = max(row)
            lse = largest + math.log(math.fsum(math.exp(x - largest) for x in row))
            expected.append([x - lse for x in row])
        whole = partial(_without_rows, rows)
        mistakes = {
            "x minus the sum of e**x, without its logarithm": partial(shifted, rows, False),
            "the logarithm of the sum over all rows": whole,
            "the softmax, without its logarithm": [softmax(row) for row in rows],
        }
        judge.close(got, expected, rtol=1e-9, given=given, mistakes=mistakes)
    for rows, mix in (
        ([[2.0, 1.0, -1.0]], [[1.0, 0.0, 0.0]]),
        ([[0.3, -1.2], [2.0, 2.0], [1e4, 9999.0]], [[1.0, -2.0], [0.3, 3.0], [-1.0, 0.5]]),
    ):
        given = "the gradient of the sum of its numbers, each times a factor"
        x = formed(Tensor(rows, dtype="float64", requires_grad=True))
        factors = Tensor(mix, dtype="float64")
        got = judge.call(log_softmax, x)
        total = judge.run(partial(weighted, got, factors))
        leads_back(judge, total, x, given)
        gradient = [
            [c - p * math.fsum(factor) for p, c in zip(softmax(row), factor, strict=True)]
            for row, factor in zip(rows, mix, strict=True)
        ]
        judge.close(x.grad, gradient, given=given, atol=1e-8)


def shifted(rows: Rows, logarithm: bool) -> Rows:
    sums = [math.fsum(map(math.exp, row)) for row in rows]
    return [[x - (math.log(s) if logarithm else s) for x in row]
            for row, s in zip(rows, sums, strict=True)]  # fmt: skip


def _without_rows(rows: Rows) -> Rows:
    whole = math.log(math.fsum(math.exp(x) for row in rows for x in row))
    return [[x - whole for x in row] for row in rows]


# ---- the loss ------------------------------------------------------------------------------------

Case = tuple[Rows, list[int]]
LABELLED: list[Case] = [
    ([[2.0, 1.0, -1.0]], [0]),
    ([[2.0, 1.0, -1.0]], [2]),
    ([[2.0, 1.0, -1.0], [0.5, 0.5, 0.0], [-2.0, 3.0, 1.0]], [1, 0, 2]),
    ([[0.1, 0.4, -0.3, 1.0], [0.0, -2.0, 1.0, 0.5]], [3, 1]),
    ([[1.0, -1.0], [0.2, 0.1], [0.0, 3.0], [-1.0, 2.0]], [0, 1, 1, 0]),
    ([[1e4, 0.0, -1e4], [0.0, 1.0, 2.0]], [1, 2]),
]


def loss_of(rows: Rows, labels: list[int]) -> float:
    """The cross-entropy, in floats."""
    parts = []
    for row, label in zip(rows, labels, strict=True):
        largest = max(row)
        parts.append(largest + math.log(math.fsum(math.exp(x - largest) for x in row)) - row[label])
    return math.fsum(parts) / len(parts)


def known_losses(rows: Rows, labels: list[int]) -> dict[str, Any]:
    """What the mistakes lead to that are made most."""
    right, n = loss_of(rows, labels), len(rows)
    return {
        "the sum over the rows, where their mean is asked for": right * n,
        "the mean over rows and classes: only the rows count": right / len(rows[0]),
        "the sign: it is minus the logarithm": -right,
        "in bits: the natural logarithm is asked for": right / math.log(2),
        "what a second softmax gives: the logits were probabilities already": partial(
            loss_of, [softmax(row) for row in rows], labels
        ),
        "the probability itself, without a logarithm": math.fsum(
            softmax(row)[label] for row, label in zip(rows, labels, strict=True)
        ) / n,
    }  # fmt: skip


def gradient_of(rows: Rows, labels: list[int], factor: float = 1.0) -> Rows:
    """The derivative of `factor` times the cross-entropy by each score."""
    return [
        [factor * (p - (c == label)) / len(rows) for c, p in enumerate(softmax(row))]
        for row, label in zip(rows, labels, strict=True)
    ]


@exercise(
    "07.8",
    "Cross-entropy",
    answer="cross_entropy",
    minutes=10,
    without=("tutor",),
    hints=(
        "log_softmax has all the logarithms already. Of each row only one is wanted: which?",
        "Make a table of the same shape with 1.0 where the right class is and 0.0 elsewhere. A "
        "product and a sum then pick one number out of each row, and both have a derivative.",
        "right = [[float(c == label) for c in range(classes)] for label in labels], and the loss "
        "is the sum of log_softmax(logits) * Tensor(right), times -1 / n.",
    ),
    why_ours="A table of zeros and ones picks the numbers, by ops that have a derivative already. "
    "Indexing each row would do as well, with an Op more for each picture.",
)
@in_forms
def check_07_8(judge: Judge, cross_entropy: Any) -> None:
    """cross_entropy(logits, labels) is the mean over the rows of -ln p, where p is what the softmax
    of the row gives to its label; a tensor of one number, from which backward can begin."""
    Tensor = own(cross_entropy, "Tensor")
    for rows, labels in LABELLED:
        given = f"{len(rows)} rows of {len(rows[0])} classes, labels {labels}"
        x = formed(Tensor(rows, dtype="float64", requires_grad=True))
        loss = judge.call(cross_entropy, x, labels, given=given)
        needs_tensor(judge, loss)
        mistakes = known_losses(rows, labels)
        judge.close(loss, loss_of(rows, labels), given=given, rtol=1e-7, mistakes=mistakes)
        leads_back(judge, loss, x, given)
        gradient = gradient_of(rows, labels)
        judge.close(x.grad, gradient, given=f"the gradient, {given}", atol=1e-8)


@exercise(
    "07.2",
    "Softmax and cross-entropy as one Op",
    answer="CrossEntropy",
    minutes=15,
    without=("tutor",),
    hints=(
        "The formula is above: the softmax of each row, minus 1 at the right class.",
        "log_softmax(x).exp() is the softmax. A table with ones you have made for cross_entropy. "
        "And the loss is a mean over n rows: where does n appear in the derivative?",
        "With n, classes = x.shape and `right` as in cross_entropy, the gradient is (softmax - "
        "right) * g * (1 / n). Put it into a tuple.",
    ),
    why_ours="log_softmax(x).exp() is the softmax without overflow. g is there for whoever "
    "multiplies the loss: it is 1 when backward begins at the loss itself.",
)
@in_forms
def check_07_2(judge: Judge, answer: Any) -> None:
    """CrossEntropy(x, labels=...).apply() is the loss, and backward() leaves its gradient in x."""
    cases = [(rows, labels, 1.0) for rows, labels in LABELLED]
    cases += [([[2.0, 1.0, -1.0], [0.0, 0.5, 1.0]], [1, 0], 3.0)]
    take_turns(*[_cross_entropy(judge, answer, *case) for case in cases])


def _cross_entropy(
    judge: Judge, answer: Any, rows: Rows, labels: list[int], factor: float
) -> Steps:
    """One Op, forward and back; between them come others."""
    Tensor = own(answer, "Tensor")
    given = f"x of shape ({len(rows)}, {len(rows[0])}), labels {labels}"
    if factor != 1:
        given += f", and the loss times {factor:g}"
    x = formed(Tensor(rows, dtype="float64", requires_grad=True))
    op = judge.instance(answer, x, labels=labels)
    judge.that(hasattr(op, "apply"), "it makes no Op: a class on top of Op is asked for")
    yield
    loss = judge.run(op.apply)
    needs_tensor(judge, loss, "apply() gives")
    judge.close(loss, loss_of(rows, labels), given=f"forward, {given}", rtol=1e-7,
                mistakes=known_losses(rows, labels))  # fmt: skip
    yield
    grads = judge.run(partial(op.backward, Tensor(factor, dtype="float64")))
    judge.that(
        isinstance(grads, tuple | list) and len(grads) == 1 and is_tensor(grads[0]),
        f"backward gives {kind(grads)}; a tuple of one tensor is asked for: return (...,)",
        given=given,
    )
    shape = tuple(grads[0].shape)
    judge.equal(shape, tuple(x.shape), given=f"the shape of what backward gives, {given}")
    yield
    leads_back(judge, judge.run(partial(weighted, loss, factor)), x, given)
    gradient, n = gradient_of(rows, labels, factor), len(rows)
    mistakes = {
        "n times too large: the loss is a mean over n rows": [[n * v for v in r] for r in gradient],
        "the sign": [[-v for v in r] for r in gradient],
        "without g, which multiplies it": [[v / factor for v in r] for r in gradient],
        "the softmax, from which nothing was taken at the right class": [
            [factor * p / n for p in softmax(row)] for row in rows
        ],
    }
    judge.close(x.grad, gradient, given=f"the gradient, {given}", atol=1e-8, mistakes=mistakes)


# ---- layers --------------------------------------------------------------------------------------


@exercise(
    "07.3",
    "Glorot's weights",
    answer="glorot",
    minutes=8,
    without=("tutor",),
    hints=(
        "One number `a` for the whole layer, computed once from both sizes.",
        "a = math.sqrt(6 / (inputs + outputs)), and each weight is random.uniform(-a, a).",
        "Two comprehensions: the inner one over range(outputs), the outer one over range(inputs).",
    ),
    why_ours="A list of lists, so that Tensor can be made of it. Every number is drawn by itself; "
    "`[...] * n` would repeat one.",
)
def check_07_3(judge: Judge, glorot: Any) -> None:
    """glorot(inputs, outputs) gives inputs rows of outputs numbers, even between -a and a."""
    with order_kept():
        for inputs, outputs in ((3, 5), (100, 50), (20, 300)):
            given = f"{inputs} inputs, {outputs} outputs"
            rows = judge.call(glorot, inputs, outputs, again=False)
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
            again = judge.call(glorot, inputs, outputs, again=False)
            found = "two calls give the same weights: is there a seed in it? That is the caller's"
            judge.that(again != rows, found, given=given)


@exercise(
    "07.9",
    "A linear layer",
    answer="Linear",
    minutes=10,
    without=("tutor",),
    hints=(
        "Two attributes, made once in __init__; __call__ only computes with them.",
        "glorot(inputs, outputs) gives the numbers of w; the biases are a list of outputs zeros. "
        "Both become tensors with requires_grad=True.",
        "self.w = Tensor(glorot(inputs, outputs), requires_grad=True), the same for self.b, and "
        "__call__ returns x @ self.w + self.b.",
    ),
    why_ours="w is (inputs, outputs), so that a batch of rows times w needs no transpose. The bias "
    "is one row, and broadcasting adds it to each row of the batch.",
)
def check_07_9(judge: Judge, answer: Any) -> None:
    """Linear(inputs, outputs) has w, from glorot, and b, of zeros, both watched, and
    layer(x) is x w + b for a batch of rows."""
    first: list[Any] = []
    with order_kept():
        random.seed(11)
        take_turns(*[
            _linear(judge, answer, *sizes, first) for sizes in ((3, 40), (5, 2), (1, 4), (3, 40))
        ])  # fmt: skip
        apart = all(w is not first[0] for w in first[1:])
        judge.that(apart, "two layers share one w: make it in __init__, of self")
        differ = first[0].tolist() != first[-1].tolist()
        judge.that(differ, "two layers of the same size begin with the same weights")


def _linear(judge: Judge, answer: Any, inputs: int, outputs: int, first: list[Any]) -> Steps:
    """One layer: how it begins, what it gives, and how it learns."""
    Tensor, given = own(answer, "Tensor"), f"{inputs} inputs, {outputs} outputs"
    layer = judge.instance(answer, inputs, outputs)
    yield
    parameters: list[Any] = [getattr(layer, name, None) for name in ("w", "b")]
    w, b = parameters
    for name, p, shape in (("w", w, (inputs, outputs)), ("b", b, (outputs,))):
        needs_tensor(judge, p, f"self.{name} is")
        judge.equal(tuple(p.shape), shape, given=f"the shape of {name}, {given}")
        judge.that(p.requires_grad, f"{name} is not watched: requires_grad", given=given)
        found = f"{name} is the result of an op, no leaf: its gradient would not be kept"
        judge.that(p.op is None, found, given=given)
    first.append(w)
    judge.equal(b.tolist(), [0.0] * outputs, given="b, to begin with")
    bound, weights = math.sqrt(6 / (inputs + outputs)), list(w.values())
    far = max(map(abs, weights))
    found = f"a weight is {far:.4f} away from 0; glorot goes to {bound:.4f} here"
    judge.that(0 < far <= bound * (1 + 1e-6), found, given=given)
    found = f"of {len(weights)} weights only {len(set(weights))} are different: draw each of them"
    judge.that(len(set(weights)) > len(weights) / 2, found, given=given)
    yield
    for moved in (False, True):
        if moved:  # as a step of an optimizer does it
            given += ", after a step has changed w and b in place"
            for k, p in enumerate(parameters):
                p.fill([value * 0.5 + i - k for i, value in enumerate(p.values())])
            yield
        rows = [[0.5 * i - j for j in range(inputs)] for i in range(4)]
        x = scattered(Tensor(rows)) if moved else Tensor(rows)
        z = judge.call(layer, x, given=given)
        columns = list(zip(*w.tolist(), strict=True))
        expected = [
            [
                math.fsum(a * c for a, c in zip(row, column, strict=True)) + bias
                for column, bias in zip(columns, b.tolist(), strict=True)
            ]
            for row in rows
        ]
        judge.close(z, expected, rtol=1e-4, atol=1e-5, given=given)
        yield
    for p in parameters:
        p.grad = None
    leads_back(judge, judge.run(partial(total_of, layer, Tensor(rows))), w, given)
    judge.that(b.grad is not None, "backward left no gradient in b", given=given)
    judge.close(b.grad, [4.0] * outputs, given=f"the gradient of b, {given}")
    sums = [[math.fsum(column)] * outputs for column in zip(*rows, strict=True)]
    judge.close(w.grad, sums, rtol=1e-5, given=f"the gradient of w, {given}")


@exercise(
    "07.10",
    "A multilayer perceptron",
    answer="MLP",
    minutes=12,
    without=("tutor",),
    hints=(
        "MLP(4, 5, 3) has two layers: 4 to 5, and 5 to 3. Which pairs of neighbours are these?",
        "Keep the layers in a list, self.layers. In __call__, relu comes after every layer but "
        "the last one; in parameters(), w and b of each layer, in order.",
        "`self.layers = [Linear(m, n) for m, n in zip(sizes, sizes[1:])]`; then loop over "
        "`self.layers[:-1]` with `x = layer(x).relu()`, and return `self.layers[-1](x)`.",
    ),
    why_ours="`*hidden, last` takes the list apart: relu after each of the hidden ones, none after "
    "the last, whose numbers are scores and may be negative. `pairwise` gives neighbours.",
)
def check_07_10(judge: Judge, answer: Any) -> None:
    """MLP(4, 5, 3) is Linear(4, 5), relu, Linear(5, 3); parameters() are w and b of each layer."""
    with order_kept():
        random.seed(12)
        take_turns(*[
            _mlp(judge, answer, sizes) for sizes in ((2, 3), (4, 5, 3), (3, 4, 4, 2))
        ])  # fmt: skip


def _mlp(judge: Judge, answer: Any, sizes: tuple[int, ...]) -> Steps:
    """One network: its layers, what it gives, and its parameters."""
    Tensor = own(answer, "Tensor")
    given = f"the sizes {sizes}"
    model = judge.instance(answer, *sizes)
    yield
    layers = getattr(model, "layers", None)
    found = f"self.layers is {kind(layers)}; a list of the layers is asked for"
    judge.that(isinstance(layers, list), found, given=given)
    found = f"{given} make {len(sizes) - 1} layers, and there are {len(layers or [])}"
    judge.that(len(layers or []) == len(sizes) - 1, found)
    own_ones = []
    for layer, m, n in zip(layers or [], sizes, sizes[1:], strict=False):
        judge.that(is_tensor(getattr(layer, "w", None)), "a layer has no w", given=given)
        judge.equal(tuple(layer.w.shape), (m, n), given=f"a layer's w, for {given}")
        own_ones += [layer.w, layer.b]
    found = "two layers are one and the same object"
    judge.that(len(set(map(id, own_ones))) == 2 * len(sizes) - 2, found, given=given)
    for k, p in enumerate(own_ones):  # biases that are not 0, to be seen
        p.fill([value + 0.1 * (k % 3 - 1) for value in p.values()])
    rows = [[math.sin(3 * i + 2 * j) for j in range(sizes[0])] for i in range(5)]
    expected = rows
    for at in range(0, len(own_ones), 2):
        columns = list(zip(*own_ones[at].tolist(), strict=True))
        biases = own_ones[at + 1].tolist()
        last = at + 2 == len(own_ones)
        z = [
            [
                math.fsum(a * c for a, c in zip(row, column, strict=True)) + bias
                for column, bias in zip(columns, biases, strict=True)
            ]
            for row in expected
        ]
        expected = z if last else [[max(v, 0.0) for v in row] for row in z]
    for x in (Tensor(rows), scattered(Tensor(rows))):
        yield
        got = judge.call(model, x, given=given)
        judge.close(got, expected, rtol=1e-4, atol=1e-5, given=given)
    yield
    parameters = judge.run(partial(parameters_of, model))
    found = f"parameters() gives {kind(parameters)}; a list is asked for"
    judge.that(isinstance(parameters, list), found, given=given)
    found = f"parameters() has {len(parameters)} tensors, and there are {len(own_ones)}"
    judge.that(len(parameters) == len(own_ones), found, given=given)
    found = "parameters() are not the tensors that the layers compute with, in their order"
    judge.that(list(map(id, parameters)) == list(map(id, own_ones)), found, given=given)


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
    why_ours="`all` stops at the first row that is no probability, so a network that is healthy "
    "costs one row only.",
)
def check_07_4(judge: Judge, softmaxed: Any) -> None:
    """softmaxed(logits) is True if every row is without negative numbers and sums to 1."""
    Tensor = own(softmaxed, "Tensor")
    roll = random.Random(4)
    scores = [[roll.gauss(0, 2) for _ in range(10)] for _ in range(6)]
    cases: list[tuple[Rows, bool, str]] = [
        (scores, False, "scores"),
        ([softmax(row) for row in scores], True, "the softmax of scores, in float32"),
        ([[2.0, -1.0], [0.5, 0.5]], False, "a row that sums to 1 with a number below 0"),
        ([[0.5, 0.5], [0.9, 0.3]], False, "only the first row could be probabilities"),
        ([[0.9, 0.3], [0.5, 0.5]], False, "only the last row could be probabilities"),
        ([[0.25, 0.25], [0.75, 0.75]], False, "rows that sum to 1 only in the mean"),
        ([[0.3, 0.6], [0.7, 0.4]], False, "columns that sum to 1"),
        ([[0.0, 1.0, 0.0]], True, "one certain row"),
        ([[0.1] * 10] * 3, True, "ten times 0.1"),
        ([[0.5, 0.499]], False, "a sum of 0.999"),
    ]
    for rows, expected, given in cases:
        judge.equal(judge.call(softmaxed, Tensor(rows)), expected, given=given)


# ---- numbers, and a bug --------------------------------------------------------------------------


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
    without=("tutor",),
    hints=(
        "Compare the two shapes before you compute anything.",
        'if predictions.shape != targets.shape: raise ValueError(f"..."), with both shapes in it.',
        "The loss: d = predictions - targets, then (d * d).sum() * (1 / d.numel()), a tensor, so "
        "that backward() can be called on it.",
    ),
    why_ours="The message says what was found and what to do, with both shapes in it: whoever "
    "reads it is looking at two names, and does not know which one is wrong.",
)
@in_forms
def check_07_5(judge: Judge, mse: Any) -> None:
    """mse is the mean square for tensors of one shape, and a ValueError for any others."""
    Tensor, zeros = own(mse, "Tensor"), own(mse, "zeros")
    for rows, wanted in (
        ([[1.0], [2.0], [4.0]], [[1.0], [0.0], [1.0]]),
        ([1.5, 2.5], [1.0, 2.0]),
        ([[1.0, 2.0], [3.0, 4.0]], [[0.0, 2.0], [3.0, 8.0]]),
        ([[1.0, 2.0, 0.5]], [[0.0, 4.0, 0.0]]),
    ):
        predictions = formed(Tensor(rows, dtype="float64", requires_grad=True))
        targets = formed(Tensor(wanted, dtype="float64"))
        away = [p - t for p, t in zip(predictions.values(), targets.values(), strict=True)]
        loss = judge.call(mse, predictions, targets)
        squares = math.fsum(d * d for d in away)
        mistakes = {
            "the sum, where the mean is asked for": squares,
            "half of it": squares / len(away) / 2,
            "the mean over the rows alone": squares / predictions.shape[0],
            "the root of it": math.sqrt(squares / len(away)),
            "the mean of the differences, without a square": math.fsum(away) / len(away),
            "the mean of their sizes, without a square": math.fsum(map(abs, away)) / len(away),
        }
        judge.close(loss, squares / len(away), mistakes=mistakes)
        judge.that(hasattr(loss, "backward"), "the loss is no tensor, so it has no gradient")
        leads_back(judge, loss, predictions, "the predictions")
        gradient = Tensor([2 * d / len(away) for d in away], dtype="float64")
        judge.close(predictions.grad.reshape(-1), gradient, given="the gradient")
    for one, other in (((4, 1), (4,)), ((4,), (4, 1)), ((4,), (1,)), ((2, 3), (3, 2)), ((3,), ())):
        shapes = Tensor(zeros(one).buf, one), Tensor(zeros(other).buf, other)
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
    why_ours="The numbers are scaled before there is a tensor. `Tensor(...) * bound` and only then "
    "`requires_grad = True` would do as well: nothing was watched when the product was made.",
)
def check_07_6(judge: Judge, answer: Any) -> None:
    """Both parameters have gradients after backward(), and a step on them changes the layer."""
    x = own(answer, "Tensor")([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]])
    layer = judge.instance(answer, 3, 40)
    parameters = judge.run(lambda: list(layer.parameters()))
    judge.that(len(parameters) == 2, f"parameters() has {len(parameters)} tensors, not w and b")
    w, b = parameters
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


# ---- challenges ----------------------------------------------------------------------------------


@exercise(
    "07.s1",
    "Labels that may be wrong",
    answer="smoothed",
    minutes=15,
    without=("tutor",),
    hints=(
        "What you wrote for cross_entropy takes any table in place of the one with ones. Which "
        "numbers have to stand in it?",
        "A row of the table sums to 1: every class has share / classes, and the right one has "
        "1 - share on top.",
        "targets = share / classes + (1 - share) * (c == label), for each c of each label; the "
        "rest is as in cross_entropy.",
    ),
    why_ours="Only the table differs from cross_entropy's, and with a share of 0 they are the "
    "same. The gradient is what you said, minus what was asked for, again.",
)
@in_forms
def check_07_s1(judge: Judge, smoothed: Any) -> None:
    """smoothed(logits, labels, share) is the mean cross-entropy against targets of which the right
    class has 1 - share, and all classes together, the right one too, divide share evenly."""
    Tensor = own(smoothed, "Tensor")
    for (rows, labels), share in zip(
        [LABELLED[0], LABELLED[2], LABELLED[3], LABELLED[4], LABELLED[2]],
        [0.0, 0.1, 0.25, 0.5, 1.0],
        strict=True,
    ):
        given = f"{len(rows)} rows of {len(rows[0])} classes, share {share}"
        x = formed(Tensor(rows, dtype="float64", requires_grad=True))
        loss = judge.call(smoothed, x, labels, share, given=given)
        needs_tensor(judge, loss)
        classes = len(rows[0])
        targets = [
            [share / classes + (1 - share) * (c == label) for c in range(classes)]
            for label in labels
        ]
        chances = [softmax(row) for row in rows]
        pairs = list(zip(chances, targets, strict=True))
        expected = math.fsum(
            -t * math.log(p) for row, wanted in pairs for p, t in zip(row, wanted, strict=True)
        )
        judge.close(loss, expected / len(rows), given=given, rtol=1e-6)
        leads_back(judge, loss, x, given)
        gradient = [
            [(p - t) / len(rows) for p, t in zip(row, wanted, strict=True)] for row, wanted in pairs
        ]
        judge.close(x.grad, gradient, given=f"the gradient, {given}", atol=1e-7)


def best_temperature(rows: Rows, labels: list[int]) -> float:
    """Where the cross-entropy of rows / T has its smallest value: it is convex in 1 / T."""

    def slope(beta: float) -> float:
        parts = []
        for row, label in zip(rows, labels, strict=True):
            chances = softmax([beta * x for x in row])
            parts.append(math.fsum(p * x for p, x in zip(chances, row, strict=True)) - row[label])
        return math.fsum(parts)

    low, high = 1e-3, 1e3
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    return 1 / low


@exercise(
    "07.s2",
    "How sure may it be?",
    answer="temperature",
    minutes=20,
    without=("tutor",),
    seconds=8,
    hints=(
        "T is a parameter like any other: watch it, compute the loss, and go down its slope. Only "
        "T may not become 0 or negative on the way.",
        "Let the parameter be t = ln T, which may be any number: T = e**t. "
        "cross_entropy(logits * (-t).exp(), labels) is the loss.",
        "Steps of a fixed length, against the sign of the slope; halve the length each time the "
        "sign changes. After 200 of them return math.exp(t.item()).",
    ),
    why_ours="The parameter is ln T, so no step can make T negative, and a step means a factor. "
    "The length is halved whenever the slope changes its sign: of a valley with one bottom that "
    "is enough, and no learning rate has to be chosen.",
)
def check_07_s2(judge: Judge, temperature: Any) -> None:
    """temperature(logits, labels) is the T, within 2 percent, for which the cross-entropy of
    logits / T is smallest."""
    Tensor = own(temperature, "Tensor")
    for seed, classes, factor in ((1, 4, 3.0), (2, 3, 0.4), (3, 2, 1.0)):
        roll = random.Random(seed)
        honest = [[roll.gauss(0, 1.5) for _ in range(classes)] for _ in range(60)]
        labels = [roll.choices(range(classes), softmax(row))[0] for row in honest]
        rows = [[factor * x for x in row] for row in honest]
        given = f"60 rows of {classes} classes, whose scores are {factor} times what is honest"
        got = judge.call(temperature, Tensor(rows), labels, given=given)
        judge.close(got, best_temperature(rows, labels), rtol=0.02, given=given)


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
    tempting={
        "a": "1.10 is less than the 2.30 of this chapter, but that was for ten classes: with "
        "three, whoever knows nothing pays ln 3",
        "c": "with weights that are too large it would be sure of nonsense, and pay much more",
    },
)
question(
    "07.q2",
    "The right class has probability 0.25. The derivative of the loss by its score?",
    right=-0.75,
    why="softmax - one-hot: 0.25 - 1. Negative: the loss falls when this score grows",
    tempting={
        0.75: "that is what it lacks. The derivative says how the loss changes when the score "
        "grows, and it falls",
        0.25: "that would be the derivative for a wrong class: the right one has 1 subtracted",
        -4.0: "that is the derivative by the probability, -1 / p. By the score it is p - 1",
        -0.25: "the sign is right; but it is pulled by what it lacks, not by what it has",
    },
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
    tempting={
        "a": "the floor comes from numbers between 0 and 1, which are never far apart. Logarithms "
        "of probabilities may be as far apart as the scores were",
        "c": "nothing is divided and no logarithm of 0 is taken: log_softmax takes any scores",
    },
)
question(
    "07.q4",
    "Predictions of shape (64, 1), targets of shape (64,). How many differences?",
    right=4096,
    why="they stretch to (64, 64), and only the 64 on the diagonal were meant",
    tempting={
        64: "that many were meant. But (64,) is read as (1, 64), and both stretch",
        128: "shapes do not add up: they stretch to a table of 64 rows and 64 columns",
    },
)
question(
    "07.q5",
    "300 inputs and 300 outputs. How far from 0 may Glorot's even weights begin?",
    right=0.1,
    why="the square root of 6 / 600",
    tempting={
        0.01: "that is 6 / 600; the root of it is asked for",
        math.sqrt(2 / 600): "that is their spread. Even numbers reach further, by the root of 3",
        math.sqrt(6 / 300): "both sizes count: 6 / (inputs + outputs)",
        math.sqrt(2 / 300): "that is the spread of He's weights",
    },
)
