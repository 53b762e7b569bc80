"""Chapter 11, attention: twelve exercises, two challenges, five questions."""

from __future__ import annotations

import contextlib
import io
import itertools
import math
import random
import re
from functools import partial
from typing import Any

from course.compare import kind
from course.exercise import Judge, exercise, question
from course.exercises import ch07
from course.exercises.ch07 import are_scores, needs_tensor, order_kept, same_dtype
from course.exercises.ch09 import is_quick
from course.library import theirs_or_ours
from course.turns import Steps, formed, in_forms, scattered, take_turns
from tutor import data

Rows = list[list[float]]
Shape = tuple[int, ...]


own = partial(theirs_or_ours, chapter=11)


def some(
    answer: Any, *shape: int, seed: int = 0, dtype: str = "float64", watched: bool = False
) -> Any:
    """A tensor of random numbers, quarters from -2 to 2."""
    roll = random.Random(f"{seed} {shape}")
    numbers = [roll.randint(-8, 8) / 4 for _ in range(math.prod(shape))]
    buffer = own(answer, "Buffer")(numbers, dtype)
    return formed(own(answer, "Tensor")(buffer, shape, requires_grad=watched))


def tables(nested: Any, axes: int) -> list[Any]:
    """The tables of nested lists with so many axes, one after the other."""
    return [nested] if axes == 2 else [t for part in nested for t in tables(part, axes - 1)]


def product(x: Rows, y: Rows) -> Rows:
    columns = list(zip(*y, strict=True))
    return [[math.fsum(a * b for a, b in zip(row, c, strict=True)) for c in columns] for row in x]


def shared(row: list[float]) -> list[float]:
    """The softmax of a row, in which some may be minus infinity."""
    powers = [math.exp(x - max(row)) for x in row]
    return [power / math.fsum(powers) for power in powers]


def weights_for(q: Rows, k: Rows, mask: Rows | None = None, divisor: float | None = None) -> Rows:
    """The softmax of the scaled scores, by the formula."""
    scores = product(q, [list(column) for column in zip(*k, strict=True)])
    root = math.sqrt(len(q[0])) if divisor is None else divisor
    return [
        shared([s / root + (mask[i][j] if mask else 0) for j, s in enumerate(row)])
        for i, row in enumerate(scores)
    ]


def known_weights(pairs: list[tuple[Rows, Rows]], mask: Rows | None) -> dict[str, Any]:
    """What the known mistakes lead to, for pairs of queries and keys."""
    width, keys = len(pairs[0][0][0]), len(pairs[0][1])

    def by(divisor: float) -> list[Rows]:
        return [weights_for(q, k, mask, divisor) for q, k in pairs]

    def across() -> list[Rows]:
        scores = [weights_scores(q, k, mask) for q, k in pairs]
        return [flipped([shared(column) for column in flipped(table)]) for table in scores]

    def late() -> list[Rows]:
        tables_of = [weights_for(q, k) for q, k in pairs]
        return [
            [[w if not m else 0.0 for w, m in zip(row, out, strict=True)]
             for row, out in zip(table, mask or table, strict=True)] for table in tables_of
        ]  # fmt: skip

    found: dict[str, Any] = {
        "what scores give that were not divided by the root of the width": lambda: by(1.0),
        "what scores give that were divided by the width; by its root": lambda: by(width),
        "what scores give that were multiplied by the root of the width": lambda: by(width**-0.5),
        f"divided by the root of {keys}, the number of keys": lambda: by(math.sqrt(keys)),
        "shares that add up to 1 in each column: each query has a row": across,
    }
    if mask:
        found["what comes out without the mask"] = lambda: [weights_for(q, k) for q, k in pairs]
        found["weights that were set to 0 after the softmax: the mask belongs before it"] = late
    return found


def weights_scores(q: Rows, k: Rows, mask: Rows | None) -> Rows:
    scores = product(q, flipped(k))
    root = math.sqrt(len(q[0]))
    return [[s / root + (mask[i][j] if mask else 0) for j, s in enumerate(row)]
            for i, row in enumerate(scores)]  # fmt: skip


def triangle(count: int) -> Rows:
    return [[0.0 if j <= i else -math.inf for j in range(count)] for i in range(count)]


def weighted(result: Any, factors: Any) -> Any:
    return (result * factors).sum()


def back_from(layer: Any, x: Any) -> None:
    """The backward pass of the sum of the squares of what a layer gives."""
    said = layer(x)
    (said * said).sum().backward()


# ---- letters -------------------------------------------------------------------------------------


@exercise(
    "11.1",
    "The loss of pairs",
    answer="pair_loss",
    minutes=12,
    without=("tutor",),
    hints=(
        "A table of counts, one row for each letter and one column for what comes after it. With "
        "what does each count begin?",
        "Count with `for a, b in pairwise(train): followed[a][b] += 1`, beginning at 1. The "
        "probability of b after a is followed[a][b] / sum(followed[a]).",
        "The loss is -sum(math.log(p[a][b]) for a, b in pairwise(test)) / (len(test) - 1), with a "
        "table p made once.",
    ),
    why_ours="The table of logarithms is made once, so that a pair of the test costs no more than "
    "two look-ups: there are many more pairs than cells.",
)
def check_11_1(judge: Judge, pair_loss: Any) -> None:
    """pair_loss(train, test, count) is the mean of -ln p(next letter | letter) over the pairs of
    neighbours in test, with p from the pairs counted in train, each once more than it occurs."""
    roll = random.Random(3)
    cases: list[tuple[list[int], list[int], int]] = [
        ([0, 1, 0, 1, 0], [0, 1], 2),
        ([0, 1, 0, 1, 0], [0, 1, 1, 0], 2),
        ([0, 0, 1], [1, 0, 0, 0, 1], 2),
        ([2, 0, 1, 2, 2], [0, 2, 1, 0], 3),
        ([0, 1, 1], [3, 2, 3, 0], 4),
        (roll.choices(range(6), [5, 4, 3, 2, 1, 1], k=300), roll.choices(range(6), k=80), 6),
        (roll.choices(range(5), [9, 5, 1, 1, 1], k=40), roll.choices(range(5), k=200), 7),
    ]
    for train, test, count in cases:
        followed = [[1] * count for _ in range(count)]
        for a, b in itertools.pairwise(train):
            followed[a][b] += 1
        each = [math.log(sum(followed[a]) / followed[a][b]) for a, b in itertools.pairwise(test)]
        got = judge.call(pair_loss, train, test, count)
        raw = [[n - 1 for n in row] for row in followed]
        mean = math.fsum(each) / len(each)
        mistakes = {
            "without the one more: counts as they are": lambda raw=raw, test=test: math.fsum(
                math.log(sum(raw[a]) / raw[a][b]) for a, b in itertools.pairwise(test)
            ) / (len(test) - 1),
            "divided by the number of letters, not of pairs": mean * len(each) / len(test),
            "the sum over the pairs; their mean is asked for": mean * len(each),
            "in bits; the natural logarithm is asked for": mean / math.log(2),
            "the sign: minus the logarithm is asked for": -mean,
            "pairs the other way round: p(letter | next letter)": lambda f=followed, test=test: (
                math.fsum(math.log(sum(f[b]) / f[b][a]) for a, b in itertools.pairwise(test))
                / (len(test) - 1)
            ),
        }  # fmt: skip
        judge.close(got, mean, rtol=1e-9, mistakes=mistakes)


