"""Chapter 2, shape, strides, offset: six exercises, five questions, three functions with bugs."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace
from typing import Any

from course.built.ch02 import Buffer, reshape, strides_for
from course.compare import plain, short
from course.exercise import Judge, exercise, question
from tutor import viz


def positions(shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> list[int]:
    """Where the elements stand, row by row, by the definition."""
    indices = itertools.product(*map(range, shape))
    return [offset + sum(i * s for i, s in zip(index, strides, strict=True)) for index in indices]


def nested(items: list[Any], shape: tuple[int, ...]) -> Any:
    """The items, row by row, as nested lists of this shape."""
    if not shape:
        return items[0]
    size = len(items) // shape[0]
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
    answer="my_strides",
    minutes=8,
    hints=(
        "For (2, 3, 4): one step along the last axis is 1. Along the middle one it is a whole row,"
        " 4 numbers. Along the first one it is a whole table, 3 rows of 4.",
        "So each stride is the product of all sizes that stand behind its axis. Going from right to"
        " left, one product is enough: it grows as you go.",
        "`step = 1`; for each size in `reversed(shape)`: note down `step`, then `step *= size`."
        " What was noted is in the wrong order: reverse it, and make a tuple of it.",
    ),
)
def check_02_1(judge: Judge, answer: Any) -> None:
    """The strides of numbers that lie row by row, for shapes of no axis to six."""
    for shape in ((2, 3), (3, 2), (2, 3, 4), (3, 1, 2), (5,), (1,), (), (2, 1, 3, 2, 1, 2)):
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
    minutes=10,
    hints=(
        "There is only one choice of strides that walks row by row without gaps, and you have"
        " written the function that gives it. But there is an exception.",
        "An axis of size 1 has the index 0 and no other, so its stride is multiplied by 0. Compare"
        " the strides of all other axes.",
        "`for size, stride, wanted in zip(shape, strides, strides_for(shape))`: if `size != 1` and"
        " `stride != wanted`, it is not row by row.",
    ),
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


# ---- 02.3 ----------------------------------------------------------------------------------------


@exercise(
    "02.3",
    "When two axes are one",
    answer="merge",
    minutes=15,
    hints=(
        "Call the sizes n and m, the strides s and t. From [0, m-1] to [1, 0] the long axis must"
        " make the same step t as everywhere else. Where does that bring you?",
        "After m steps of t you must be where one step of s brings you: s == m * t. The merged"
        " axis has the size n * m and the stride t. Then think of sizes of 1, where one of the"
        " strides is never used.",
        "If m is 1, the stride is s, whatever t is. If n is 1, it is t, whatever s is. Else it is"
        " t, and None unless s == m * t. What stands before and behind the two axes stays.",
    ),
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
    minutes=8,
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
    minutes=12,
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
    minutes=12,
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


# ---- the end box ---------------------------------------------------------------------------------

question(
    "02.q1",
    "Shape (3, 4), strides (4, 1), offset 5. At which position is [2, 3]?",
    right=16,
    why="5 + 2 * 4 + 3 * 1",
)
question(
    "02.q2",
    "t has the shape (4, 5, 6) and lies row by row. What are the strides of transpose(t, 0, 2)?",
    right=(1, 6, 30),
    why="t has (30, 6, 1), and the first and the last are exchanged",
)
question(
    "02.q3",
    "x: float32, contiguous, (1000, 1000). How many bytes does contiguous(transpose(x)) copy?",
    right=4_000_000,
    why="all of a million numbers, 4 bytes each",
)
question(
    "02.q4",
    "And transpose(contiguous(transpose(transpose(x))))?",
    right=0,
    why="exchanged twice, the strides are what they were: contiguous has nothing to do",
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
)
