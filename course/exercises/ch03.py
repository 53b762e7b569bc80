"""Chapter 3, indexing and broadcasting: seven exercises, two challenges, four questions."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

from course.compare import snapshot
from course.exercise import Judge, exercise, question
from course.exercises.ch02 import ITSELF
from course.library import ours
from tutor import viz

ch03 = ours(3)
ALL = slice(None)
Shape = tuple[int, ...]


def counted(*shape: int, dtype: str = "float64") -> Any:
    """A tensor whose numbers are 1, 2, 3, ... in row-major order."""
    numbers = [float(i + 1) for i in range(ch03.zeros(shape).numel())]
    return ch03.Tensor(ch03.Buffer(numbers, dtype), shape)


def is_tensor(judge: Judge, got: Any, given: str) -> Any:
    """The value, if it is a Tensor; else the verdict says what it is."""
    judge.that(hasattr(got, "shape") and hasattr(got, "buf"), f"{got!r:.60} is no Tensor",
               given=given)  # fmt: skip
    return got


def numbers_by_index(t: Any) -> list[tuple[Shape, float]]:
    """Each index of t with its number, by the long way: offset, strides, Buffer."""
    found = []
    for index in itertools.product(*map(range, t.shape)):
        position = t.offset + sum(i * s for i, s in zip(index, t.strides, strict=True))
        found.append((index, t.buf[position]))
    return found


def is_view_of(judge: Judge, got: Any, t: Any, given: str) -> None:
    """The answer looks into t's own Buffer, and stays inside of it."""
    judge.that(
        is_tensor(judge, got, given).buf is t.buf,
        "its Buffer is not that of t: the numbers were copied",
        given=given,
    )
    judge.that(got is not t, ITSELF, given=given)
    inside = 0 <= got.offset < max(len(t.buf), 1)
    judge.that(inside, f"its offset {got.offset} is outside of the Buffer", given=given)


class Bare(ch03.Tensor):  # type: ignore[misc, name-defined]
    """A Tensor that remembers whether it was asked for t[...]."""

    def __init__(self, t: Any) -> None:
        super().__init__(t.buf, t.shape, t.strides, t.offset)
        self.asked = False

    def __getitem__(self, key: Any) -> Any:
        self.asked = True
        return ch03.select(self, key)


def without_brackets(judge: Judge, function: Any, t: Any, *args: Any, given: str) -> Any:
    """function(t, *args), which must not ask t for t[...]."""
    bare = Bare(t)
    before = snapshot([bare.buf, bare.shape, bare.strides, bare.offset])
    found = judge.call(function, bare, *args, changes=True, given=given)
    same = snapshot([bare.buf, bare.shape, bare.strides, bare.offset]) == before
    judge.that(same, "t itself is another one afterwards: leave it as it was", given=given)
    said = "it asks for t[...], which is `select`: the exercise is to do without it"
    judge.that(not bare.asked, said, given=given)
    judge.that(found is not bare, ITSELF, given=given)
    return found


# ---- indexing ------------------------------------------------------------------------------------


@exercise(
    "03.1",
    "Every axis named",
    answer="full_key",
    minutes=10,
    hints=(
        "Count first: how many parts of the key take up an axis? `None` and `...` do not.",
        "With `at = key.index(...)`, `key[:at]` stands before the `...`, `key[at + 1:]` after it. "
        "A key without `...` means the same as one with a `...` at its end.",
        "missing = ndim - (number of ints and slices). If that is negative, or key.count(...) is "
        "above 1, raise IndexError; else "
        "return (*key[:at], *[slice(None)] * missing, *key[at + 1:]).",
    ),
    without=("tutor",),
    why_ours="A key without `...` is given one at its end, so that there is one case instead of "
    "two; and the error counts what was found, for the reader of the message.",
)
def check_03_1(judge: Judge, full_key: Any) -> None:
    """An int or a slice for each axis, with `...` written out and every None kept."""
    step = slice(None, None, -2)
    keys: list[tuple[Any, int]] = [
        ((1, 2), 2), (1, 3), (step, 2), ((step, 0), 2),
        ((..., 0), 3), ((0, ..., 1), 4), ((0, ..., 1), 2), (..., 3), ((..., 0, step), 4),
        (None, 2), ((None, 0), 2), ((0, None, ..., None), 3), ((..., None), 1), ((None, ...), 0),
        ((), 2), ((), 0), ((None, None, 2), 1),
    ]  # fmt: skip
    for key, ndim in keys:
        judge.equal(judge.call(full_key, key, ndim), ch03.full_key(key, ndim))
    refused = [((0, 1, 2), 2), ((0, ..., 1), 1), (0, 0), ((..., ...), 2), ((0, None, 1), 1)]
    for key, ndim in refused:
        judge.raises(IndexError, full_key, key, ndim)