@exercise(
    "11.2",
    "Embedding",
    answer="Embedding",
    minutes=12,
    without=("tutor",),
    hints=(
        "one_hot(ids, count) @ w takes the rows out of w, and a product has a derivative.",
        "flatten(ids) gives the ids as one list, and the shape they had. The rows come out one "
        "below the other; which shape should they have?",
        "numbers, shape = flatten(ids); return (one_hot(numbers, count) @ self.w).reshape(*shape, "
        "width). For a tensor of ids, take ids.tolist() first.",
    ),
    why_ours="Whatever the nesting of the ids, they are flattened, looked up in one product, and "
    "put back into their shape. The product does the way back, too: it adds up what arrives for "
    "each letter, however often it occurs.",
)
def check_11_2(judge: Judge, answer: Any) -> None:
    """Embedding(count, width) has a table w of random numbers of spread 1 / sqrt(width), watched;
    called with ids, in lists or in a tensor of any shape, it gives their rows."""
    with order_kept():
        for count, width in ((5, 3), (400, 64)):
            given = f"Embedding({count}, {width})"
            layer = judge.instance(answer, count, width)
            judge.that(hasattr(layer, "w"), "it has no attribute w", given=given)
            w = layer.w
            needs_tensor(judge, w, "its w is")
            judge.equal(tuple(w.shape), (count, width), given=f"the shape of w, {given}")
            judge.that(w.requires_grad, "its w is not watched: requires_grad", given=given)
            judge.that(w.op is None, "its w is the result of an op, no leaf", given=given)
            different = len(set(w.values()))
            found = f"of the {count * width} numbers of w only {different} are different"
            judge.that(different > count * width / 2, f"{found}: draw each of them", given=given)
            wide = spread(w.values()) * math.sqrt(width)
            if count > 100:
                judge.close(wide, 1.0, rtol=0.05, given=f"spread of w times sqrt(width), {given}")
                far = max(map(abs, w.values())) * math.sqrt(width)
                found = f"no number is further than {far:.2f} times the spread from 0, as even ones"
                judge.that(far > 2.5, f"{found} are: draw them by random.gauss", given=given)
        layer, other = judge.instance(answer, 6, 3), judge.instance(answer, 9, 3)
        judge.call(other, [8, 7])
        lists = layer.w.tolist()
        cases: list[tuple[Any, Any]] = [
            ([2, 0, 5], (3,)),
            ([4], (1,)),
            ([[1, 1, 3], [5, 0, 1]], (2, 3)),
            ([[[0, 2], [2, 2]], [[3, 4], [5, 1]]], (2, 2, 2)),
        ]
        Tensor = own(answer, "Tensor")
        for ids, shape in cases:
            numbers = own(answer, "flatten")(ids)[0]
            wanted = own(answer, "nest")([lists[i] for i in numbers], shape)
            whole = Tensor(ids, dtype="int64")
            forms = ((ids, f"ids {ids}"), (whole, "a tensor"), (scattered(whole), "a view"))
            for called, what in forms:
                given = f"{what}, of shape {shape}"
                got = judge.call(layer, called, given=given)
                needs_tensor(judge, got)
                judge.equal(tuple(got.shape), (*shape, 3), given=f"the shape for {given}")
                judge.close(got, wanted, given=given)
            layer.w.grad = None
            factors = some(answer, *shape, 3, seed=5, dtype="float32")
            total = judge.run(partial(weighted, judge.call(layer, ids), factors))
            ch07.leads_back(judge, total, layer.w, f"ids {ids}")
            arrived = [[0.0] * 3 for _ in range(6)]
            for i, row in zip(numbers, factors.reshape(-1, 3).tolist(), strict=True):
                arrived[i] = [a + b for a, b in zip(arrived[i], row, strict=True)]
            given = f"the gradient of w, when each row of ids {ids} is multiplied by factors"
            judge.close(layer.w.grad, arrived, rtol=1e-5, atol=1e-6, given=given)


def spread(numbers: Any) -> float:
    mean = math.fsum(numbers) / len(numbers)
    return math.sqrt(math.fsum((x - mean) ** 2 for x in numbers) / len(numbers))


# ---- products of many tables ---------------------------------------------------------------------


def batches_of_tables(answer: Any) -> dict[str, tuple[Any, Any]]:
    """Pairs with the same leading axes."""
    x, y = some(answer, 2, 3, 4, seed=1), some(answer, 2, 4, 5, seed=2)
    turned = own(answer, "transpose")
    one = own(answer, "expand")(some(answer, 4, 5, seed=9), (3, 4, 5))
    return {
        "x (2, 3), y (3, 4)": (some(answer, 2, 3), some(answer, 3, 4)),
        "x (2, 3, 4), y (2, 4, 5)": (x, y),
        "x (3, 2, 2), y (3, 2, 2)": (some(answer, 3, 2, 2), some(answer, 3, 2, 2, seed=4)),
        "x (2, 3, 2, 3), y (2, 3, 3, 1)": (some(answer, 2, 3, 2, 3), some(answer, 2, 3, 3, 1)),
        "x (1, 1, 4), y (1, 4, 1)": (some(answer, 1, 1, 4), some(answer, 1, 4, 1)),
        "x and y transposed views": (turned(some(answer, 2, 4, 3)), turned(some(answer, 2, 5, 4))),
        "x (3, 2, 4), y one table of (4, 5) stretched to (3, 4, 5)": (some(answer, 3, 2, 4), one),
    }


@exercise(
    "11.3",
    "The kernel, for any number of tables",
    answer="matmul",
    minutes=10,
    without=("tutor", "MatMul"),
    hints=(
        "The numbers of x are tables one after the other, each of them m rows; those of "
        "transpose(y) are tables of n columns. How many tables are there?",
        "math.prod(out.shape[:-2]) tables. parts(x.values(), tables * m) gives all rows, of which "
        "table t has those from t * m to (t + 1) * m.",
        "For each table t: for row in rows[t * m : (t + 1) * m]: for column in columns[t * n : "
        "(t + 1) * n]: append the sum of the products. One out.fill(...) at the end.",
    ),
    why_ours="math.prod of no sizes at all is 1, so a single table is no special case.",
)
def check_11_3(judge: Judge, matmul: Any) -> None:
    """Each table of out is the product of the tables of x and of y in the same place."""
    for given, (x, y) in batches_of_tables(matmul).items():
        shape = (*x.shape[:-1], y.shape[-1])
        out = own(matmul, "zeros")(shape, "float64")
        out.fill([777.0] * out.numel())
        before = [x.tolist(), y.tolist()]
        judge.call(matmul, out, x, y, changes=True, given=given)
        judge.equal([x.tolist(), y.tolist()], before, given=given + "; x and y afterwards")
        pairs = zip(tables(before[0], len(shape)), tables(before[1], len(shape)), strict=True)
        judge.close(
            tables(out.tolist(), len(shape)), [product(a, b) for a, b in pairs], given=given
        )
    whole = own(matmul, "zeros")((2, 2, 3), "float64")
    x, y = some(matmul, 2, 3, 4), some(matmul, 2, 4, 2)
    judge.call(matmul, own(matmul, "transpose")(whole), x, y, changes=True, given="out is a view")
    right = [[list(c) for c in zip(*product(a, b), strict=True)]
             for a, b in zip(x.tolist(), y.tolist(), strict=True)]  # fmt: skip
    judge.close(whole, right, given="an `out` that is a transposed view: its Buffer")
    Tensor = own(matmul, "Tensor")
    x = Tensor([[[2**53, 1]], [[3, 4]]], dtype="int64")
    y = Tensor([[[1], [1]], [[10], [100]]], dtype="int64")
    out = own(matmul, "zeros")((2, 1, 1), "int64")
    judge.call(matmul, out, x, y, changes=True, given="int64")
    judge.equal(out.tolist(), [[[2**53 + 1]], [[430]]], given="int64, exact")


