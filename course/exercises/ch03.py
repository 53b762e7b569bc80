"""Chapter 3, indexing and broadcasting: five exercises, four questions."""

from __future__ import annotations

import itertools
from typing import Any

from course.built import ch03
from course.exercise import Judge, exercise, question
from tutor import viz

ALL = slice(None)


@exercise(
    "03.1",
    "Every axis named",
    answer="named",
    minutes=15,
    hints=(
        "Count first: how many parts of the key take up an axis? `None` and `...` do not.",
        "With `at = key.index(...)`, `key[:at]` stands before the `...`, `key[at + 1:]` after it. "
        "A key without `...` means the same as one with a `...` at its end.",
        "missing = ndim - (number of ints and slices). If that is negative, or key.count(...) is "
        "above 1, raise IndexError; else "
        "return (*key[:at], *[slice(None)] * missing, *key[at + 1:]).",
    ),
)
def check_03_1(judge: Judge, named: Any) -> None:
    """An int or a slice for each axis, with `...` written out and every None kept."""
    step = slice(None, None, -2)
    keys: list[tuple[Any, int]] = [
        ((1, 2), 2), (1, 3), (step, 2), ((step, 0), 2),
        ((..., 0), 3), ((0, ..., 1), 4), ((0, ..., 1), 2), (..., 3),
        (None, 2), ((None, 0), 2), ((0, None, ..., None), 3), ((..., None), 1), ((None, ...), 0),
        ((), 2),
    ]  # fmt: skip
    for key, ndim in keys:
        judge.equal(judge.call(named, key, ndim), ch03.full_key(key, ndim))
    for key, ndim in [((0, 1, 2), 2), ((0, ..., 1), 1), (0, 0), ((..., ...), 2)]:
        judge.raises(IndexError, named, key, ndim)