def walks() -> dict[str, Any]:
    """Tensors to be indexed and stretched: contiguous ones, and views that are not."""
    base, cube = counted(3, 4), counted(2, 3, 4)
    upside_down = base.over((3, 4), (-4, -1), 11)
    inner = cube.over((2, 2, 2), (12, 4, 2), 5)
    return {
        "t of shape (2, 3)": counted(2, 3),
        "t of shape (3, 4), transposed": ch03.transpose(base),
        "t of shape (3, 4), walked backwards (its strides are -4 and -1)": upside_down,
        "t of shape (2, 2, 2), a part of a larger one (its offset is 5)": inner,
        "t of shape (5,)": counted(5),
    }


STEPS = {  # what a key is made of, from the simplest on
    "ints": (False, False),
    "ints and slices": (True, False),
    "ints, slices, None and ...": (True, True),
}


def keys_for(shape: Shape, slices: bool, others: bool, draw: random.Random) -> Iterator[Any]:
    """Keys for a tensor of this shape: a few by rule, then at random."""
    yield tuple(n - 1 for n in shape)
    yield tuple(-n for n in shape)
    yield 0
    if slices:
        yield from [
            ALL,
            slice(1, None),
            slice(None, None, -1),
            slice(None, None, 2),
            slice(9, None),
        ]
        yield (*[slice(-2, None)] * len(shape),)
    if others:
        yield from [None, ..., (), (..., None), (None, ..., 0), (0, None), (..., slice(1, 1))]
    for _ in range(12):
        key: list[Any] = []
        for n in shape[: draw.randint(1, len(shape))]:
            start, stop = (draw.choice([None, draw.randint(-n - 1, n + 1)]) for _ in range(2))
            part = slice(start, stop, draw.choice([None, 1, 2, -1, -2]))
            key.append(part if slices and draw.random() < 0.6 else draw.randrange(-n, n))
        if others:
            key.insert(draw.randint(0, len(key)), draw.choice([None, ...]))
        yield tuple(key)


@exercise(
    "03.6",
    "The rule itself",
    answer="select",
    minutes=20,
    hints=(
        "Begin with ints alone: the axis goes, and the offset moves by k times the stride. For a "
        "negative k, `k % size` is where it points.",
        "for k in full_key(key, len(t.shape)): keep a number `axis`, which grows after an int and "
        "after a slice, but not after None. `size, stride = t.shape[axis], t.strides[axis]`.",
        "A slice: count, step, moved = sliced(size, stride, k); the shape gets count, the strides "
        "get step, the offset grows by moved. None: the shape gets 1, the strides get 0. At the "
        "end return t.over(shape, strides, offset).",
    ),
    without=("tutor", "__getitem__"),
    why_ours="One loop with a branch for each line of the table; `k % size` turns -1 into the last "
    "index, and it is only reached once the int is known to be inside.",
)
def check_03_6(judge: Judge, select: Any) -> None:
    """A view of t's Buffer with the elements of t[key]; ints outside of their axis are refused."""
    draw = random.Random(36)
    for what, (slices, others) in STEPS.items():
        for name, t in walks().items():
            for key in keys_for(t.shape, slices, others, draw):
                given = f"{what}; {name}"
                right = ch03.select(t, key)
                got = without_brackets(judge, select, t, key, given=given)
                is_view_of(judge, got, t, given)
                judge.equal(tuple(got.shape), right.shape, given=given + "; the shape")
                judge.equal(list(got.values()), list(right.values()), given=given)
        refuses(judge, select)
    point = ch03.Tensor(7)
    got = judge.call(select, point, (), given="t is a single number, of shape ()")
    judge.equal((tuple(is_tensor(judge, got, "t[()]").shape), got.item()), ((), 7.0))