def stretched(nested: Any, shape: Shape, to: Shape) -> list[Any]:
    """The tables of nested lists, as often as broadcasting uses them."""
    found = tables(nested, len(shape))
    own_axes = (1,) * (len(to) - len(shape[:-2])) + shape[:-2]
    chosen = []
    for index in itertools.product(*map(range, to)):
        place = 0
        for i, size in zip(index, own_axes, strict=True):
            place = place * size + (i if size > 1 else 0)
        chosen.append(found[place])
    return chosen


@exercise(
    "11.4",
    "MatMul, for any number of tables",
    answer="MatMul",
    minutes=13,
    without=("tutor",),
    hints=(
        "Split each shape: the last two axes have to fit as before, and what is before them "
        "stretches as in chapter 3. y.T exchanges the last two axes, so backward needs no change.",
        "before = broadcast_shapes(x.shape[:-2], y.shape[:-2]); expand(x, (*before, "
        "*x.shape[-2:])), and the same for y. Bring both to one dtype with alike.",
        "return (*before, x.shape[-2], y.shape[-1]), (x, y) at the end of prepare. The Engine adds "
        "up what was stretched: its `fit` does so for every op.",
    ),
    why_ours="backward is what it was: y.T exchanges the last two axes of any tensor, and the "
    "Engine adds up the gradients of what was stretched.",
)
@in_forms
def check_11_4(judge: Judge, MatMul: Any) -> None:  # noqa: N803 - it is a class
    """The products, with the axes before the last two broadcast; a ValueError where shapes do not
    fit; the gradients of both."""
    judge.that(isinstance(MatMul, type), "it is no class")
    shapes: list[tuple[Shape, Shape]] = [
        ((2, 3), (3, 4)), ((2, 3, 4), (2, 4, 5)), ((2, 2, 2), (2, 2, 2)),
        ((3, 2, 4), (4, 5)), ((2, 4), (3, 4, 2)), ((2, 1, 2, 3), (3, 3, 4)),
        ((1, 2, 3), (4, 3, 2)), ((2, 3, 1, 2), (2, 3, 2, 3)),
    ]  # fmt: skip
    take_turns(*[_product(judge, MatMul, *pair) for pair in shapes])
    for watched in ((True, False), (False, True), (False, False)):
        x, y = (some(MatMul, 2, 3, 3, seed=s, watched=w) for s, w in enumerate(watched))
        grads = judge.run(partial(MatMul(x, y).backward, some(MatMul, 2, 3, 3, seed=7)))
        given = f"x.requires_grad is {watched[0]}, y.requires_grad is {watched[1]}"
        judge.that(isinstance(grads, tuple | list), "backward gives no tuple of two", given=given)
        found = tuple(g is not None for g in grads)
        judge.equal(found, watched, given=given + ": which gradients are not None")
    _refused(judge, MatMul)


def _product(judge: Judge, MatMul: Any, first: Shape, second: Shape) -> Steps:  # noqa: N803
    """One product, forward and back; between them come others."""
    given = f"x {first}, y {second}"
    x, y = some(MatMul, *first, watched=True), some(MatMul, *second, seed=2, watched=True)
    op = judge.instance(MatMul, x, y)
    judge.that(hasattr(op, "apply"), "it makes no Op: a class on top of Op is asked for")
    z = judge.run(op.apply)
    needs_tensor(judge, z, "apply() gives")
    before = own(MatMul, "broadcast_shapes")(first[:-2], second[:-2])
    shape = (*before, first[-2], second[-1])
    judge.equal(tuple(z.shape), shape, given=f"the shape of the product of {given}")
    xs, ys = stretched(x.tolist(), first, before), stretched(y.tolist(), second, before)
    pairs = list(zip(xs, ys, strict=True))
    judge.close(tables(z.tolist(), len(shape)), [product(a, b) for a, b in pairs], given=given)
    g = some(MatMul, *shape, seed=3)
    yield
    judge.run(partial(weighted_back, z, g))
    for name, t, wanted in zip("xy", (x, y), of_products(x, y, g, before), strict=True):
        where = f"the gradient of {name}, {given}"
        judge.that(t.grad is not None, f"there is no gradient in {name}", given=given)
        judge.equal(tuple(t.grad.shape), tuple(t.shape), given=f"the shape of {where}")
        judge.close(tables(t.grad.tolist(), len(t.shape)), wanted, given=where)


def _refused(judge: Judge, MatMul: Any) -> None:  # noqa: N803 - it is a class
    """Two dtypes, and shapes that do not fit."""
    double = some(MatMul, 2, 1)
    double = own(MatMul, "Tensor")(double.tolist(), dtype="float64")
    mixed = judge.run(lambda: MatMul(some(MatMul, 1, 2, dtype="float32"), double).apply())
    judge.equal(mixed.buf.dtype, "float64", given="the dtype of float32 times float64")
    misfits: list[tuple[Shape, Shape, list[Shape]]] = [
        ((2, 3), (2, 3), [(2, 3)]), ((2, 2, 3), (2, 2, 4), [(2, 2, 3), (2, 2, 4)]),
        ((2, 1, 3), (3, 3, 2), [(2,), (3,)]), ((3,), (3, 2), [(3,), (3, 2)]),
        ((2, 3), (3,), [(2, 3), (3,)]),
    ]  # fmt: skip
    for first, second, named in misfits:
        x, y = some(MatMul, *first), some(MatMul, *second)
        for shape in named:
            judge.raises(
                ValueError, lambda x=x, y=y: MatMul(x, y).apply(), match=re.escape(str(shape)),
                called="MatMul(x, y).apply()", given=f"x of shape {first}, y of shape {second}",
            )  # fmt: skip


def weighted_back(z: Any, g: Any) -> None:
    (z * g).sum().backward()


def of_products(x: Any, y: Any, g: Any, before: Shape) -> list[list[Rows]]:
    """The gradients of x and y, each as a list of tables, for the gradient g of their product."""
    parts = [stretched(t.tolist(), tuple(t.shape), before) for t in (x, y, g)]
    found = []
    triples = list(zip(*parts, strict=True))
    of_x = [product(c, flipped(b)) for _, b, c in triples]
    of_y = [product(flipped(a), c) for a, _, c in triples]
    for t, shares in ((x, of_x), (y, of_y)):
        count = math.prod(t.shape[:-2])
        places = stretched(_numbered(tuple(t.shape[:-2])), (*t.shape[:-2], 1, 1), before)
        sums = [[[0.0] * t.shape[-1] for _ in range(t.shape[-2])] for _ in range(count)]
        for place, share in zip(places, shares, strict=True):
            table = sums[int(place[0][0])]
            for row, more in zip(table, share, strict=True):
                row[:] = [a + b for a, b in zip(row, more, strict=True)]
        found.append(sums)
    return found


def _numbered(shape: Shape, first: int = 0) -> Any:
    """Nested lists of tables of one number, which count from `first`."""
    if not shape:
        return [[float(first)]]
    size = math.prod(shape[1:])
    return [_numbered(shape[1:], first + i * size) for i in range(shape[0])]


def flipped(rows: Rows) -> Rows:
    return [list(column) for column in zip(*rows, strict=True)]


# ---- softmax, and who listens --------------------------------------------------------------------


