"""Chapter 2, shape, strides, offset: fifteen exercises, two challenges, five questions, and three
functions with bugs."""

from __future__ import annotations

import itertools
import math
import random
from copy import deepcopy
from functools import partial
from types import FunctionType, SimpleNamespace
from typing import Any

from course.compare import plain, short, what
from course.exercise import Judge, exercise, question
from course.library import of, ours
from tutor import viz

ch02 = ours(2)
Buffer, Tensor, reshape, strides_for = ch02.Buffer, ch02.Tensor, ch02.reshape, ch02.strides_for


def positions(shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> list[int]:
    """Where the elements stand, row by row, by the definition."""
    indices = itertools.product(*map(range, shape))
    return [offset + sum(i * s for i, s in zip(index, strides, strict=True)) for index in indices]


def nested(items: list[Any], shape: tuple[int, ...]) -> Any:
    """The items, row by row, as nested lists of this shape."""
    if not shape:
        return items[0]
    size = math.prod(shape[1:])
    return [nested(items[i * size : (i + 1) * size], shape[1:]) for i in range(shape[0])]


def drawing(shape: tuple[int, ...], strides: tuple[int, ...], offset: int, count: int) -> Any:
    """The picture of these facts over a Buffer of the numbers 0, 1, 2, ..."""
    row = Buffer(range(count), "int64")
    return viz.explain(SimpleNamespace(buf=row, shape=shape, strides=strides, offset=offset))


def whole(numbers: Any) -> bool:
    """Whether this is a tuple of ints."""
    return isinstance(numbers, tuple) and all(type(n) is int for n in numbers)


# ---- 02.1 ----------------------------------------------------------------------------------------


@exercise(
    "02.1",
    "Strides",
    answer="strides_for",
    minutes=8,
    hints=(
        "For (2, 3, 4): one step along the last axis is 1. Along the middle one it is a whole row,"
        " 4 numbers. Along the first one it is a whole table, 3 rows of 4.",
        "So each stride is the product of all sizes that stand behind its axis. Going from right to"
        " left, one product is enough: it grows as you go.",
        "`step = 1`; for each size in `reversed(shape)`: note down `step`, then `step *= size`."
        " What was noted is in the wrong order: reverse it, and make a tuple of it.",
    ),
    why_ours="Going from right to left, one product is enough: it grows as you go. Working out each"
    " product by itself gives the same, in more steps.",
)
def check_02_1(judge: Judge, answer: Any) -> None:
    """The strides of numbers that lie row by row, for shapes of no axis to six."""
    shapes = ((2, 3), (3, 2), (2, 3, 4), (3, 1, 2), (5,), (1,), (), (2, 1, 3, 2, 1, 2), (7, 5))
    for shape in shapes:
        got = judge.call(answer, shape)
        wanted = strides_for(shape)
        if whole(got) and len(got) == len(shape) and got != wanted:
            judge.picture(drawing(shape, got, 0, math.prod(shape)))
            rows = {"got": f"{got}", "expected": f"{wanted}"}
            if math.prod(shape) <= 24:
                rows["yours read positions"] = f"{nested(positions(shape, got), shape)}"
                rows["row by row it is"] = f"{nested(positions(shape, wanted), shape)}"
            judge.fail(rows)
        judge.equal(got, wanted)
    for shape in ((0,), (2, 0, 3)):  # there is nothing to walk: any strides will do
        got = judge.call(answer, shape)
        good = whole(got) and len(got) == len(shape)
        judge.that(good, f"{got!r}, and not a tuple with one whole number for each axis")


# ---- 02.2 ----------------------------------------------------------------------------------------


@exercise(
    "02.2",
    "Row by row?",
    answer="row_by_row",
    minutes=8,
    hints=(
        "There is only one choice of strides that walks row by row without gaps, and you have"
        " written the function that gives it. But there is an exception.",
        "An axis of size 1 has the index 0 and no other, so its stride is multiplied by 0. Compare"
        " the strides of all other axes.",
        "`for size, stride, wanted in zip(shape, strides, strides_for(shape))`: if `size != 1` and"
        " `stride != wanted`, it is not row by row.",
    ),
    why_ours="It asks the function of 02.1, so there is one place that knows what row by row"
    " means.",
)
def check_02_2(judge: Judge, answer: Any) -> None:
    """Whether elements lie row by row, without gaps, told from shape and strides."""
    for shape, strides in (
        ((2, 3), (3, 1)),
        ((3, 2), (1, 3)),
        ((2, 2), (3, 1)),
        ((5,), (1,)),
        ((5,), (2,)),
        ((), ()),
        ((2, 3, 4), (12, 4, 1)),
        ((2, 3, 4), (4, 8, 1)),
        ((2, 3, 4), (12, 1, 3)),
        ((3,), (-1,)),
        ((3,), (0,)),
        ((2, 3), (0, 1)),
        ((1, 3), (8, 1)),
        ((3, 1), (1, 7)),
        ((3, 1), (2, 1)),
        ((1, 1), (5, 5)),
        ((2, 1, 3), (3, 0, 1)),
        ((1, 2, 1, 3, 1), (9, 3, 9, 1, 9)),
        ((1, 2, 1, 3, 1), (9, 4, 9, 1, 9)),
    ):
        walk = positions(shape, strides)
        low, high = min(walk), max(walk)
        judge.picture(drawing(shape, strides, -low, high - low + 1))
        judge.equal(judge.call(answer, shape, strides), walk == list(range(math.prod(shape))))


# ---- 02.9, 02.8: where the elements stand --------------------------------------------------------

WALKS: tuple[tuple[tuple[int, ...], tuple[int, ...], int], ...] = (
    ((3,), (1,), 0),
    ((2, 3), (3, 1), 0),
    ((3, 2), (1, 3), 0),
    ((2, 3), (3, 1), 4),
    ((2, 3), (-3, 1), 3),
    ((4,), (-2,), 9),
    ((2, 3), (-5, -1), 20),
    ((3, 2), (0, 4), 2),
    ((), (), 7),
    ((1, 3), (8, 2), 1),
    ((2, 2, 2), (1, 2, 4), 3),
    ((2, 3, 4), (12, -4, 1), 8),
    ((2, 3, 2, 2), (1, 7, -2, 30), 11),
)


def far(seed: int) -> list[tuple[tuple[int, ...], tuple[int, ...], int]]:
    """Facts made at random."""
    rng = random.Random(seed)
    made = []
    for axes in (1, 2, 2, 3, 3, 4):
        shape = tuple(rng.randint(1, 4) for _ in range(axes))
        strides = tuple(rng.randint(-9, 9) for _ in range(axes))
        made.append((shape, strides, rng.randint(0, 99)))
    return made


@exercise(
    "02.9",
    "Where they all stand",
    answer="positions",
    minutes=10,
    hints=(
        "Without any axis there is one position, [offset]. With one axis, each of the positions so"
        " far becomes several: itself, one stride further, two strides further, ...",
        "Go through the axes from the left. For each, make a new list out of the old one: for every"
        " position that there was, and every index of this axis, the position plus index * stride.",
        "`found = [offset]`; for each size and stride:"
        " `found = [start + i * stride for start in found for i in range(size)]`.",
    ),
    why_ours="The list grows axis by axis. There is no case for two axes and another for three, and"
    " none for no axis at all, or for a size of 0.",
)
def check_02_9(judge: Judge, answer: Any) -> None:
    """All positions, the last index fastest, for any number of axes."""
    for shape, strides, offset in (*WALKS, *far(9), ((0,), (1,), 3), ((2, 0, 3), (0, 3, 1), 0)):
        got = judge.call(answer, shape, strides, offset)
        judge.equal(got, positions(shape, strides, offset))


@exercise(
    "02.8",
    "The ends of the walk",
    answer="reach",
    minutes=10,
    hints=(
        "Along one axis, a walk begins at the offset and ends (size - 1) strides further. If the"
        " stride is negative, that end is the lower one.",
        "The axes do not disturb each other: the lowest position is the offset plus everything that"
        " goes down, and the highest is the offset plus everything that goes up.",
        "`first = last = offset`; for each axis `way = (size - 1) * stride`, then"
        " `first += min(way, 0)` and `last += max(way, 0)`.",
    ),
    without=("positions",),
    why_ours="It takes as many steps as there are axes, however many elements there are. That is"
    " why a view of a hundred million elements can be checked in a millionth of a second.",
)
def check_02_8(judge: Judge, answer: Any) -> None:
    """The lowest and the highest position, also where there are too many to look at each."""
    for shape, strides, offset in (*WALKS, *far(8)):
        walk = positions(shape, strides, offset)
        got = judge.call(answer, shape, strides, offset)
        got = tuple(got) if isinstance(got, list) else got
        judge.equal(got, (min(walk), max(walk)))
    large = ((10**6, 10**6), (-1, 0), 10**6)
    judge.equal(tuple(judge.call(answer, *large)), (1, 10**6))


# ---- 02.7, 02.10: nested lists -------------------------------------------------------------------

NESTED: tuple[tuple[Any, list[Any], tuple[int, ...]], ...] = (
    ([1, 2, 3], [1, 2, 3], (3,)),
    ([[1, 2, 3], [4, 5, 6]], [1, 2, 3, 4, 5, 6], (2, 3)),
    (7, [7], ()),
    (2.5, [2.5], ()),
    ([[[1], [2]], [[3], [4]], [[5], [6]]], [1, 2, 3, 4, 5, 6], (3, 2, 1)),
    ([[True, False]], [True, False], (1, 2)),
    (((1, 2), (3, 4)), [1, 2, 3, 4], (2, 2)),
    ([(1, 2), [3, 4]], [1, 2, 3, 4], (2, 2)),
    ([], [], (0,)),
    ([[], []], [], (2, 0)),
    ([[[1.5, 2.5]]], [1.5, 2.5], (1, 1, 2)),
)
RAGGED = (
    [[1, 2], [3]],
    [1, [2]],
    [[1], 2],
    [[[1, 2]], [[1], [2]]],
    [[1, 2], []],
    [[[1]], [[2], 3]],
)


@exercise(
    "02.7",
    "From lists to a row",
    answer="flatten",
    minutes=10,
    hints=(
        "A table is a list of rows, and a row is something that flatten can flatten. What is flat"
        " already? A number: it is ([number], ()).",
        "Flatten each row. The numbers come one after the other, and the shape is how many rows"
        " there are, followed by the shape that all rows have.",
        "`rows = [flatten(row) for row in data]`; the shapes `{shape for _, shape in rows}` must be"
        " one, or ValueError; give `[x for row, _ in rows for x in row], (len(data), *inner)`.",
    ),
    why_ours="The shapes go into a set: if the set has two, some rows differ. It does not matter"
    " how deep the difference is, since a row of ragged rows has raised already.",
)
def check_02_7(judge: Judge, answer: Any) -> None:
    """The numbers in one flat list, and the shape as a tuple; ragged rows raise ValueError."""
    for data, numbers, shape in NESTED:
        got = judge.call(answer, deepcopy(data))
        pair = isinstance(got, tuple | list) and len(got) == 2
        judge.that(pair, f"{what(got)}, not a pair: the flat list, and the shape")
        judge.equal(got[0], numbers, given="the numbers")
        judge.equal(got[1], shape, given="the shape")
    for data in RAGGED:
        judge.raises(ValueError, answer, deepcopy(data))


@exercise(
    "02.10",
    "And back",
    answer="nest",
    minutes=8,
    hints=(
        "Under the shape (2, 3, 4), the innermost lists have 4 items each. When all those are made,"
        " there are 6 of them, and they are the items for the lists of 3.",
        "So go through the sizes from the right, but leave the first one out: what is left at"
        " the end is the outermost list. How many lists are there at each step? A size may be 0.",
        "For axis from the last to 1: `items = [items[i * size : (i + 1) * size] for i in"
        " range(rows)]`, where rows is the product of the sizes before it.",
    ),
    why_ours="The number of rows comes from the shape, not from how many items are left: where a"
    " size is 0, there are rows, and nothing in them.",
)
def check_02_10(judge: Judge, answer: Any) -> None:
    """Nested lists of this shape; for (), the item itself."""
    shapes = (
        (3,),
        (2, 3),
        (3, 2),
        (),
        (2, 3, 4),
        (1, 1, 2),
        (4, 1),
        (2, 1, 3, 2),
        (0,),
        (2, 0),
        (0, 3),
    )
    for shape in shapes:
        for start, cls in ((1, list), (10, tuple)):
            items = cls(range(start, start + math.prod(shape)))
            judge.equal(judge.call(answer, items, shape), nested(list(items), shape))


# ---- 02.11: Tensor -------------------------------------------------------------------------------


def counting(cls: Any) -> Any:
    """A Buffer, of this class, that counts how often it is read from and written to."""

    class Counting(cls):  # type: ignore[misc]
        reads = writes = 0

        def read(self, start: int, count: int) -> Any:
            self.reads += 1
            return super().read(start, count)

        def write(self, start: int, numbers: Any) -> None:
            self.writes += 1
            super().write(start, numbers)

    return Counting(range(100), "float64")


def _facts(judge: Judge, t: Any, shape: Any, strides: Any, offset: int, given: str) -> None:
    """That a tensor has these facts."""
    for name, wanted in (("shape", shape), ("strides", strides), ("offset", offset)):
        judge.equal(judge.run(partial(getattr, t, name)), wanted, given=f"{given}; t.{name}")


def _made(judge: Judge, answer: Any, buffers: Any) -> None:
    """The constructor, from lists and from Buffers."""
    for data, numbers, shape in NESTED:
        t = judge.instance(answer, deepcopy(data))
        given = f"t = Tensor({data})"
        _facts(judge, t, shape, strides_for(shape), 0, given)
        judge.that(hasattr(t, "buf") and hasattr(t.buf, "raw"), "t.buf is no Buffer", given=given)
        judge.equal([t.buf[i] for i in range(len(t.buf))], [float(n) for n in numbers],
                    given=f"{given}; what is in t.buf")  # fmt: skip
    for dtype in ("int16", "float64", "bool"):
        t = judge.instance(answer, [[1, 0], [0, 1]], dtype=dtype)
        judge.equal(t.buf.dtype, dtype, given="t.buf.dtype")
    t = judge.instance(answer, [1.0])
    rest = [t.requires_grad, t.grad, t.op]
    judge.equal(rest, [False, None, None], given="t.requires_grad, t.grad, t.op")
    t = judge.instance(answer, [1.0], requires_grad=True)
    judge.equal(t.requires_grad, True, given="t.requires_grad")
    buf = buffers(range(12), "int64")
    t = judge.instance(answer, buf)
    given = "t = Tensor(Buffer(range(12)))"
    judge.that(t.buf is buf, "it made another Buffer; it should keep the one it was given",
               given=given)  # fmt: skip
    _facts(judge, t, (12,), (1,), 0, given)
    inside = {name: x for name, x in vars(ch02.Buffer).items() if type(x) is FunctionType}
    other = type("Buffer", (), inside)(range(3))
    given = "a Buffer of another class: what has .raw is a Buffer"
    t = judge.instance(answer, other, given=given)
    judge.that(t.buf is other, "it made another Buffer; it should keep the one it was given")
    t = judge.instance(answer, buf, [3, 4])
    _facts(judge, t, (3, 4), (4, 1), 0, "t = Tensor(Buffer(range(12)), [3, 4])")
    t = judge.instance(answer, buf, [2, 3], [6, 2], 1)
    judge.that(t.buf is buf, "it made another Buffer; it should keep the one it was given")
    _facts(judge, t, (2, 3), (6, 2), 1, "t = Tensor(Buffer(range(12)), [2, 3], [6, 2], 1)")


INSIDE = (
    ((12,), (1,), 0),
    ((3, 4), (4, 1), 0),
    ((2, 3), (6, 2), 1),
    ((4,), (-3,), 10),
    ((3, 2), (0, 4), 2),
    ((), (), 11),
    ((2, 2, 2), (1, 2, 4), 4),
    ((3, 4), (-4, -1), 11),
    ((2, 0, 3), (50, 50, 50), 40),
    ((1, 12), (99, 1), 0),
)
OUTSIDE = (
    ((13,), (1,), 0),
    ((12,), (1,), 1),
    ((3, 4), (4, 1), 1),
    ((3, 4), (5, 1), 0),
    ((4,), (-3,), 8),
    ((2,), (1,), -1),
    ((), (), 12),
    ((), (), -1),
    ((2, 2), (-4, 13), 2),
    ((3, 4), (4, -1), 2),
    ((10**6, 10**6), (0, 20), 0),
)


@exercise(
    "02.11",
    "Tensor",
    answer="Tensor",
    minutes=18,
    hints=(
        "The constructor in order: make a Buffer if `data` is none (`flatten` gives its numbers and"
        " its shape); keep buf, shape, strides and offset; refuse what `reach` says is outside.",
        "values: `self.buf.read(self.offset, self.numel())` if contiguous; else read the whole"
        " Buffer once, and pick the items at `self.positions()`. fill: the same with write, or"
        " `buf[p] = x` for each position and number.",
        "over: `return Tensor(self.buf, shape, strides, offset)`. The check: if there are elements,"
        " `first, last = reach(self.shape, self.strides, offset)`, and IndexError unless"
        " `0 <= first` and `last < len(data)`.",
    ),
    why_ours="All the checking is in the constructor, so no Tensor can exist whose walk leaves its"
    " Buffer: `values` and `fill` need not look. `over` goes through the constructor, too.",
)
def check_02_11(judge: Judge, answer: Any) -> None:
    """Facts over a Buffer: kept, checked, read and written, and shared by `over`."""
    if not isinstance(answer, type):
        judge.fail({"got": what(answer), "expected": "a class"})
    buffers = of(answer, "Buffer", default=ch02).Buffer
    _made(judge, answer, buffers)
    for facts in INSIDE:
        numbers = [float(3 * n + 1) for n in range(12)]
        buf = buffers(numbers)
        t = judge.instance(answer, buf, *facts)
        walk = positions(*facts)
        made = f"t = Tensor(Buffer of {numbers[:3]} ..., {facts[0]}, {facts[1]}, {facts[2]})"
        judge.called, judge.given = "t.values()", made
        judge.equal(list(judge.run(t.values)), [numbers[p] for p in walk])
        judge.called = "t.tolist()"
        listed = nested([numbers[p] for p in walk], facts[0])
        judge.equal(judge.run(t.tolist), listed)
        if len(set(walk)) == len(walk):  # else it depends on the order
            news = [float(-n) for n in range(len(walk))]
            judge.called = f"t.fill({news})"
            judge.run(partial(t.fill, news))
            for p, x in zip(walk, news, strict=True):
                numbers[p] = x
            judge.equal([buf[p] for p in range(12)], numbers, given=f"{made}; the Buffer after it")
    for facts in OUTSIDE:
        judge.raises(IndexError, answer, buffers(range(12)), *facts, given="a Buffer of 12 numbers")
    judge.raises(ValueError, answer, buffers(range(12)), (3, 4), (1,))
    judge.raises(ValueError, answer, buffers(range(12)), (3,), (4, 1))
    judge.raises(ValueError, answer, buffers([]), (0, 3), (1,))
    _shared(judge, answer, buffers)


def _shared(judge: Judge, answer: Any, buffers: Any) -> None:
    """over, and reading in one piece."""
    t = judge.instance(answer, [[1, 2, 3], [4, 5, 6]], dtype="int32")
    judge.called = judge.given = ""
    view = judge.run(lambda: t.over((3, 2), (1, 3), 0))
    judge.called = "v = t.over((3, 2), (1, 3), 0)"
    judge.that(isinstance(view, answer), f"{short(view, 60)} is no Tensor")
    judge.that(view.buf is t.buf, "v.buf is not t.buf: it has a Buffer of its own")
    _facts(judge, view, (3, 2), (1, 3), 0, "v")
    _facts(judge, t, (2, 3), (3, 1), 0, "t, after v was made")
    part = judge.run(lambda: t.over((2, 2), (3, 1), 1))
    last = judge.run(lambda: part.over((2,), (1,), 4))
    judge.called = "p = t.over((2, 2), (3, 1), 1); v = p.over((2,), (1,), 4)"
    _facts(judge, last, (2,), (1,), 4, "v; an offset counts from the beginning of the Buffer")
    judge.called = "v = t.over((3, 2), (1, 3), 0)"
    judge.run(lambda: view.fill([10, 40, 20, 50, 30, 60]))
    judge.equal(judge.run(t.tolist), [[10, 20, 30], [40, 50, 60]], given="t, after v was filled")
    judge.raises(IndexError, t.over, (3,), (1,), 4, called="t.over((3,), (1,), 4)")
    buf = counting(buffers)
    t = judge.instance(answer, buf, (5, 10), (10, 1), 20)
    buf.reads = buf.writes = 0
    judge.call(t.values, given="a contiguous tensor of 50 elements")
    words = f"it read {buf.reads} times, and one read of all 50 would do"
    judge.that(buf.reads == 1, words)
    judge.call(t.fill, list(range(50)), given="a contiguous tensor of 50 elements")
    words = f"it wrote {buf.writes} times, and one write of all 50 would do"
    judge.that(buf.writes == 1, words)
    large = (10**6, 10**6), (0, 0), 0
    judge.instance(
        answer, buffers([1.0]), *large, given="so many elements that nobody can list them"
    )


# ---- 02.12 to 02.15: other facts -----------------------------------------------------------------

TABLES: tuple[tuple[tuple[int, ...], tuple[int, ...], int], ...] = (
    ((2, 3), (3, 1), 0),
    ((2, 3, 4), (12, 4, 1), 0),
    ((2, 3, 2), (1, 8, -2), 4),
    ((2, 1, 3, 2), (6, 6, 2, 1), 5),
    ((3, 4), (0, 1), 7),
)


ITSELF = (
    "it is t itself: give a Tensor of its own, also where nothing changes. From chapter 5 on a"
    " result remembers how it was made, and t would have been made of itself"
)


def _table(facts: tuple[tuple[int, ...], tuple[int, ...], int], dtype: str = "int32") -> Any:
    return Tensor(Buffer(range(30), dtype), *facts)


def _view(judge: Judge, got: Any, t: Any, shape: Any, strides: Any, offset: int) -> None:
    """That a result is a view of t, with these facts."""
    judge.that(hasattr(got, "strides"), f"{what(got)}, and not a Tensor")
    judge.that(got.buf is t.buf, "it has a Buffer of its own: numbers were copied")
    judge.that(got is not t, ITSELF)
    judge.picture(viz.explain(got))
    mine = tuple(got.shape), tuple(got.strides), got.offset
    judge.equal(mine, (tuple(shape), tuple(strides), offset), given="(shape, strides, offset)")


@exercise(
    "02.12",
    "Axes in another order",
    answer="permute",
    minutes=4,
    hints=(
        "An axis is a size together with its stride. Where the elements begin does not change.",
        "The new shape has `t.shape[a]` for each a of axes, and the strides go the same way.",
        "`t.over([t.shape[a] for a in axes], [t.strides[a] for a in axes], t.offset)`",
    ),
    why_ours="Sizes and strides are put in order by the same rule, and nothing else happens.",
)
def check_02_12(judge: Judge, answer: Any) -> None:
    """A view whose axes are those of t in this order."""
    for facts in TABLES:
        t = _table(facts)
        for axes in list(itertools.permutations(range(len(facts[0]))))[:8]:
            got = judge.call(answer, t, axes)
            wanted = [[which[a] for a in axes] for which in facts[:2]]
            _view(judge, got, t, wanted[0], wanted[1], facts[2])


@exercise(
    "02.13",
    "Two axes exchanged",
    answer="transpose",
    minutes=4,
    hints=(
        "It is a permutation of the axes. Which one? Begin with `list(range(len(t.shape)))`.",
        "In that list, exchange the items a and b. Python's lists count from the end by"
        " themselves.",
        "`axes[a], axes[b] = axes[b], axes[a]`, and `return permute(t, axes)`.",
    ),
    why_ours="A list of axes counts from the end by itself, so negative axes need no line of code.",
)
def check_02_13(judge: Judge, answer: Any) -> None:
    """A view with two axes exchanged, counted from either end."""
    for facts in TABLES:
        t, count = _table(facts), len(facts[0])
        pairs = [(), (0, 1), (-1, 0), (0, count - 1), (-2, -1), (1, 1)]
        for pair in pairs:
            axes = list(range(count))
            a, b = pair or (-2, -1)
            axes[a], axes[b] = axes[b], axes[a]
            got = judge.call(answer, t, *pair)
            wanted = [[which[axis] for axis in axes] for which in facts[:2]]
            _view(judge, got, t, wanted[0], wanted[1], facts[2])


@exercise(
    "02.14",
    "Contiguous",
    answer="contiguous",
    minutes=4,
    hints=(
        "A Tensor knows whether it is contiguous. If it is, there is nothing to do.",
        "Else its elements, row by row, go into a new Buffer, and a Tensor over that has the usual"
        " strides. Mind the dtype.",
        "`t if t.is_contiguous() else Tensor(Buffer(t.values(), t.buf.dtype), t.shape)`",
    ),
    why_ours="It gives t itself, not a copy of it: whoever needs a copy in any case has to ask"
    " for one.",
)
def check_02_14(judge: Judge, answer: Any) -> None:
    """t itself where it lies row by row, else a copy that does."""
    for facts in (*TABLES, ((4,), (-2,), 9), ((1, 3), (7, 1), 2), ((), (), 3), ((2, 3), (5, 1), 1)):
        for dtype in ("int32", "float64"):
            t = _table(facts, dtype)
            got = judge.call(answer, t)
            if t.is_contiguous():
                judge.that(got is t, "a copy, where t itself lies row by row already")
                continue
            judge.that(hasattr(got, "strides"), f"{what(got)}, and not a Tensor")
            judge.that(got.buf is not t.buf, "it stands in the same Buffer: nothing was copied")
            judge.equal(got.buf.dtype, dtype, given="the dtype of its Buffer")
            judge.equal(len(got.buf), t.numel(), given="how many numbers its Buffer has")
            facts_now = tuple(got.shape), tuple(got.strides), got.offset
            right = facts[0], strides_for(facts[0]), 0
            judge.equal(facts_now, right, given="(shape, strides, offset)")
            judge.equal(got.tolist(), t.tolist(), given="its elements")


@exercise(
    "02.15",
    "Reshape",
    answer="reshape",
    minutes=10,
    hints=(
        "Three steps: work out the -1; compare the numbers of elements, and raise ValueError; then"
        " give contiguous numbers the new shape, and the strides that belong to it.",
        "The -1 is `t.numel()` divided by the product of the others. If that leaves a rest, the"
        " numbers of elements differ, which the next step notices. Two of them cannot be worked"
        " out.",
        "`t = contiguous(t)`, and `t.over(sizes, strides_for(sizes), t.offset)`: the offset"
        " stays, as a contiguous tensor may begin in the middle of its Buffer.",
    ),
    why_ours="`contiguous` makes the copy if there has to be one, so there is one last line for"
    " both cases. The product of a shape with one -1 in it is minus the product of the others.",
)
def check_02_15(judge: Judge, answer: Any) -> None:
    """A view under the new shape where t is contiguous, else of a copy; ValueError if it cannot"
    " be."""
    for facts, shape, right in (
        (((2, 3), (3, 1), 0), (3, 2), (3, 2)),
        (((2, 3), (3, 1), 0), (6,), (6,)),
        (((2, 3), (3, 1), 4), [3, -1], (3, 2)),
        (((2, 3, 4), (12, 4, 1), 2), (-1, 6), (4, 6)),
        (((2, 3, 4), (12, 4, 1), 2), (2, -1, 2, 2), (2, 3, 2, 2)),
        (((), (), 5), (1, 1), (1, 1)),
        (((1,), (1,), 5), (), ()),
        (((6,), (1,), 24), (-1,), (6,)),
        (((3, 2), (1, 3), 0), (6,), (6,)),
        (((3, 2), (1, 3), 1), (2, -1), (2, 3)),
        (((4,), (-2,), 9), (2, 2), (2, 2)),
        (((3, 4), (0, 1), 7), (4, 3), (4, 3)),
    ):
        t = _table(facts)
        got = judge.call(answer, t, shape)
        judge.that(hasattr(got, "strides"), f"{what(got)}, and not a Tensor")
        if t.is_contiguous():
            _view(judge, got, t, right, strides_for(right), facts[2])
        else:
            judge.that(got.buf is not t.buf, "no copy, where these strides cannot walk that")
            judge.equal(tuple(got.shape), right, given="the shape")
            judge.equal(got.buf.dtype, "int32", given="the dtype")
        judge.equal(list(got.values()), list(t.values()), given="the elements, row by row")
    t = _table(((2, 3), (3, 1), 0))
    for wrong in ((4, 2), (5,), (), (2, 2), (4, -1), (-1, -1), (2, 3, 2)):
        judge.raises(ValueError, answer, t, wrong)
    judge.raises(ValueError, answer, t, (4, 2), match="2, 3")
    judge.raises(ValueError, answer, t, (4, 2), match="4, 2")
    one = _table(((1,), (1,), 5))
    judge.raises(ValueError, answer, one, (-1, -1))


# ---- 02.3 ----------------------------------------------------------------------------------------


@exercise(
    "02.3",
    "When two axes are one",
    answer="merge",
    minutes=12,
    hints=(
        "Call the sizes n and m, the strides s and t. From [0, m-1] to [1, 0] the long axis must"
        " make the same step t as everywhere else. Where does that bring you?",
        "After m steps of t you must be where one step of s brings you: s == m * t. The merged"
        " axis has the size n * m and the stride t. Then think of sizes of 1, where one of the"
        " strides is never used.",
        "If m is 1, the stride is s, whatever t is. If n is 1, it is t, whatever s is. Else it is"
        " t, and None unless s == m * t. What stands before and behind the two axes stays.",
    ),
    why_ours="Axes of size 1 come first: their strides are never used, and may be anything at all.",
)
def check_02_3(judge: Judge, answer: Any) -> None:
    """Shape and strides with two neighbouring axes as one, or None where that cannot be walked."""
    for shape, strides, axis in (
        ((2, 3), (3, 1), 0),
        ((2, 3), (4, 1), 0),
        ((3, 2), (1, 3), 0),
        ((2, 2, 3), (12, 6, 1), 0),
        ((2, 2, 3), (12, 6, 1), 1),
        ((4, 2, 3, 5), (30, 15, 5, 1), 1),
        ((4, 2, 3, 5), (30, 15, 5, 1), 2),
        ((4, 2, 3, 5), (60, 15, 5, 1), 0),
        ((2, 3), (6, 2), 0),
        ((2, 3), (-3, -1), 0),
        ((2, 3), (3, -1), 0),
        ((2, 3), (0, 0), 0),
        ((2, 3), (0, 1), 0),
        ((1, 3), (8, 1), 0),
        ((3, 1), (5, 77), 0),
        ((2, 3, 1), (50, 4, 9), 1),
    ):
        n, m = shape[axis : axis + 2]
        walk = positions((n, m), strides[axis : axis + 2])
        stride, expected = walk[1], None
        if walk == [k * stride for k in range(n * m)]:
            merged = (*shape[:axis], n * m, *shape[axis + 2 :])
            expected = merged, (*strides[:axis], stride, *strides[axis + 2 :])
        offset = -min(positions(shape, strides))
        judge.picture(drawing(shape, strides, offset, max(positions(shape, strides, offset)) + 1))
        got = judge.call(answer, shape, strides, axis)
        if expected is None:
            judge.equal(got, None)
        elif got is None:
            judge.fail({"got": "None: no stride can walk that", "expected": f"{expected}"})
        else:
            judge.close(got, expected, rtol=0, atol=0)


# ---- 02.4 ----------------------------------------------------------------------------------------

MAPS = (
    ((2, 3), (6, 2), 1),
    ((4,), (-3,), 10),
    ((3, 2), (0, 4), 2),
    ((2, 2, 2), (1, 2, 4), 3),
)


@exercise(
    "02.4",
    "Predict the map",
    answer="predicted",
    minutes=6,
    hints=(
        "Each number is its own position, so you need no memory, just the formula: offset, plus"
        " each index times its stride.",
        "Write the first element, which is the offset. The last axis is the innermost list: go on"
        " in steps of the last stride. Then begin the next list one step of the stride before.",
        "A stride of 0 reads the same again; a negative one walks back. The last one begins with"
        " [[3, 7], [5, 9]].",
    ),
)
def check_02_4(judge: Judge, answer: Any) -> None:
    """What four tensors over the numbers 0 to 11 hold, as nested lists."""
    if not isinstance(answer, dict):
        judge.fail({"got": short(answer), "expected": "the dict, with lists in place of the dots"})
    for facts in MAPS:
        shape, strides, offset = facts
        given = f"shape {shape}, strides {strides}, offset {offset}"
        judge.that(facts in answer, "it is missing in the dict", given=given)
        right = nested(positions(shape, strides, offset), shape)
        got = plain(answer[facts])
        if hint := first_wrong(got, right):
            judge.fail({"got": short(got), "first wrong": hint}, given)
        judge.close(got, right, given=given, rtol=0, atol=0)


def first_wrong(got: Any, right: Any, index: tuple[int, ...] = ()) -> str:
    """Where two nestings of one shape differ first, without saying what it should be."""
    if not isinstance(right, list):
        same = type(got) in (int, float) and got == right
        return "" if same else f"element {list(index)} is not {short(got, 60)}"
    if not isinstance(got, list | tuple) or len(got) != len(right):
        what = "numbers" if not isinstance(right[0], list) else "lists"
        return f"{list(index) if index else 'it'} is not a list of {len(right)} {what}"
    found = (
        first_wrong(g, r, (*index, i)) for i, (g, r) in enumerate(zip(got, right, strict=True))
    )
    return next(filter(None, found), "")


# ---- 02.5 ----------------------------------------------------------------------------------------


def added(a: Any, b: Any) -> Any:
    """a + b, element by element, row by row; a and b have the same shape."""
    count = a.numel()
    return [x + y for x, y in zip(a.buf.read(0, count), b.buf.read(0, count), strict=True)]


def reshaped(t: Any, shape: Any) -> Any:
    """The same numbers in the same order under another shape."""
    if math.prod(shape) != t.numel():
        raise ValueError(f"{t.numel()} numbers do not fit the shape {shape}")
    return t.over(shape, strides_for(shape), 0)


def element(t: Any, i: Any, j: Any) -> Any:
    """Element [i, j] of a table."""
    return t.buf[t.offset + i * t.strides[0] + j * t.strides[1]]


def _right_sum(a: Any, b: Any) -> Any:
    if a.shape != b.shape:
        raise ValueError(f"the shapes {a.shape} and {b.shape} differ, which nobody promised to add")
    return [x + y for x, y in zip(a.values(), b.values(), strict=True)]


def _right_element(t: Any, i: Any, j: Any) -> Any:
    if len(t.shape) != 2:
        raise ValueError(f"the shape {t.shape} is not that of a table: two axes are asked for")
    within = all(-n <= k < n for k, n in zip((i, j), t.shape, strict=True))
    return t.tolist()[i][j] if within else "an IndexError"


SUSPECTS = (
    ("added", added, _right_sum, 2),
    ("reshaped", reshaped, reshape, 2),
    ("element", element, _right_element, 3),
)


@exercise(
    "02.5",
    "The evidence",
    answer="evidence",
    minutes=10,
    hints=(
        "Which of the facts, shape, strides and offset, does each function never look at? Take a"
        " tensor for which that very fact is not the usual one.",
        "`added` and `reshaped` never look at the strides: a transpose should trouble them."
        " `element` never looks at the shape.",
        "With `a = Tensor([[1, 2], [3, 4]])`: `(a, transpose(a))` for the first. `(transpose(a),"
        " (4,))` for the second. For the third, a column that a does not have, in a row that is not"
        " the last.",
    ),
)
def check_02_5(judge: Judge, answer: Any) -> None:
    """For each of three functions, the arguments of a call that gives something wrong."""
    if not isinstance(answer, dict):
        judge.fail({"got": short(answer), "expected": "the dict, with tuples of arguments"})
    for name, suspect, right, count in SUSPECTS:
        judge.called, given = "", f"evidence[{name!r}]"
        judge.picture(None)
        judge.that(name in answer, "it is missing in the dict", given=given)
        args = answer[name]
        good = isinstance(args, tuple | list) and len(args) == count
        judge.that(good, f"{short(args)}, not a tuple of {count} arguments", given=given)
        tensors = [arg for arg in args if hasattr(arg, "strides")]
        judge.that(tensors, "no Tensor is among the arguments", given=given)
        ours = all(hasattr(tensor, "values") for tensor in tensors)
        judge.that(ours, "a Tensor of the library; take one of this chapter's class", given=given)
        if name == "reshaped":
            words = f"{short(args[1], 60)} is not a shape, which is a tuple: (4,) or (2, 2)"
            judge.that(isinstance(args[1], tuple | list), words, given=given)
        judge.picture(viz.explain(tensors[-1]))
        judge.called = f"{name}({', '.join(map(repr, args))})"
        try:
            expected = plain(right(*args))
        except Exception as error:
            judge.fail({"found": f"{error}", "to do": "ask for something that it has promised"})
        try:
            got = plain(suspect(*args))
        except Exception as error:
            rows = {"raised": f"{type(error).__name__}: {error}"}
            judge.fail(rows | {"to do": "find a call that goes wrong and says nothing"})
        judge.that(got != expected, f"{got!r}, which is right: it gets away with this one")


# ---- 02.6 ----------------------------------------------------------------------------------------

WANTED = {
    "the last column: [3, 7, 11]": [3, 7, 11],
    "upside down: [[8, 9, 10, 11], [4, 5, 6, 7], [0, 1, 2, 3]]": [
        [8, 9, 10, 11], [4, 5, 6, 7], [0, 1, 2, 3],
    ],
    "the diagonal: [0, 5, 10]": [0, 5, 10],
    "left and right half: [[[0, 1], [4, 5], [8, 9]], [[2, 3], [6, 7], [10, 11]]]": [
        [[0, 1], [4, 5], [8, 9]], [[2, 3], [6, 7], [10, 11]],
    ],
    "windows of three: [[0, 1, 2], [1, 2, 3], [2, 3, 4]]": [[0, 1, 2], [1, 2, 3], [2, 3, 4]],
}  # fmt: skip


@exercise(
    "02.6",
    "Views by hand",
    answer="facts",
    minutes=10,
    hints=(
        "The shape is that of the lists. The offset is the first number in them. For the stride of"
        " an axis, take two neighbours along it and subtract.",
        "Numbers that are neighbours along the last axis stand next to each other in the innermost"
        " list. For the axis before, compare the first numbers of two such lists; and so on"
        " outwards.",
        "The diagonal steps over a row and one more. Upside down begins at 8 and steps by -4. In"
        " the halves, the second begins 2 further than the first. Windows may overlap: 1 further.",
    ),
)
def check_02_6(judge: Judge, answer: Any) -> None:
    """Shape, strides and offset of five views of the numbers 0 to 11."""
    if not isinstance(answer, dict):
        judge.fail({"got": short(answer), "expected": "the dict, with facts in place of the dots"})
    for name, expected in WANTED.items():
        given = name.partition(":")[0]
        judge.picture(None)
        judge.that(name in answer, "it is missing in the dict", given=given)
        got = answer[name]
        good = isinstance(got, tuple) and len(got) == 3 and type(got[2]) is int
        good = good and whole(got[0]) and whole(got[1]) and min(got[0], default=1) > 0
        judge.that(
            good, f"{got!r} is not (shape, strides, offset), as ((2,), (1,), 0)", given=given
        )
        shape, strides, offset = got
        same = len(shape) == len(strides)
        judge.that(same, f"shape {shape} and strides {strides}: one stride per axis", given=given)
        judge.that(math.prod(shape) <= 100, f"shape {shape} has too many elements", given=given)
        judge.picture(drawing(shape, strides, offset, 12))
        walk = positions(shape, strides, offset)
        outside = [p for p in walk if not 0 <= p < 12]
        judge.that(
            not outside,
            f"{got} reads position {[*outside, 0][0]}, and there are 0 to 11",
            given=given,
        )
        judge.equal(nested(walk, shape), expected, given=f"{given}, by {got}")


# ---- the challenges ------------------------------------------------------------------------------

VIEWS: tuple[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]], ...] = (
    ((6,), (1,), (2, 3)),
    ((2, 3), (3, 1), (6,)),
    ((2, 3), (3, 1), (3, 2)),
    ((3, 2), (1, 3), (6,)),
    ((4, 3), (6, 1), (2, 2, 3)),
    ((4, 3), (6, 1), (4, 3, 1)),
    ((4, 3), (6, 1), (2, 6)),
    ((4, 6), (-6, -1), (24,)),
    ((4, 6), (-6, 1), (2, 2, 6)),
    ((4, 6), (-6, 1), (24,)),
    ((3, 4), (0, 1), (3, 2, 2)),
    ((3, 4), (0, 1), (12,)),
    ((3, 4), (0, 0), (2, 6)),
    ((1, 6), (9, 2), (3, 2)),
    ((2, 1, 3), (3, 50, 1), (6,)),
    ((2, 3, 4), (24, 4, 1), (2, 12)),
    ((2, 3, 4), (24, 4, 1), (6, 4)),
    ((2, 3, 4), (24, 8, 2), (24,)),
    ((8, 2), (4, 1), (2, 4, 2)),
    ((8, 2), (4, 1), (4, 4)),
    ((6, 4), (8, 1), (4, 6)),
    ((), (), (1, 1)),
    ((1, 1), (5, 7), ()),
    ((5,), (3,), (5,)),
)