def refuses(judge: Judge, select: Any) -> None:
    """Ints outside of their axis; None does not count as an axis of t."""
    v = counted(2, 3)
    wrong: list[tuple[Any, int, int]] = [
        ((0, 3), 1, 3), ((2, 0), 0, 2), ((1, -4), 1, 3), (-3, 0, 2), ((0, 5), 1, 3),
    ]  # fmt: skip
    for key, axis, size in wrong:
        for words in (f"axis {axis}", str(size)):
            given = f"v of shape (2, 3); its axis {axis} has size {size}"
            judge.raises(IndexError, select, v, key, match=words, given=given)
    judge.raises(IndexError, select, v, (0, 0, 0), given="v of shape (2, 3)")


# ---- broadcasting --------------------------------------------------------------------------------


def pairs() -> list[tuple[Shape, Shape]]:
    """Shapes to be broadcast: some by hand, then all of up to two axes with sizes 0 to 3."""
    by_hand = [
        ((4, 3), (3,)), ((4, 1), (1, 3)), ((5, 1, 7), (6, 1)), ((), (2, 3)), ((2, 3), (3, 2)),
        ((4, 3), (4,)), ((2, 1, 1), (3, 4)), ((1,), (1, 1, 1)), ((0,), (1,)), ((0, 3), (2, 3)),
        ((8, 2, 6), (7, 2, 5)),
    ]  # fmt: skip
    small = [shape for axes in range(3) for shape in itertools.product(range(4), repeat=axes)]
    return by_hand + list(itertools.product(small, small))


def fits(a: Shape, b: Shape) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(a[::-1], b[::-1], strict=False))


@exercise(
    "03.3",
    "The error you wish you had read",
    answer="mismatch",
    minutes=10,
    hints=(
        "Aligned at the right: turn both shapes round, walk them from the front together, and "
        "stop at the first pair that does not fit.",
        "`itertools.zip_longest(reversed(a), reversed(b), fillvalue=1)` gives the pairs. The axis "
        "of the first one is -1, of the next one -2: `enumerate` counts 0, 1, ...",
        'for i, (m, n) in enumerate(the pairs): if m != n and 1 not in (m, n), return f"shapes {a} '
        'and {b} do not fit: axis {-1 - i} has sizes {m} and {n}, which must be equal or 1". After '
        "the loop, return None.",
    ),
    without=("tutor",),
    why_ours="`zip_longest` with 1 in place of what is missing is the whole alignment: a shape "
    "that has run out counts as 1, so no case is needed for it.",
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
    "03.2",
    "The shape that both stretch to",
    answer="broadcast_shapes",
    minutes=5,
    hints=(
        "`mismatch(a, b)` says whether they fit, and what to say if not. After that, walk both "
        "shapes from the right once more.",
        "Of a pair (m, n) that fits, the result is the one that is not 1.",
        "wrong = mismatch(a, b); if wrong: raise ValueError(wrong). Then, for each pair of "
        "zip_longest(reversed(a), reversed(b), fillvalue=1), append n if m == 1 else m. At the "
        "end, turn the list round again and make it a tuple.",
    ),
    without=("tutor",),
    why_ours="It takes `n if m == 1 else m` and not the larger of the two: beside a 0, a 1 becomes "
    "0. The message is the one of `mismatch`, so it stands in one place.",
)
def check_03_2(judge: Judge, broadcast_shapes: Any) -> None:
    """Aligned at the right; in each column the sizes are equal, or one is 1 and is stretched."""
    for a, b in pairs():
        if fits(a, b):
            judge.equal(judge.call(broadcast_shapes, a, b), ch03.broadcast_shapes(a, b))
        else:
            judge.raises(ValueError, broadcast_shapes, a, b)