@exercise(
    "11.5",
    "Softmax along the last axis",
    answer="softmax",
    minutes=10,
    without=("tutor",),
    hints=(
        "As log_softmax in chapter 7, but without the logarithm: shift by the largest of each row, "
        "raise e to it, divide by the sum of each row.",
        "max(-1) and sum(-1) go along the last axis, and it is gone. reshape(*x.shape[:-1], 1) "
        "puts it back with size 1, so that it stretches.",
        "one = (*x.shape[:-1], 1); e = (x - x.detach().max(-1).reshape(*one)).exp(); return e / "
        "e.sum(-1).reshape(*one)",
    ),
    why_ours="The shift is detached, as in chapter 7: the result does not depend on it, so the "
    "Engine need not go that way.",
)
@in_forms
def check_11_5(judge: Judge, softmax: Any) -> None:
    """softmax(x) is e**x divided by its sum along the last axis, for any number of axes, for scores
    of any size, and for scores of minus infinity, which get 0."""
    Tensor = own(softmax, "Tensor")
    cases: list[tuple[Any, str]] = [
        ([[2.0, 1.0, -1.0]], "one row"),
        ([0.5, -0.5, 2.0, 1.0], "a single axis"),
        ([[0.0, 1.0], [3.0, 2.0], [-1.0, 1.0]], "three rows"),
        ([[1.0, 2.0], [0.0, 0.5]], "as many rows as columns"),
        ([[[1.0, 2.0, 0.0], [0.0, 0.5, 1.5]], [[2.0, -2.0, 1.0], [0.3, 0.2, 0.1]]], "(2, 2, 3)"),
        ([[[[1.0, 2.0], [3.0, 0.0]]], [[[0.0, 0.5], [2.0, 2.5]]]], "(2, 1, 2, 2)"),
        ([[1000.0, 999.0], [-1000.0, -998.0]], "scores far from 0"),
        ([[0.0, -math.inf, 1.0], [-math.inf, -math.inf, 3.0]], "some are minus infinity"),
    ]
    for lists, given in cases:
        x = formed(Tensor(lists, dtype="float64", requires_grad=True))
        got = judge.call(softmax, x, given=given)
        needs_tensor(judge, got)
        judge.equal(tuple(got.shape), tuple(x.shape), given=f"the shape, {given}")
        same_dtype(judge, got, x, given)
        each = [shared(row) for row in rows_of(lists)]
        table = rows_of(lists)
        mistakes = {
            "shares along the columns; each row adds up to 1": lambda t=table: flipped(
                [shared(column) for column in flipped(t)]
            ),
            "shares of the whole; each row adds up to 1": lambda t=table: [
                shared([v for row in t for v in row])[i * len(row) : (i + 1) * len(row)]
                for i, row in enumerate(t)
            ],
            "the logarithms of the shares": lambda e=each: [[math.log(v) for v in r] for r in e],
            "e**x, not divided by the sum": lambda t=table: [[math.exp(v) for v in r] for r in t],
            "e**(x - largest), not divided by the sum": lambda t=table: [
                [math.exp(v - max(r)) for v in r] for r in t
            ],
        }
        judge.close(got.reshape(-1, x.shape[-1]), each, given=given, mistakes=mistakes)
        factors = some(softmax, *x.shape, seed=1)
        total = judge.run(partial(weighted, got, factors))
        ch07.leads_back(judge, total, x, given)
        gradient = []
        for p, f in zip(each, rows_of(factors.tolist()), strict=True):
            mean = math.fsum(a * b for a, b in zip(p, f, strict=True))
            gradient.append([a * (b - mean) for a, b in zip(p, f, strict=True)])
        where = f"the gradient of the sum of its numbers, each times a factor; {given}"
        judge.close(x.grad.reshape(-1, x.shape[-1]), gradient, given=where, atol=1e-8)


def rows_of(nested: Any) -> list[list[float]]:
    """The rows of nested lists, the innermost lists, one after the other."""
    if not isinstance(nested[0], list):
        return [nested]
    return [row for part in nested for row in rows_of(part)]


@exercise(
    "11.6",
    "Listening",
    answer="listening",
    minutes=12,
    without=("tutor",),
    hints=(
        "All products of a query and a key at once are one product of tables: q times k "
        "transposed. Which size is the width?",
        "q @ k.T gives a row of scores for each query. They are divided by the root of "
        "q.shape[-1]; the mask is added to them; softmax comes last.",
        "scores = q @ k.T * (1 / math.sqrt(q.shape[-1])); with a mask, scores + mask; "
        "return softmax(...)",
    ),
    why_ours="The mask is added, and before the softmax: what is minus infinity there is exactly 0 "
    "afterwards, and the others share all of the attention among them.",
)
@in_forms
def check_11_6(judge: Judge, listening: Any) -> None:
    """listening(q, k, mask) is the softmax, along the keys, of q times k transposed, divided by the
    root of the width, plus the mask where there is one."""
    shapes: list[tuple[Shape, Shape, bool]] = [
        ((2, 4), (3, 4), False), ((3, 9), (3, 9), False), ((1, 5, 2), (1, 5, 2), True),
        ((2, 4, 3), (2, 4, 3), True), ((2, 3, 4, 16), (2, 3, 4, 16), True),
        ((2, 1, 3), (2, 6, 3), False),
    ]  # fmt: skip
    for first, second, masked in shapes:
        q, k = some(listening, *first, seed=1, watched=True), some(listening, *second, seed=2)
        given = f"q {first}, k {second}" + (", and a causal mask" if masked else ", no mask")
        rows = triangle(first[-2]) if masked else None
        more = [formed(own(listening, "Tensor")(rows, dtype="float64"))] if masked else []
        got = judge.call(listening, q, k, *more, given=given)
        needs_tensor(judge, got)
        shape = (*first[:-1], second[-2])
        judge.equal(tuple(got.shape), shape, given=f"the shape for {given}")
        same_dtype(judge, got, q, given)
        pairs = list(
            zip(tables(q.tolist(), len(first)), tables(k.tolist(), len(first)), strict=True)
        )
        wanted = [weights_for(a, b, rows) for a, b in pairs]
        judge.close(tables(got.tolist(), len(shape)), wanted, given=given,
                    mistakes=known_weights(pairs, rows))  # fmt: skip
        total = judge.run(partial(weighted, got, some(listening, *shape, seed=3)))
        ch07.leads_back(judge, total, q, given)
    q, k = some(listening, 2, 3), some(listening, 2, 3, seed=1)
    bare = judge.call(listening, q, k, mask=None, given="mask=None")
    judge.close(bare, weights_for(q.tolist(), k.tolist()), given="mask=None")
    away = [[0.0, -2.0], [1.5, 0.0]]
    got = judge.call(listening, q, k, mask=own(listening, "Tensor")(away, dtype="float64"))
    judge.close(got, weights_for(q.tolist(), k.tolist(), away), given="a mask of other numbers")


def has_layers(judge: Judge, layer: Any, names: str, shape: Shape, given: str) -> None:
    """Linear layers as attributes, with w and b of these shapes."""
    for name in names.split():
        found: Any = getattr(layer, name, None)
        judge.that(found is not None, f"it has no attribute {name}", given=given)
        fits = all(hasattr(found, part) for part in "wb")
        judge.that(fits, f"its {name} is {kind(found)}, no Linear with w and b", given=given)
        judge.equal(tuple(found.w.shape), shape, given=f"the shape of {name}.w, {given}")
    layers = {id(getattr(layer, name)) for name in names.split()}
    same = f"its layers {names} are not all different: some of them are one and the same object"
    judge.that(len(layers) == len(names.split()), same, given=given)


def sent(layer: Any, rows: Rows) -> Rows:
    """What a Linear gives for the rows."""
    bias = layer.b.tolist()
    return [
        [a + b for a, b in zip(row, bias, strict=True)] for row in product(rows, layer.w.tolist())
    ]


def shuffled_biases(layer: Any, names: str) -> None:
    for seed, name in enumerate(names.split()):
        b = getattr(layer, name).b
        b.fill([0.3 * ((i * 7 + seed * 3) % 5 - 2) for i in range(b.numel())])


def watched_all(judge: Judge, layer: Any, names: str, given: str) -> None:
    for name in names.split():
        for part in "wb":
            p = getattr(getattr(layer, name), part)
            judge.that(p.grad is not None, f"no gradient arrives at {name}.{part}", given=given)