@exercise(
    "02.s1",
    "A view, if there is one",
    answer="view_strides",
    minutes=20,
    hints=(
        "Reshaping is merging and splitting. First merge all neighbours that can be merged, as in"
        " 02.3, and leave axes of size 1 out. What is left are runs that one stride can walk.",
        "Now go through the new shape from the right. Its sizes must be cut out of the runs,"
        " from the last run on: a run of 12 can be cut into 4 and 3, and a new axis must not"
        " need two runs.",
        "Take the last run off, with its stride. If the new size does not divide it, there is no"
        " view. Else note the stride, and put back what is left: size // new, stride * new.",
    ),
    without=("tutor", "positions", "reshape_strides"),
    why_ours="After merging, two runs can never be walked by one stride, so a new axis that"
    " would need both has none. Each run is cut from the right, where its stride is known.",
)
def check_02_s1(judge: Judge, answer: Any) -> None:
    """Strides for the new shape that walk the same elements in the same order, or None."""
    cases = list(VIEWS)
    rng = random.Random(21)
    for _ in range(60):
        sizes = [rng.choice((1, 2, 2, 3, 4)) for _ in range(rng.randint(1, 4))]
        step = rng.choice((-1, 1, 2))
        strides: list[int] = []
        for size in reversed(sizes):
            strides.insert(0, step)
            step *= size if rng.random() < 0.75 else size + 1
        new = rng.choice([list(p) for p in itertools.permutations(sizes)] + [[math.prod(sizes)]])
        if rng.random() < 0.5 and len(new) > 1:
            new[0:2] = [new[0] * new[1]]
        cases.append((tuple(sizes), tuple(strides), tuple(new)))
    for shape, old, wanted in cases:
        walk = positions(shape, old)
        steps = [math.prod(wanted[axis + 1 :]) for axis in range(len(wanted))]
        right = tuple(walk[s] - walk[0] if n > 1 else 0 for n, s in zip(wanted, steps, strict=True))
        good = positions(wanted, right) == walk
        got = judge.call(answer, shape, old, wanted)
        if not good:
            judge.equal(got, None)
            continue
        fits = whole(got) and len(got) == len(wanted)
        judge.that(fits, f"{short(got)}, and {right} would walk it")
        same = positions(wanted, got) == walk
        judge.that(same, f"{got}, which walk {short(positions(wanted, got), 60)}, not"
                   f" {short(walk, 60)}")  # fmt: skip
    large = (10**6, 10**6), (10**6, 1), (10**3, 10**9)
    judge.equal(judge.call(answer, *large), (10**9, 1))
    judge.equal(judge.call(answer, (10**6, 10**6), (1, 10**6), (10**12,)), None)