@exercise(
    "03.7",
    "Stretch it",
    answer="expand",
    minutes=10,
    hints=(
        "If `broadcast_shapes(t.shape, shape)` is `shape`, then t stretches to it. What it raises "
        "where the shapes do not fit is a ValueError already.",
        "New axes stand at the front, and their stride is 0. An axis of size 1 gets the stride 0, "
        "too. All other axes keep theirs.",
        "new = [0] * (len(shape) - len(t.shape)); kept = [0 if size == 1 else stride for each size "
        "and stride of t]; return t.over(shape, new + kept, t.offset).",
    ),
    without=("tutor",),
    why_ours="An axis of size 1 gets the stride 0 even where it stays 1: it is never walked, so "
    "its stride does not matter, and there is one case less.",
)
def check_03_7(judge: Judge, expand: Any) -> None:
    """A view of t's Buffer of that shape; what does not stretch to it is a ValueError."""
    row, column = counted(3), counted(4, 1)
    middle = counted(3, 4).over((3, 1), (4, 1), 2)  # column 2 of a larger tensor
    cases: list[tuple[str, Any, Shape]] = [
        ("a row of 3", row, (4, 3)), ("a column of 4", column, (4, 3)),
        ("column 2 of a tensor of shape (3, 4)", middle, (3, 2)),
        ("a row of 3, upside down", row.over((3,), (-1,), 2), (2, 3)),
        ("a row of 3, which has this shape", row, (3,)),
        ("a single number", ch03.Tensor(5), (2, 2)),
        ("of shape (2, 1, 2)", counted(2, 1, 2), (3, 2, 4, 2)),
        ("of shape (1, 1)", counted(1, 1), (0, 3)),
        ("a transposed (2, 3)", ch03.transpose(counted(2, 3)), (2, 3, 2)),
    ]  # fmt: skip
    for name, t, shape in cases:
        given = f"t is {name}"
        got = judge.call(expand, t, shape, given=given)
        is_view_of(judge, got, t, given)
        judge.equal(tuple(got.shape), shape, given=given + ": the shape")
        judge.picture(viz.broadcast(t.shape, shape))
        known = dict(numbers_by_index(t))
        expected = []
        for index in itertools.product(*map(range, shape)):
            tail = index[len(shape) - len(t.shape) :]
            expected.append(
                known[tuple(0 if n == 1 else i for i, n in zip(tail, t.shape, strict=True))]
            )
        judge.equal(list(got.values()), expected, given=given)
    refused: list[tuple[Any, Shape]] = [
        (row, (4,)), (row, (3, 4)), (column, (3, 3)), (counted(2, 3), (3,)),
        (counted(4, 3), (4, 1)), (row, ()), (counted(1, 3), (3,)),
    ]  # fmt: skip
    for t, shape in refused:
        judge.raises(ValueError, expand, t, shape, given=f"t of shape {t.shape}")


@exercise(
    "03.4",
    "Undo broadcasting",
    answer="reduce_to",
    minutes=15,
    hints=(
        "Each element of g was read from one place. Each element of the result is the sum over all "
        "elements of g that were read from its place.",
        "`expand(out, g.shape)` walks a tensor `out` of the small shape just as it was walked "
        "when it was stretched. Its `.positions()` names a cell of out.buf for each element of g.",
        "out = zeros(shape, g.buf.dtype); for p, x in zip(expand(out, g.shape).positions(), "
        "g.values()): out.buf[p] += x; return out.",
    ),
    without=("tutor",),
    why_ours="No axis is looked at. The walk that read the same number again and again is the walk "
    "along which the sums are collected, so there is nothing to get wrong about axes.",
)
def check_03_4(judge: Judge, reduce_to: Any) -> None:
    """Each element is the sum of those elements of g that were read from it."""
    cases: list[tuple[Shape, Shape]] = [
        ((4, 3), (3,)), ((2, 3), (3,)), ((4, 3), (4, 1)), ((4, 3), (1, 3)), ((4, 3), (4, 3)),
        ((4, 3), (1,)), ((4, 3), ()), ((2, 3, 4), (3, 1)), ((2, 3, 4), (2, 1, 4)), ((2, 1, 4),
        (1, 4)), ((3,), ()),
        ((0, 3), (3,)), ((3, 3), (3, 1)), ((3, 3), (3,)),
    ]  # fmt: skip
    for large, small in cases:
        numbers = [float(2**i % 61) for i in range(ch03.zeros(large).numel())]
        g = ch03.Tensor(ch03.Buffer(numbers, "float64"), large)
        compare(judge, judge.call(reduce_to, g, small), g, small)
    g = ch03.transpose(ch03.Tensor([[1, 2, 3], [10, 20, 30]]))[::-1]
    compare(judge, judge.call(reduce_to, g, (1, 2)), g, (1, 2), "a transposed g, upside down")
    whole = ch03.Tensor([[2**40, 1], [3, 4]], dtype="int64")
    compare(judge, judge.call(reduce_to, whole, (2,)), whole, (2,), "g of int64")