@exercise(
    "11.7",
    "A head",
    answer="Head",
    minutes=12,
    without=("tutor", "MultiHead"),
    hints=(
        "Three layers, made once in __init__: Linear(width, size) for q, for k and for v.",
        "listens gives the weights only, from self.q(x) and self.k(x). Calling the head applies "
        "them to self.v(x).",
        "listens: return listening(self.q(x), self.k(x), mask). __call__: return self.listens(x, "
        "mask) @ self.v(x)",
    ),
    why_ours="The weights have a method of their own, so that one can look at them. "
    "`attention(self.q(x), self.k(x), self.v(x), mask)` computes the same.",
)
def check_11_7(judge: Judge, answer: Any) -> None:
    """Head(width, size) has Linear layers q, k and v; listens(x, mask) gives the weights, and
    calling it with x (n, places, width) gives the weighted means of the values."""
    with order_kept():
        take_turns(*[
            _head(judge, answer, *sizes) for sizes in ((1, 3, 4, 2), (2, 5, 3, 3), (3, 2, 2, 5))
        ])  # fmt: skip


def without_mask(judge: Judge, layer: Any, x: Any, given: str, room: float) -> None:
    """A mask may be left out, be None, and be named."""
    plain = judge.call(layer, x, None, given=f"{given}, mask None").tolist()
    for named in (False, True):
        about = "mask=None" if named else "no mask at all"
        if named:
            got = judge.call(layer, x, mask=None, given=f"{given}, {about}")
        else:
            got = judge.call(layer, x, given=f"{given}, {about}")
        judge.close(got, plain, given=f"{given}, {about}", rtol=1e-6, atol=room)


def _head(judge: Judge, answer: Any, n: int, places: int, width: int, size: int) -> Steps:
    """One head; others come between."""
    given = f"Head({width}, {size}), x of shape {(n, places, width)}"
    head = judge.instance(answer, width, size)
    yield
    has_layers(judge, head, "q k v", (width, size), given)
    shuffled_biases(head, "q k v")
    x = some(answer, n, places, width, seed=places, dtype="float32")
    for rows, more in ((None, ""), (triangle(places), ", with a causal mask")):
        mask = own(answer, "Tensor")(rows) if rows else None
        pairs_of = [(sent(head.q, t), sent(head.k, t)) for t in x.tolist()]
        weights = [weights_for(q, k, rows) for q, k in pairs_of]
        got = judge.call(head.listens, x, mask, given=f"listens, {given}{more}")
        needs_tensor(judge, got, "listens gives")
        mistakes = known_weights(pairs_of, rows)
        if width != size:
            words = f"divided by the root of {width}, the width of x: queries have {size}"
            mistakes[words] = lambda m=rows, p=pairs_of: [
                weights_for(q, k, m, math.sqrt(width)) for q, k in p
            ]
        mistakes["the weights of keys that ask queries"] = lambda m=rows, p=pairs_of: [
            weights_for(k, q, m) for q, k in p
        ]
        judge.close(got, weights, rtol=1e-4, atol=1e-6, given=f"listens, {given}{more}",
                    mistakes=mistakes)  # fmt: skip
        yield
        values = [sent(head.v, t) for t in x.tolist()]
        got = judge.call(head, x, mask, given=f"{given}{more}")
        needs_tensor(judge, got)
        pairs = zip(weights, values, strict=True)
        judge.close(got, [product(w, v) for w, v in pairs], rtol=1e-4, atol=1e-5,
                    given=f"{given}{more}")  # fmt: skip
    without_mask(judge, head.listens, x, f"listens, {given}", 1e-6)
    without_mask(judge, head, x, given, 1e-5)
    yield
    judge.run(partial(back_from, head, x))
    watched_all(judge, head, "q k v", given)


@exercise(
    "11.8",
    "Several heads",
    answer="MultiHead",
    minutes=18,
    without=("tutor", "Head"),
    hints=(
        "For q, k and v the same has to be done: (n, places, width) to (n, heads, places, size). "
        "Write a method for that. Which axis is divided in two, and which two change places?",
        "x.reshape(n, places, heads, width // heads).transpose(1, 2). After that, listening and @ "
        "take all heads at once. Mind the way back: first transpose, then reshape.",
        "mixed = self.listens(x, mask) @ self.split(self.v(x)); return self.out(mixed.transpose(1, "
        "2).reshape(*x.shape))",
    ),
    why_ours="The same four axes on the way there and back: (n, places, heads, size) is how the "
    "numbers lie, (n, heads, places, size) is how products want them.",
)
def check_11_8(judge: Judge, answer: Any) -> None:
    """MultiHead(width, heads) has Linear layers q, k, v and out; head h works with its own
    width // heads columns of q, k and v, and out mixes what all heads say."""
    sizes = ((1, 3, 4, 2), (2, 5, 6, 3), (2, 4, 8, 2), (3, 2, 3, 1), (1, 4, 4, 4))
    with order_kept():
        take_turns(*[_multi(judge, answer, *case) for case in sizes])


def _multi(judge: Judge, answer: Any, n: int, places: int, width: int, heads: int) -> Steps:
    """One layer of several heads; others come between."""
    given = f"MultiHead({width}, {heads}), x of shape {(n, places, width)}"
    layer = judge.instance(answer, width, heads)
    yield
    has_layers(judge, layer, "q k v out", (width, width), given)
    shuffled_biases(layer, "q k v out")
    x = some(answer, n, places, width, seed=heads, dtype="float32")
    for rows, more in ((None, ""), (triangle(places), ", with a causal mask")):
        mask = own(answer, "Tensor")(rows) if rows else None
        weights, wanted = by_heads(layer, x.tolist(), heads, rows)
        got = judge.call(layer.listens, x, mask, given=f"listens, {given}{more}")
        needs_tensor(judge, got, "listens gives")
        shape = (n, heads, places, places)
        judge.equal(tuple(got.shape), shape, given=f"the shape of listens, {given}{more}")
        wide = f"divided by the root of {width}, the width of all heads: each has {width // heads}"
        by = partial(heads_listen, layer, x.tolist(), heads)
        mistakes = {
            wide: partial(by, rows, math.sqrt(width)),
            "what scores give that were not divided by a root": partial(by, rows, 1.0),
            "what scores give that were divided by the width of a head; by its root": partial(
                by, rows, width / heads
            ),
            "what comes out without the mask": partial(by, None, None),
        }
        judge.close(got, weights, rtol=1e-4, atol=1e-6, given=f"listens, {given}{more}",
                    mistakes=mistakes)  # fmt: skip
        yield
        got = judge.call(layer, x, mask, given=f"{given}{more}")
        needs_tensor(judge, got)
        judge.equal(tuple(got.shape), tuple(x.shape), given=f"the shape, {given}{more}")
        judge.close(got, wanted, rtol=1e-4, atol=1e-5, given=f"{given}{more}")
    without_mask(judge, layer.listens, x, f"listens, {given}", 1e-6)
    without_mask(judge, layer, x, given, 1e-5)
    yield
    judge.run(partial(back_from, layer, x))
    watched_all(judge, layer, "q k v out", given)


def heads_listen(
    layer: Any, nested: Any, heads: int, mask: Rows | None, divisor: float | None
) -> Any:
    """The weights alone, scores divided by something else than the root of a head's width."""
    return by_heads(layer, nested, heads, mask, divisor)[0]