@exercise(
    "02.s2",
    "Facts for anything",
    answer="facts_of",
    minutes=15,
    hints=(
        "If there are facts, the offset is the first position, and each stride is the distance"
        " of two neighbours along its axis. Work these out, and then see whether they are right.",
        "`flatten` gives the positions in a row. Along axis a, the neighbour of the first one is"
        " the product of all sizes behind a further on in that row.",
        "Walk the facts that you found with `positions`, and compare with the row: it is the"
        " same, or there are none. Ragged lists have none either.",
    ),
    why_ours="Finding the only facts that could be right is easy, and so is trying them. That they"
    " have to be tried is the point: two neighbours say nothing about the third.",
)
def check_02_s2(judge: Judge, answer: Any) -> None:
    """Shape, strides and offset that read these positions, or None."""
    rng = random.Random(22)
    for facts in (*WALKS, *far(2), *far(3)):
        walk = positions(*facts)
        low = min(walk)
        facts = (facts[0], facts[1], facts[2] - min(low, 0))
        walk = positions(*facts)
        table = nested(walk, facts[0])
        got = judge.call(answer, table)
        three = isinstance(got, tuple | list) and len(got) == 3
        judge.that(three, f"{short(got, 80)}, and {facts} would read that")
        shape, strides, offset = tuple(got[0]), tuple(got[1]), got[2]
        judge.equal(shape, facts[0], given="the shape")
        judge.that(len(strides) == len(shape), f"strides {strides} for the shape {shape}")
        judge.equal(positions(shape, strides, offset), walk, given=f"what {got} reads")
        if len(walk) > 2:
            broken = list(walk)
            broken[rng.randrange(2, len(walk))] += 1
            if len(facts[0]) == 1 and len(walk) > 2:
                judge.equal(judge.call(answer, nested(broken, facts[0])), None)
    for table in (
        [0, 1, 3],
        [[0, 1], [2, 4]],
        [[0, 1], [2]],
        [[1, 2, 3], [4, 5, 7]],
        [[[0, 1]], [[1, 3]]],
        [0, 1, 2, 4, 3],
        [[0, 1, 2], [3, 5, 4]],
    ):
        judge.equal(judge.call(answer, table), None)