def compare(judge: Judge, got: Any, g: Any, small: Shape, given: str = "") -> None:
    """got must be the sums of g over what `small` was stretched to, by the long way."""
    where = given or f"g of shape {g.shape}, to be reduced to {small}"
    judge.picture(viz.explain(ch03.expand(ch03.zeros(small), g.shape)))  # which cell was read where
    sums = dict.fromkeys(itertools.product(*map(range, small)), 0.0)
    for index, x in numbers_by_index(g):
        tail = index[len(index) - len(small) :]
        sums[tuple(0 if n == 1 else i for i, n in zip(tail, small, strict=True))] += x
    is_tensor(judge, got, where)
    judge.equal(judge.run(lambda: tuple(got.shape)), small, given=where + ": the shape")
    judge.close(judge.run(lambda: list(got.values())), list(sums.values()), given=where)
    judge.equal(judge.run(lambda: got.buf.dtype), g.buf.dtype, given=where + ": the dtype")
    judge.that(got.buf is not g.buf, "it is g itself, or a view of it: a new Tensor is asked for",
               given=where)  # fmt: skip


# ---- the bug hunt --------------------------------------------------------------------------------


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
    without=("select", "full_key", "__getitem__", "tutor"),
    why_ours="Each int is asked before it is used, and in one place; what is left is the sum that "
    "the naive version was.",
)
def check_03_5(judge: Judge, element: Any) -> None:
    """One int per axis, negative ones from the end; else an IndexError that names axis and size."""
    v = counted(2, 3)

    def reads(t: Any, *index: int, given: str) -> Any:
        return without_brackets(judge, element, t, *index, given=given)

    judge.equal(reads(v, 1, -1, given="t of shape (2, 3)"), 6.0, given="t of shape (2, 3)")
    tensors = {
        "v": v,
        "v transposed": ch03.transpose(v),
        "v[:, ::-1]": v[:, ::-1],
        "v[1]": v[1],
        "v[:, None, 1:]": v[:, None, 1:],
        "of shape (2, 2, 2)": counted(2, 2, 2),
    }
    for name, t in tensors.items():
        for index in itertools.product(*(range(-n, n) for n in t.shape)):
            judge.picture(viz.explain(t, index))
            expected = ch03.select(t, index).item()
            judge.equal(reads(t, *index, given=f"t is {name}"), expected, given=f"t is {name}")
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


# ---- for those who want more ---------------------------------------------------------------------


@exercise(
    "03.s1",
    "Windows, as a view",
    answer="windows",
    minutes=15,
    hints=(
        "When the number of the window grows by 1, how far does the walk move in memory? And when "
        "the place inside of the window grows by 1?",
        "Both steps are the stride of the last axis. Two axes may have the same stride.",
        "The shape is t's, with its last size n replaced by n - size + 1 and size; the strides are "
        "t's, with the last one twice.",
    ),
    without=("tutor",),
    why_ours="Two axes that take the same step: every number is read by up to `size` windows and "
    "stands in memory once.",
)
def check_03_s1(judge: Judge, windows: Any) -> None:
    """The windows of `size` neighbours along the last axis, a view of t's Buffer."""
    for name, t in walks().items():
        n = t.shape[-1]
        for size in range(1, n + 1):
            got = judge.call(windows, t, size, given=name)
            is_view_of(judge, got, t, name)
            shape = (*t.shape[:-1], n - size + 1, size)
            judge.equal(tuple(got.shape), shape, given=f"{name}: the shape")
            known = dict(numbers_by_index(t))
            indices = itertools.product(*map(range, shape))
            expected = [known[*index[:-2], index[-2] + index[-1]] for index in indices]
            judge.equal(list(got.values()), expected, given=name)
        for size in (0, -1, n + 1):
            judge.raises(ValueError, windows, t, size, given=name)