def by_heads(
    layer: Any, nested: Any, heads: int, mask: Rows | None, divisor: float | None = None
) -> tuple[Any, Any]:
    """The weights of each head, and what the layer gives, head by head."""
    weights, said = [], []
    for rows in nested:
        q, k, v = (sent(getattr(layer, name), rows) for name in "qkv")
        size, of_heads = len(q[0]) // heads, []
        mixed: Rows = [[] for _ in rows]
        for h in range(heads):
            part = slice(h * size, (h + 1) * size)
            of_heads.append(weights_for([r[part] for r in q], [r[part] for r in k], mask, divisor))
            for row, more in zip(mixed, product(of_heads[-1], [r[part] for r in v]), strict=True):
                row += more
        weights.append(of_heads)
        said.append(sent(layer.out, mixed))
    return weights, said


# ---- who hears whom ------------------------------------------------------------------------------


def reaching(answer: Any, table: list[list[float]], sort: str = "") -> Any:
    """A layer in which place i hears place j where the table has a number other than 0."""
    weights = own(answer, "Tensor")(table)

    def layer(x: Any) -> Any:
        if sort == "last":  # only the last number of each place says anything
            x = x * own(answer, "Tensor")([0.0] * (x.shape[-1] - 1) + [1.0])
        if (
            sort == "norm"
        ):  # as a norm does: what is the same in all numbers of a place is not noticed
            x = x - x.sum(-1).reshape(*x.shape[:-1], 1) * (1 / x.shape[-1])
        return weights.reshape(1, *weights.shape) @ x

    return layer


@exercise(
    "11.9",
    "Who hears whom?",
    answer="hears",
    minutes=13,
    without=("tutor",),
    hints=(
        "An experiment: random rows go through the layer. Then one place is changed, and they go "
        "through again. Which rows of the result are others than before?",
        "Change place j to other random numbers, all of them, and leave the others. after[i] != "
        "before[i] says whether place i has heard it. Each j gives one column.",
        "For each j: a copy of the rows with a new row j; after = what the layer gives for it; "
        "table[i][j] = int(after[i] != before[i]) for each i.",
    ),
    why_ours="Whole rows are compared, exactly: a weight of 0 times anything is 0, so who does not "
    "hear a place gives the same numbers to the last bit. The change is random, since a norm would "
    "not notice it if all numbers of a place grew by the same.",
)
def check_11_9(judge: Judge, hears: Any) -> None:
    """hears(layer, places, width) is a table: in row i and column j 1 if what the layer gives at
    place i changes when its input at place j is changed, else 0."""
    with order_kept():
        random.seed(3)
        lower = [[1 / (i + 1) if j <= i else 0.0 for j in range(4)] for i in range(4)]
        cases: list[tuple[str, list[list[float]], int, str]] = [
            ("each place hears itself", [[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]], 2, ""),
            ("the mean of the past", lower, 3, ""),
            ("each hears the next one", [[0, 1.0, 0], [0, 0, 1.0], [0, 0, 0]], 2, ""),
            ("all hear the first one", [[1.0, 0, 0]] * 3, 4, ""),
            (
                "the last one hears all, very softly",
                [[1.0, 0, 0], [0, 1.0, 0], [0.001] * 3],
                2,
                "",
            ),
            ("nobody is heard", [[0.0, 0], [0, 0]], 3, ""),
            ("the mean of the past, behind a norm", lower, 3, "norm"),
            ("the mean of the past, and only the last number of each", lower, 3, "last"),
        ]
        for given, table, width, sort in cases:
            wanted = [[int(x != 0) for x in row] for row in table]
            layer = reaching(hears, table, sort)
            got = judge.call(hears, layer, len(table), width, given=given)
            is_table = isinstance(got, list) and all(isinstance(row, list) for row in got)
            found = f"it gives {kind(got)}; a list of rows is asked for, each of them a list"
            judge.that(is_table, found, given=given)
            judge.equal([len(got), *{len(row) for row in got}], [len(table)] * 2,
                        given=f"the numbers of rows and columns: {given}")  # fmt: skip
            judge.equal([list(map(int, row)) for row in got], wanted, given=given)


@exercise(
    "11.10",
    "Four faults",
    answer="causes",
    minutes=8,
    hints=(
        "Look at the shape of the first picture: how many places listen there? And in which of the "
        "second pictures is there a 1 above the diagonal, which is the future?",
        "Where the first picture shows heads in place of places, heads listen to each other. Where "
        "the weights end at the diagonal and the future is heard all the same, it comes in by way "
        "of what the weights were divided by.",
        "Fault 3 lets in just one diagonal too many, in both pictures. Fault 4 cuts the passage in "
        "two: the second half never hears the first. That leaves 2 and 5.",
    ),
    why_ours="A has one diagonal too many, B falls into two halves, C has a table of heads and "
    "hears only itself, and D hears the future though its weights end at the diagonal.",
)
def check_11_10(judge: Judge, causes: Any) -> None:
    """`causes` has the number of a fault, from 1 to 6, for each of A, B, C and D."""
    order = [2, 3, 4, 5]
    random.Random(2).shuffle(order)  # as the chapter does
    right = dict(zip("ABCD", order, strict=True))
    judge.that(isinstance(causes, dict), "it is no dict, as the cell gave it")
    judge.that(sorted(causes, key=str) == sorted(right), "its keys are not A, B, C and D")
    judge.that(
        all(isinstance(n, int) and 1 <= n <= 6 for n in causes.values()),
        "its values are not numbers from 1 to 6",
    )
    count = sum(causes[name] == right[name] for name in right)
    judge.that(count == 4, f"{count} of the 4 are right")


# ---- the reader ----------------------------------------------------------------------------------

CONTEXT, BUDGET = 32, 62_000


def graph_of(answer: Any, scores: Any) -> list[Any]:
    """The products behind the scores, as the Engine has them."""
    matmul = own(answer, "MatMul")
    found = own(answer, "engine").order(scores.sum())
    return [t for t in found if isinstance(t.op, matmul)]