def pairs() -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Shapes to be broadcast: some by hand, then all of up to two axes with sizes 0 to 3."""
    by_hand = [
        ((4, 3), (3,)), ((4, 1), (1, 3)), ((5, 1, 7), (6, 1)), ((), (2, 3)), ((2, 3), (3, 2)),
        ((4, 3), (4,)), ((2, 1, 1), (3, 4)), ((1,), (1, 1, 1)), ((0,), (1,)), ((0, 3), (2, 3)),
    ]  # fmt: skip
    small = [shape for axes in range(3) for shape in itertools.product(range(4), repeat=axes)]
    return by_hand + list(itertools.product(small, small))


def fits(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(a[::-1], b[::-1], strict=False))


@exercise(
    "03.2",
    "The shape that both stretch to",
    answer="stretched_shape",
    minutes=10,
    hints=(
        "Aligned at the right: turn both shapes round, and walk them from the front together.",
        "`itertools.zip_longest(reversed(a), reversed(b), fillvalue=1)` gives the pairs. Of a pair "
        "(m, n) that fits, the result is the one that is not 1.",
        "for each pair: if m != n and 1 not in (m, n), raise ValueError; else append n if m == 1 "
        "else m. At the end, turn the list round again and make it a tuple.",
    ),
)
def check_03_2(judge: Judge, stretched_shape: Any) -> None:
    """Aligned at the right; in each column the sizes are equal, or one is 1 and is stretched."""
    for a, b in pairs():
        if fits(a, b):
            judge.equal(judge.call(stretched_shape, a, b), ch03.broadcast_shapes(a, b))
        else:
            judge.raises(ValueError, stretched_shape, a, b)


@exercise(
    "03.3",
    "The error you wish you had read",
    answer="mismatch",
    minutes=10,
    hints=(
        "Walk both shapes from the right, as before, and stop at the first pair that does not fit.",
        "The axis of the first pair is -1, of the next -2: `enumerate` counts 0, 1, ..., and the "
        "axis is -1 minus that.",
        'return f"shapes {a} and {b} do not fit: axis {-1 - i} has sizes {m} and {n}, which must '
        'be equal or 1"; after the loop, return None.',
    ),
)
def check_03_3(judge: Judge, mismatch: Any) -> None:
    """Both shapes, the axis from the right, the two sizes there, and what would be allowed."""
    for a, b in pairs():
        said = judge.call(mismatch, a, b)
        if fits(a, b):
            judge.equal(said, None)
            continue
        judge.that(isinstance(said, str), f"{said!r} is no message, and these shapes do not fit")
        columns = enumerate(zip(a[::-1], b[::-1], strict=False))
        axis, m, n = next((-1 - i, m, n) for i, (m, n) in columns if m != n and 1 not in (m, n))
        small = said.lower()  # "Axis -1" will do, too
        for words in (str(a), str(b), f"axis {axis}", f"sizes {m} and {n}", "equal"):
            judge.that(words in small, f"{words!r} is not in the message {said!r}")
        rest = small.replace(str(a), "").replace(str(b), "").replace(f"axis {axis}", "")
        rest = rest.replace(f"sizes {m} and {n}", "")
        judge.that("1" in rest, f"that a size may be 1 is not in the message {said!r}")


@exercise(
    "03.4",
    "Undo broadcasting",
    answer="reduce_to",
    minutes=20,
    hints=(
        "Each element of g was read from one place. Each element of the result is the sum over all "
        "elements of g that were read from its place.",
        "`expand(out, g.shape)` walks a tensor `out` of the small shape just as it was walked "
        "when it was stretched. Its `.positions()` names a cell of out.buf for each element of g.",
        "out = zeros(shape, g.buf.dtype); for p, x in zip(expand(out, g.shape).positions(), "
        "g.values()): out.buf[p] += x; return out.",
    ),
)
def check_03_4(judge: Judge, reduce_to: Any) -> None:
    """Each element is the sum of those elements of g that were read from it."""
    cases: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
        ((4, 3), (3,)), ((4, 3), (4, 1)), ((4, 3), (1, 3)), ((4, 3), (4, 3)), ((4, 3), (1,)),
        ((4, 3), ()), ((2, 3, 4), (3, 1)), ((2, 3, 4), (2, 1, 4)), ((2, 1, 4), (1, 4)), ((3,), ()),
        ((0, 3), (3,)),
    ]  # fmt: skip
    for large, small in cases:
        numbers = [float(2**i % 61) for i in range(ch03.zeros(large).numel())]
        g = ch03.Tensor(ch03.Buffer(numbers, "float64"), large)
        compare(judge, judge.call(reduce_to, g, small), g, small)
    g = ch03.transpose(ch03.Tensor([[1, 2, 3], [10, 20, 30]]))[::-1]
    compare(judge, judge.call(reduce_to, g, (1, 2)), g, (1, 2), "a transposed g, upside down")


def compare(judge: Judge, got: Any, g: Any, small: tuple[int, ...], given: str = "") -> None:
    """got must be the sums of g over what `small` was stretched to, by the long way."""
    where = given or f"g of shape {g.shape}, to be reduced to {small}"
    judge.picture(viz.explain(ch03.expand(ch03.zeros(small), g.shape)))  # which cell was read where
    sums = dict.fromkeys(itertools.product(*map(range, small)), 0.0)
    for index, x in zip(itertools.product(*map(range, g.shape)), g.values(), strict=True):
        tail = index[len(index) - len(small) :]
        sums[tuple(0 if n == 1 else i for i, n in zip(tail, small, strict=True))] += x
    judge.that(hasattr(got, "shape"), f"{got!r} is not a Tensor", given=where)
    judge.equal(judge.run(lambda: tuple(got.shape)), small, given=where + ": the shape")
    judge.close(judge.run(lambda: list(got.values())), list(sums.values()), given=where)


@exercise(
    "03.5",
    "Bug hunt: a reader of elements",
    answer="element",
    minutes=10,
    hints=(
        "Three things are not asked: how many ints there are, and for each whether it is too "
        "large, or negative.",
        "If `len(index) != len(t.shape)`, raise IndexError. For an axis of size n, the ints from "
        "-n to n - 1 are allowed, and `i % n` is where they point.",
        "for axis, (i, n, s) in enumerate(zip(index, t.shape, t.strides)): if not -n <= i < n, "
        'raise IndexError(f"index {i} on axis {axis}, which has size {n}"); position += i % n * s.',
    ),
)
def check_03_5(judge: Judge, element: Any) -> None:
    """One int per axis, negative ones from the end; else an IndexError that names axis and size."""
    v = ch03.Tensor([[1, 2, 3], [4, 5, 6]])
    judge.equal(judge.call(element, v, 1, -1), 6.0, given="v of shape (2, 3)")
    tensors = {
        "v": v,
        "v transposed": ch03.transpose(v),
        "v[:, ::-1]": v[:, ::-1],
        "v[1]": v[1],
        "v[:, None, 1:]": v[:, None, 1:],
    }
    for name, t in tensors.items():
        for index in itertools.product(*(range(-n, n) for n in t.shape)):
            judge.picture(viz.explain(t, index))
            judge.equal(judge.call(element, t, *index), t[index].item(), given=f"t is {name}")
    judge.picture(viz.explain(v))
    wrong = [((0, 5), 1, 3), ((0, 3), 1, 3), ((1, -4), 1, 3), ((2, 0), 0, 2), ((-3, 1), 0, 2)]
    for index, axis, size in wrong:
        for words in (f"axis {axis}", str(size)):
            judge.raises(
                IndexError, element, v, *index, match=words,
                given=f"v of shape (2, 3); its axis {axis} has size {size}",
            )  # fmt: skip
    for index in [(1,), (), (0, 0, 0)]:
        judge.raises(IndexError, element, v, *index, given="v of shape (2, 3)")


question(
    "03.q1",
    "t has shape (6, 4), strides (4, 1) and offset 0. What is the offset of t[-1, 1:]?",
    right=21,
    why="-1 is row 5, which begins at 5 * 4 = 20; the slice begins at column 1, one further",
)
question(
    "03.q2",
    "Which of these pairs of shapes does not broadcast?",
    choices={
        "a": "(3, 1) and (1, 4)",
        "b": "(2, 1, 5) and (7, 1)",
        "c": "(4, 3) and (4,)",
        "d": "() and (9, 9)",
    },
    right="c",
    why="aligned at the right, the 4 stands below the 3; (4, 1) would have fitted",
)
question(
    "03.q3",
    "x has shape (1000, 1000). How many numbers does transpose(x)[::-1, None, 5:] copy?",
    right=0,
    why="each of the steps changes shape, strides and offset only",
)
question(
    "03.q4",
    "(3, 1) was stretched to (3, 8); ones of shape (3, 8) come back. What do they add up to?",
    right=8,
    why="each number was read eight times, so eight ones come back to it",
)