# ---- the end box ---------------------------------------------------------------------------------

question(
    "02.q1",
    "Shape (3, 4), strides (4, 1), offset 5. At which position is [2, 3]?",
    right=16,
    why="5 + 2 * 4 + 3 * 1",
    tempting={
        11: "the offset has to be added: the tensor does not begin at 0",
        19: "the strides are exchanged: a step down is 4, a step to the right is 1",
        17: "that is one too far: indices begin at 0",
        12: "that is how many elements there are; the question is where one of them stands",
    },
)
question(
    "02.q2",
    "t has the shape (4, 5, 6) and lies row by row. What are the strides of transpose(t, 0, 2)?",
    right=(1, 6, 30),
    why="t has (30, 6, 1), and the first and the last are exchanged",
    tempting={
        (30, 6, 1): "those are the strides of t; two of them change places",
        (20, 4, 1): "that would be a copy that lies row by row; but no number moves",
        (6, 30, 1): "the axes 0 and 2 are exchanged, and this exchanges 0 and 1",
        (30, 1, 6): "the axes 0 and 2 are exchanged, and this exchanges 1 and 2",
    },
)
question(
    "02.q3",
    "x: float32, contiguous, (1000, 1000). How many bytes does contiguous(transpose(x)) copy?",
    right=4_000_000,
    why="all of a million numbers, 4 bytes each",
    tempting={
        0: "the transpose alone copies nothing; but it is not contiguous, and that was asked for",
        1_000_000: "those are the numbers; each of them is 4 bytes",
        8_000_000: "a float32 has 4 bytes; 8 would be float64",
    },
)
question(
    "02.q4",
    "And transpose(contiguous(transpose(transpose(x))))?",
    right=0,
    why="exchanged twice, the strides are what they were: contiguous has nothing to do",
    tempting={
        4_000_000: "look at what contiguous is given: transposed twice, x lies row by row again",
        12_000_000: "no transpose ever copies, and contiguous only where there is need",
        8_000_000: "no transpose ever copies, and contiguous only where there is need",
    },
)
question(
    "02.q5",
    "view size is not compatible with input tensor's size and stride. What has happened?",
    choices={
        "a": "the number of elements does not fit the new shape",
        "b": "the elements fit, but no strides walk them in that order",
        "c": "the tensor is too large for a view",
    },
    right="b",
    why="reshape would copy; so does contiguous().view(...), and both are the right thing to do",
    tempting={
        "a": "that is another message, about an invalid shape; here the counts agree",
        "c": "a view costs the same few bytes whatever its size",
    },
)