def reads(judge: Judge, answer: Any, model: Any, count: int, context: int) -> None:
    """What a reader has to do, trained or not."""
    roll = random.Random(7)
    for n, places in ((1, context), (2, context), (3, 5), (1, 1)):
        ids = [[roll.randrange(count) for _ in range(places)] for _ in range(n)]
        given = f"ids of shape {(n, places)}"
        scores = judge.call(model, ids, given=given)
        needs_tensor(judge, scores)
        judge.equal(tuple(scores.shape), (n, places, count), given=f"the shape for {given}")
        are_scores(judge, scores, given)
    ids = [roll.choices(range(count), k=context)]
    before = judge.call(model, ids).tolist()[0]
    for place in (context - 1, context // 2, 1):
        other = [[*ids[0][:place], (ids[0][place] + 1) % count, *ids[0][place + 1 :]]]
        after = judge.call(model, other).tolist()[0]
        given = f"the letter at place {place} becomes another one"
        early = [i for i in range(place) if after[i] != before[i]]
        judge.that(not early, f"the scores at place {early[:1]} change: it hears what comes later, "
                   "which is the answer", given=given)  # fmt: skip
        judge.that(after[place] != before[place], "the scores at that place stay as they are: the "
                   "letter that stands there has no part in them", given=given)  # fmt: skip
        heard = any(after[i] != before[i] for i in range(place + 1, context))
        found = "no scores after that place change: nobody listens to it"
        judge.that(heard or place == context - 1, found, given=given)
    a, b = context - 3, context - 2
    ids[0][b] = (ids[0][a] + 1) % count
    swapped = [*ids[0][:a], ids[0][b], ids[0][a], ids[0][-1]]
    one, other = (judge.call(model, [row]).tolist()[0][-1] for row in (ids[0], swapped))
    same = all(abs(p - q) < 1e-5 * (1 + abs(p)) for p, q in zip(one, other, strict=True))
    found = (
        "two letters before the last one changed places, and the scores at the end stay as they "
    )
    found += "are: it does not know where letters stand"
    judge.that(not same, found)
    ids = [[i % count for i in range(context)]]
    products = judge.run(lambda: graph_of(answer, model(ids)))
    judge.that(products, "its scores come from no product that the Engine knows of: no gradient")
    listening = [t for t in products if all(x.op is not None for x in t.op.inputs)]
    heads = sum(t.numel() for t in listening if tuple(t.shape[-2:]) == (context, context))
    judge.equal(heads // context**2, 1, given="the number of tables of scores, query times key, "
                f"for one passage of {context} letters: one head has one")  # fmt: skip


def cost(answer: Any, model: Any) -> float:
    """The multiplications of its products, for each letter of a passage."""
    products = graph_of(answer, model([[0] * CONTEXT]))
    return float(sum(t.numel() * t.op.inputs[0].shape[-1] for t in products)) / CONTEXT


def parameters_of(judge: Judge, model: Any) -> list[Any]:
    judge.that(hasattr(model, "parameters"), "it has no parameters(): is it a Module?")
    found: list[Any] = judge.run(lambda: list(model.parameters()))
    judge.that(found, "it has no parameters: are they kept in its attributes?")
    return found


@exercise(
    "11.11",
    "A reader with one head",
    answer="Reader",
    minutes=15,
    without=("tutor",),
    seconds=10,
    hints=(
        "Begin with the lines of `Mean`. Only one of them has to change: the one that decides who "
        "is listened to.",
        "self.head = Head(width, width), and in `gathered`: self.head(self.first_norm(x), "
        "causal(x.shape[1])) in place of the product with the means. Queries and keys cost "
        "something, so the MLP has to be narrower.",
        "With width 64 and 256 hidden numbers: rows of letters plus rows of places; x + out(head("
        "norm(x), mask)); x + down(up(norm(x)).relu()); last(norm(x)). That is 61,568.",
    ),
    why_ours="Two residual paths, so that each letter keeps its own row beside what it has heard; "
    "the mask is made once, and cut to the length of the passage.",
)
def check_11_11(judge: Judge, answer: Any) -> None:
    """Reader(count, context) gives scores (n, places, count) for ids (n, places); it has one head,
    hears no later letter, knows where letters stand, and uses at most 62,000 multiplications."""
    with order_kept():
        for count, context in ((11, 8), (65, CONTEXT)):
            random.seed(3)
            model = judge.instance(answer, count, context)
            parameters = parameters_of(judge, model)
            if context < CONTEXT:  # the large one is only asked what it costs
                reads(judge, answer, model, count, context)
            judge.run(partial(learn_once, answer, model, count, context))
            without = sum(p.grad is None for p in parameters)
            judge.that(not without, f"no gradient arrives at {without} of its {len(parameters)} "
                       "parameters")  # fmt: skip
        used = judge.run(lambda: cost(answer, model))
        found = f"it uses {used:,.0f} multiplications a letter; {BUDGET:,} are allowed"
        judge.that(used <= BUDGET, found, given="65 letters, 32 places")


def learn_once(answer: Any, model: Any, count: int, context: int) -> None:
    scores = model([[i * i % count for i in range(context)]])
    (scores * some(answer, *scores.shape, dtype="float32")).sum().backward()


def loss_of_pairs(train: list[int], test: list[int], count: int) -> float:
    followed = [[1] * count for _ in range(count)]
    for a, b in itertools.pairwise(train):
        followed[a][b] += 1
    sums = list(map(sum, followed))
    each = [math.log(sums[a] / followed[a][b]) for a, b in itertools.pairwise(test)]
    return math.fsum(each) / len(each)


def loss_of_model(answer: Any, model: Any, test: list[int], most: int) -> float:
    """The loss on passages of the text, without overlap."""
    starts = list(range(0, len(test) - CONTEXT, CONTEXT))[:most]
    parts = []
    with own(answer, "no_grad")():
        for first in range(0, len(starts), 100):
            some_of_them = starts[first : first + 100]
            scores = model([test[s : s + CONTEXT] for s in some_of_them])
            for passage, s in zip(scores.tolist(), some_of_them, strict=True):
                for row, right in zip(passage, test[s + 1 : s + CONTEXT + 1], strict=True):
                    top = max(row)
                    parts.append(top + math.log(sum(math.exp(x - top) for x in row)) - row[right])
    return math.fsum(parts) / len(parts)


@exercise(
    "11.12",
    "Beat the pairs",
    answer="trained",
    minutes=10,
    seconds=60,
    hints=(
        "`trained = Reader(len(letters), CONTEXT)`, then `fit_text(trained)`. While it trains, "
        "think about what you would change next.",
        "Is the loss of the last steps far above what is asked for? Look at the rate first: try "
        "half of it and twice as much. Then see whether the residual paths and norms are there.",
        "With our reader (`solution('11.11')`), a rate of 0.004, 1,500 steps of 48 passages and a "
        "warm-up it is done in about 40 seconds of computing.",
    ),
    why_ours="Nothing but the reader of 11.11 and `fit_text` as it stands, from a fixed seed.",
)
def check_11_12(judge: Judge, trained: Any) -> None:
    """`trained` is a reader with one head, within the budget, whose loss on the part of the text
    that was kept apart is half a nat below that of the pairs."""
    judge.that(callable(trained), f"it is {kind(trained)}, no model")
    judge.that(not isinstance(trained, type), "it is a class: make a model of it, and train that")
    with contextlib.redirect_stderr(io.StringIO()):  # where it came from was said in the chapter
        text = data.load_text()
    train, test = text.train, text.test
    letters = sorted(set(text.text))
    number = {letter: i for i, letter in enumerate(letters)}
    parameters_of(judge, trained)
    theirs = type(trained)
    scores = judge.call(trained, [[0] * CONTEXT])
    needs_tensor(judge, scores)
    given = f"what data.load_text() gives, {text.source}, which has {len(letters)} letters"
    judge.equal(tuple(scores.shape), (1, CONTEXT, len(letters)), given=given)
    reads(judge, theirs, trained, len(letters), CONTEXT)
    used = judge.run(lambda: cost(theirs, trained))
    allowed = BUDGET if len(letters) <= 65 else BUDGET + 200 * (len(letters) - 65)
    found = f"it uses {used:,.0f} multiplications a letter; {allowed:,} are allowed"
    judge.that(used <= allowed, found)
    short = is_quick()
    test_ids = [number[letter] for letter in test]
    reached = judge.run(lambda: loss_of_model(theirs, trained, test_ids, 10 if short else 4000))
    if (
        short
    ):  # a few steps on few passages: they can do no more than show that something is learned
        wanted, why = math.log(len(letters)), "what a model has that knows nothing"
    else:
        wanted = loss_of_pairs([number[letter] for letter in train], test_ids, len(letters)) - 0.5
        why = "half a nat below the pairs"
    found = f"its loss is {reached:.3f} nats, and should be {wanted:.3f} at most, {why}"
    judge.that(reached <= wanted, found, given=f"the last tenth of the text: {text.source}")


# ---- challenges ----------------------------------------------------------------------------------


@exercise(
    "11.s1",
    "Softmax as one Op",
    answer="Softmax",
    minutes=15,
    without=("tutor",),
    hints=(
        "The derivative of p_i by x_j is p_i (1 - p_i) for i = j, and -p_i p_j for the others.",
        "What arrives at x_j is the sum over i of g_i times that. Take p_j out: what is left?",
        "p_j times (g_j minus the sum of g_i p_i over the row): p * (g - (p * g).sum(-1), with the "
        "axis put back).",
    ),
    why_ours="The sum of g p is the mean of what arrives, weighted by the shares. Who gets more "
    "than the mean is pulled up, the others down: shares can only be taken from each other.",
)
@in_forms
def check_11_s1(judge: Judge, answer: Any) -> None:
    """Softmax(x).apply() is softmax(x), and backward(g) gives the gradient of its scores."""
    shapes = ((1, 3), (2, 4), (3, 3), (2, 2, 5), (2, 1, 3, 2))
    take_turns(*[_softmax(judge, answer, shape) for shape in shapes])


def _softmax(judge: Judge, answer: Any, shape: Shape) -> Steps:
    """One Op, forward and back; between them come others."""
    given = f"x of shape {shape}"
    x = some(answer, *shape, watched=True)
    op = judge.instance(answer, x)
    judge.that(hasattr(op, "apply"), "it makes no Op: a class on top of Op is asked for")
    z = judge.run(op.apply)
    needs_tensor(judge, z, "apply() gives")
    each = [shared(row) for row in rows_of(x.tolist())]
    judge.close(z.reshape(-1, shape[-1]), each, given=f"forward, {given}")
    g = some(answer, *shape, seed=3)
    yield
    grads = judge.run(partial(op.backward, g))
    judge.that(
        isinstance(grads, tuple | list) and len(grads) == 1 and hasattr(grads[0], "buf"),
        f"backward gives {kind(grads)}; a tuple of one tensor is asked for: return (...,)",
    )
    judge.equal(tuple(grads[0].shape), shape, given=f"the shape of what backward gives, {given}")
    wanted = []
    for p, f in zip(each, rows_of(g.tolist()), strict=True):
        mean = math.fsum(a * b for a, b in zip(p, f, strict=True))
        wanted.append([a * (b - mean) for a, b in zip(p, f, strict=True)])
    judge.close(grads[0].reshape(-1, shape[-1]), wanted, given=f"backward, {given}", atol=1e-8)


@exercise(
    "11.s2",
    "Attention without the table",
    answer="in_parts",
    minutes=20,
    without=("tutor", "attention", "listening"),
    hints=(
        "For each query keep three things: the largest score so far, the sum of e**(score - "
        "largest), and the sum of the same powers times the values.",
        "When a part brings a larger score, what was summed so far was measured from the old "
        "largest. Both sums are multiplied by e**(old - new), and then the new part is added.",
        "The larger of two tensors is a + (b - a).relu(). At the end: the sum with values, divided "
        "by the sum.",
    ),
    why_ours="The first part begins the largest; every later one first corrects both sums. This is "
    "what tutor's kernel does, and what is known as FlashAttention.",
)
@in_forms
def check_11_s2(judge: Judge, in_parts: Any) -> None:
    """in_parts(q, k, v, size) is attention(q, k, v), and makes no tensor with more than `size`
    scores for each query."""
    for queries, keys, width, values, size, factor in (
        (2, 4, 3, 2, 2, 1.0), (3, 5, 2, 3, 2, 1.0), (1, 6, 4, 1, 1, 2.0), (4, 7, 3, 3, 10, 1.0),
        (3, 9, 2, 2, 4, 60.0), (3, 9, 2, 2, 4, 4000.0), (2, 8, 2, 1, 3, -4000.0),
        (30, 40, 2, 2, 5, 1.0),
    ):  # fmt: skip
        given = f"{queries} queries, {keys} keys of width {width}, {size} at a time"
        given += f", all queries times {factor:g}" if factor != 1 else ""
        q, k, v = (some(in_parts, *s, seed=i) for i, s in enumerate(
            ((queries, width), (keys, width), (keys, values))))  # fmt: skip
        q = q * factor
        made: list[int] = []
        got = judge.call(partial(watched_sizes, in_parts, made), q, k, v, size, given=given)
        needs_tensor(judge, got)
        wanted = product(weights_for(q.tolist(), k.tolist()), v.tolist())
        mistakes = known_parts(q.tolist(), k.tolist(), v.tolist(), size, wanted)
        judge.close(got, wanted, given=given, rtol=1e-6, atol=1e-9, mistakes=mistakes)
        if queries == 30:
            most = max(made, default=0)
            judge.that(most <= queries * size, f"it makes a tensor of {most} numbers, and {size} "
                       f"scores for each of {queries} queries are {queries * size}",
                       given=given)  # fmt: skip


def known_parts(q: Rows, k: Rows, v: Rows, size: int, wanted: Rows) -> dict[str, Any]:
    """What the known mistakes of attention in parts lead to."""
    last = (len(k) - 1) // size * size

    def undivided() -> Rows:
        sums = [math.fsum(map(math.exp, scores)) for scores in weights_scores(q, k, None)]
        return [[value * s for value in row] for row, s in zip(wanted, sums, strict=True)]

    return {
        "attention to the keys of the last part alone": lambda: product(
            weights_for(q, k[last:]), v[last:]
        ),
        "attention to the keys of the first part alone": lambda: product(
            weights_for(q, k[:size]), v[:size]
        ),
        "the sums of the values, not divided by the sums of the powers": undivided,
        "attention without the root of the width": lambda: product(weights_for(q, k, None, 1.0), v),
    }


def watched_sizes(function: Any, made: list[int], *args: Any) -> Any:
    """function(*args), and the sizes of all results of ops on the way."""
    Op = own(function, "Op")
    usual = vars(Op)["execute"]

    def watching(op: Any) -> Any:
        out = usual.__func__(op)
        if not hasattr(op, "walk"):
            made.append(out.numel())
        return out

    Op.execute = staticmethod(watching)
    try:
        return function(*args)
    finally:
        Op.execute = usual


question(
    "11.q1",
    "A passage becomes twice as long. How many times as many scores does a head compute?",
    right=4,
    why="every place asks every place: twice as many queries, each of them with twice as many keys",
    tempting={
        2: "there are twice as many places; but each of them also has twice as many to ask",
        8: "that would be the cube. Scores have two axes of places, queries and keys",
        1: "the number of parameters stays as it is. What is computed with them does not",
    },
)
question(
    "11.q2",
    "Queries and keys of width 100, all numbers with a spread of 1: the spread of their products?",
    right=10,
    why="squared spreads add up: 100 of them, each 1, and the root of 100 is 10",
    tempting={
        100: "that is the squared spread. The spread is its root",
        1: "that is what one has after the division by the root of the width",
        0.1: "that is the factor by which the scores are multiplied, not their spread",
    },
)
question(
    "11.q3",
    "All scores are the same, the mask is causal(8). How much does place 3 listen to place 1?",
    right=0.25,
    why="place 3 may listen to places 0, 1, 2 and 3, and to all of them alike",
    tempting={
        1 / 3: "places are counted from 0, so place 3 has three before it; and it hears itself",
        0.125: "that would be without a mask: all eight alike",
        0: "place 1 is the past for place 3, and the past may be heard",
    },
)
question(
    "11.q4",
    "The weights for the future are set to 0 after the softmax. What can a place still know of it?",
    choices={
        "a": "nothing: 0 times a value is 0",
        "b": "how large its scores are: they are in the sum that all weights are divided by",
        "c": "its values, by way of the keys",
    },
    right="b",
    why="a large score in the future makes all weights of the past smaller, and that can be seen",
    tempting={
        "a": "no value comes through. But the weights that remain were divided by a sum, in which "
        "the future has its part: `hears` has shown it",
        "c": "values are multiplied by 0, and they have no part in scores",
    },
)
question(
    "11.q5",
    "A head without places, and the words in another order: what changes at the question mark?",
    choices={
        "a": "nothing, but for rounding",
        "b": "the weights are the same, but they go with other words",
        "c": "everything: the words have other neighbours",
    },
    right="a",
    why="each word keeps its key, its value and so its weight, and a sum does not mind the order",
    tempting={
        "b": "a weight belongs to a word, by its key, and goes with it to its new place",
        "c": "a head knows of no neighbours: no key and no value depends on what stands beside it",
    },
)