@exercise(
    "03.s2",
    "Assignment",
    answer="assign",
    minutes=20,
    hints=(
        "The view t[key] knows where its elements stand (`positions`), and `fill` puts numbers "
        "there. `expand` gives the value the right shape, or refuses.",
        "A view in which several elements are one number has a position twice.",
        "All numbers of the value have to be read before the first is written: make a list of "
        "them. And everything that can be refused is refused before that.",
    ),
    without=("tutor",),
    why_ours="Everything is refused first, then everything is read, then everything is written: in "
    "this order nothing is half done, and overlapping memory needs no case of its own.",
)
def check_03_s2(judge: Judge, assign: Any) -> None:
    """t[key] has the value, stretched; nothing else has changed; what cannot be is refused."""

    def after(t: Any, key: Any, value: Any, expected: list[Any], given: str) -> None:
        judge.call(assign, t, key, value, changes=True, given=given)
        judge.equal(t.tolist(), expected, given=given + "; t afterwards")

    given = "t = [[1, 2, 3], [4, 5, 6]]"
    after(counted(2, 3), (0, 1), 9, [[1.0, 9.0, 3.0], [4.0, 5.0, 6.0]], given)
    after(counted(2, 3), ALL, 7, [[7.0] * 3] * 2, given)
    row = ch03.Tensor([10, 20, 30])
    after(counted(2, 3), 1, row, [[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]], given)
    after(counted(2, 3), ALL, row, [[10.0, 20.0, 30.0]] * 2, given)
    back = (ALL, slice(None, None, -2))
    after(counted(2, 3), back, ch03.Tensor([[8], [9]]), [[8.0, 2.0, 8.0], [9.0, 5.0, 9.0]], given)
    after(counted(2, 3), slice(2, None), 5, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], given)
    t = counted(5)
    given = "t = [1, 2, 3, 4, 5], value t[:-1] of the same memory"
    after(t, slice(1, None), t[:-1], [1.0, 1.0, 2.0, 3.0, 4.0], given)
    square = counted(2, 2)
    given = "t = [[1, 2], [3, 4]], value its own transpose"
    after(square, ALL, ch03.transpose(square), [[1.0, 3.0], [2.0, 4.0]], given)
    for t, key, value, about in [
        (counted(2, 3), ALL, ch03.Tensor([1, 2]), "t of shape (2, 3), value of shape (2,)"),
        (counted(3), 0, counted(3), "t[0] has shape (), the value has shape (3,)"),
        (ch03.expand(counted(2, 1), (2, 3)), 0, 9, "t stretched: all of t[0] is one number"),
    ]:
        before = list(t.buf.read(0, len(t.buf)))
        judge.raises(ValueError, assign, t, key, value, given=about)
        judge.equal(list(t.buf.read(0, len(t.buf))), before, given=about + "; t afterwards")


# ---- questions -----------------------------------------------------------------------------------

question(
    "03.q1",
    "t has shape (6, 4), strides (4, 1) and offset 0. What is the offset of t[-1, 1:]?",
    right=21,
    why="-1 is row 5, which begins at 5 * 4 = 20; the slice begins at column 1, one further",
    tempting={
        20: "row 5 begins at 20, but the slice leaves out column 0, and that moves the offset, too",
        25: "-1 is the last row: of 6 rows that is row 5, which begins at 20 and not at 24",
        -3: "a negative index is not multiplied as it is: -1 is row 5",
        1: "the slice moves it by 1; but the int moves it as well, to the beginning of row 5",
    },
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
    tempting={
        "a": "no size is the same, so it looks wrong; but in each column one of the two is 1",
        "b": "7 is nowhere in the first shape; but it stands below the 1, which is stretched",
        "d": "() has no axis at all; where a shape has run out it counts as 1, so it always fits",
    },
)
question(
    "03.q3",
    "x has shape (1000, 1000). How many numbers does transpose(x)[::-1, None, 5:] copy?",
    right=0,
    why="each of the steps changes shape, strides and offset only",
    tempting={
        995000: "so many numbers are selected, but they are read where they are",
        1000000: "a transpose sounds like much to be moved, but it only exchanges two strides",
    },
)
question(
    "03.q4",
    "(3, 1) was stretched to (3, 8); ones of shape (3, 8) come back. What do they add up to?",
    right=8,
    why="each number was read eight times, so eight ones come back to it",
    tempting={
        1: "a copy of one of them is not the sum: eight ones came back to each number",
        24: "24 is the sum of all ones; but each of the three numbers gets only its own eight",
        3: "the sum goes along the axis that was stretched, which has size 8",
    },
)
