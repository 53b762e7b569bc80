"""Chapter 10, convolution: eleven exercises, two challenges, five questions."""

from __future__ import annotations

import contextlib
import itertools
import math
import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from course.compare import kind
from course.exercise import Judge, exercise, question
from course.exercises.ch07 import are_scores, is_tensor, needs_tensor, order_kept
from course.exercises.ch09 import is_quick
from course.library import theirs_or_ours
from course.turns import Steps, formed, in_forms, take_turns
from tutor import data
from tutor.backends import registry

Rows = list[list[float]]
Nested = list[Any]
Shape = tuple[int, ...]

LIMIT = 30_000  # numbers that a reader may be made of
GOAL = 0.99  # the share that it has to read right


own = partial(theirs_or_ours, chapter=10)


def filled(answer: Any, shape: Shape, seed: int, dtype: str = "float64") -> Any:
    """A tensor of random numbers, quarters from -4 to 4, which float32 holds exactly."""
    t = own(answer, "zeros")(shape, dtype)
    draw = random.Random(seed)
    t.fill([draw.randint(-16, 16) / 4 for _ in range(math.prod(shape))])
    return formed(t)


def bytes_like(answer: Any, shape: Shape, seed: int) -> Any:
    t = own(answer, "zeros")(shape, "uint8")
    draw = random.Random(seed)
    t.fill([draw.randint(0, 255) for _ in range(math.prod(shape))])
    return t


def watched(t: Any) -> Any:
    t.requires_grad = True
    return t


def shaped(judge: Judge, got: Any, shape: Shape, given: str) -> None:
    """It must be a tensor of this shape."""
    needs_tensor(judge, got)
    judge.equal(tuple(got.shape), shape, given=f"the shape, {given}")


def gradient_of(judge: Judge, z: Any, mix: Any, x: Any, given: str) -> Any:
    """The gradient of x for the sum of z times mix."""
    found = "the result leads back to no input: it is not recorded"
    judge.that(z.requires_grad, found, given=given)
    judge.run((z * mix).sum().backward)
    judge.that(x.grad is not None, "backward left no gradient in the input", given=given)
    judge.equal(tuple(x.grad.shape), tuple(x.shape), given=f"the shape of the gradient, {given}")
    return x.grad


# ---- a border ------------------------------------------------------------------------------------


def bordered(x: Nested, border: int, axes: int) -> Nested:
    """Nested lists with zeros around their last two axes."""
    if axes > 2:
        return [bordered(part, border, axes - 1) for part in x]
    wide = len(x[0]) + 2 * border
    empty = [[0] * wide for _ in range(border)]
    inside = [[0] * border + row + [0] * border for row in x]
    return [*empty, *inside, *[list(row) for row in empty]]


@exercise(
    "10.1",
    "A border",
    answer="Pad",
    minutes=10,
    without=("tutor", "Overlap", "pad"),
    hints=(
        "Make the larger tensor of zeros first. Which part of it, as a view, has to be like x?",
        "select(out, (..., slice(border, border + h), slice(border, border + w))) is that view, "
        "and lookup('cast', dtype)(view, x) copies. A number of the border comes from nowhere, so "
        "its gradient goes nowhere.",
        "forward: out = zeros((*others, h + 2 * border, w + 2 * border), x.buf.dtype), and the "
        "copy into the view. backward: the same part of g, as a tuple with one thing in it.",
    ),
    why_ours="Forward and backward name the same part of the larger tensor. Where forward writes "
    "into it, backward reads from it; the border has no gradient to give.",
)
def check_10_1(judge: Judge, op: Any) -> None:
    """Pad(x, border=k).apply() is x with k zeros around its last two axes, in the dtype of x; its
    gradient is the inner part of what arrives."""
    cases: list[tuple[Shape, int, str]] = [
        ((1, 2), 1, "float64"), ((3, 4), 2, "float64"), ((2, 3, 2), 1, "float32"),
        ((2, 1, 3, 5), 3, "float64"), ((2, 2, 4, 1), 1, "uint8"),
    ]  # fmt: skip
    for shape, border, dtype in cases:
        make = bytes_like if dtype == "uint8" else partial(filled, dtype=dtype)
        x = make(op, shape, seed=border + len(shape))
        numbers, given = x.tolist(), f"shape {shape} of {dtype}, border={border}"
        z = judge.run(partial(padded, op, x, border))
        shaped(judge, z, (*shape[:-2], shape[-2] + 2 * border, shape[-1] + 2 * border), given)
        judge.close(z.tolist(), bordered(numbers, border, len(shape)), given=given)
        judge.equal(z.buf.dtype, dtype, given=f"the dtype, {given}")
        judge.equal(x.tolist(), numbers, given=f"x, afterwards, {given}")
    turned = filled(op, (3, 2), 5)
    view = turned.over((2, 3), (1, 2), 0)
    z = judge.run(partial(padded, op, view, 1))
    judge.close(z.tolist(), bordered(view.tolist(), 1, 2), given="a view, columns for rows")
    take_turns(*[_padded_back(judge, op, *case) for case in (((2, 3), 1), ((2, 1, 3, 4), 2))])
    x, z = watched(filled(op, (2, 2), 8)), None
    with contextlib.suppress(Exception):  # nobody asks for a border of 0, but `Conv2d` may
        z = padded(op, x, 0)
    found = "it is x itself: give a tensor of its own, which can remember how it was made"
    judge.that(z is not x, found, given="border=0")
    big = bytes_like(op, (60, 1, 28, 28), 3)
    with kernels_counted(op) as calls:
        judge.run(partial(padded, op, big, 2))
    judge.that(calls[0], "no kernel was called: the numbers went through Python, one by one")


def _padded_back(judge: Judge, op: Any, shape: Shape, border: int) -> Steps:
    """One Pad, forward and back; between them comes another."""
    x, given = watched(filled(op, shape, 8)), f"the gradient, shape {shape}, border={border}"
    z = judge.run(partial(padded, op, x, border))
    yield
    mix = filled(op, tuple(z.shape), 9)
    got = gradient_of(judge, z, mix, x, given)
    h, w = shape[-2:]
    inner = mix[..., border : border + h, border : border + w]
    judge.close(got.tolist(), inner.tolist(), given=given)


def padded(op: Any, x: Any, border: int) -> Any:
    return op(x, border=border).apply()


@contextmanager
def kernels_counted(answer: Any) -> Iterator[list[int]]:
    """How often a kernel of the learner's registry is called within the block."""
    table, calls = own(answer, "KERNELS"), [0]
    before = dict(table)

    def heard(kernel: Any) -> Any:
        def call(*tensors: Any, **params: Any) -> Any:
            calls[0] += 1
            return kernel(*tensors, **params)

        return call

    try:
        for key, kernel in before.items():
            table[key] = heard(kernel)
        yield calls
    finally:
        table.update(before)


# ---- by loops ------------------------------------------------------------------------------------


def convolved(picture: Rows, weights: Rows) -> Rows:
    size = len(weights)
    return [
        [
            math.fsum(
                picture[top + i][left + j] * weights[i][j] for i in range(size) for j in range(size)
            )
            for left in range(len(picture[0]) - size + 1)
        ]
        for top in range(len(picture) - size + 1)
    ]


@exercise(
    "10.2",
    "By loops",
    answer="filtered",
    minutes=7,
    without=("tutor",),
    hints=(
        "Two loops go over the places, and for each of them two loops go over the weights.",
        "With size = len(weights) the windows begin at rows 0 to len(picture) - size, and so do "
        "the columns. How many are these?",
        "The answer at (top, left) is the sum of picture[top + i][left + j] * weights[i][j] over "
        "all i and j below size; range(len(picture) - size + 1) gives the tops.",
    ),
    why_ours="Four loops, as in the formula. It is the slowest way that there is, and the one that "
    "everything else can be compared with.",
)
def check_10_2(judge: Judge, filtered: Any) -> None:
    """filtered(picture, weights) has at [y][x] the sum of the products of the weights with the
    window whose upper left corner is at row y, column x."""
    draw = random.Random(1)
    for high, wide, size in ((3, 3, 3), (4, 4, 2), (3, 5, 2), (6, 4, 3), (2, 3, 1), (7, 8, 5)):
        picture = [[float(draw.randint(-9, 9)) for _ in range(wide)] for _ in range(high)]
        weights = [[draw.randint(-8, 8) / 4 for _ in range(size)] for _ in range(size)]
        given = f"a picture of {high} x {wide}, weights {size} x {size}"
        got = judge.call(filtered, picture, weights, given=given)
        judge.that(isinstance(got, list), f"it gives {kind(got)}; nested lists are asked for")
        turned = [row[::-1] for row in weights[::-1]]
        mistakes = {
            "the filter turned by half a turn: it is laid on as it is": convolved(picture, turned),
            "rows and columns of the filter exchanged": convolved(
                picture, [list(column) for column in zip(*weights, strict=True)]
            ),
            "the last row and the last column of places are missing": [
                row[:-1] for row in convolved(picture, weights)[:-1]
            ],
        }
        judge.close(got, convolved(picture, weights), given=given, mistakes=mistakes)


# ---- windows -------------------------------------------------------------------------------------


def window_lists(x: Nested, size: int, step: int) -> Nested:
    """All windows of nested lists (n, c, h, w)."""
    return [
        [
            [
                [
                    [row[left : left + size] for row in channel[top : top + size]]
                    for left in range(0, len(channel[0]) - size + 1, step)
                ]
                for top in range(0, len(channel) - size + 1, step)
            ]
            for channel in picture
        ]
        for picture in x
    ]


def window_cases(answer: Any) -> list[tuple[str, Any, int, int]]:
    """Tensors (n, c, h, w), among them views, with the size of a window and the step."""
    plain = filled(answer, (2, 3, 6, 5), 1)
    base = filled(answer, (2, 7, 6, 3), 2)
    turned = base.over((2, 3, 6, 7), (126, 1, 3, 18), 0)
    inside = base.over((2, 3, 4, 3), (126, 1, 18, 3), 18 + 3)
    upside = plain.over((2, 3, 6, 5), (90, 30, -5, 1), 25)
    return [
        ("one picture of 3 x 3", filled(answer, (1, 1, 3, 3), 3), 2, 1),
        ("2 pictures of 3 channels, 6 x 5", plain, 3, 1),
        ("windows side by side", plain, 2, 2),
        ("a step larger than the window", plain, 2, 3),
        ("a window as large as the picture", filled(answer, (2, 1, 4, 4), 4), 4, 1),
        ("windows of one pixel", filled(answer, (1, 2, 3, 2), 5), 1, 1),
        ("a view: channels last in memory, rows for columns", turned, 3, 2),
        ("a view of the inner part of a picture", inside, 2, 1),
        ("a view, upside down", upside, 3, 1),
    ]


@exercise(
    "10.3",
    "Windows of pictures",
    answer="slide",
    minutes=10,
    without=("tutor", "windows", "Windows"),
    hints=(
        "Six axes need six strides. How far is it in memory from one window to the one below, and "
        "from one row in a window to the next?",
        "The two strides in the window are those of the picture's rows and columns; from window "
        "to window it is `step` times as far. How many windows begin between 0 and h - size?",
        "t.over(shape, strides, t.offset), where shape is (n, c, (h - size) // step + 1, (w - "
        "size) // step + 1, size, size), and strides are t's four, the last two of them times "
        "step, and then those two again.",
    ),
    why_ours="The same two strides stand in it twice: once for where the window begins, times the "
    "step, and once for the places within it. Nothing else is needed.",
)
def check_10_3(judge: Judge, slide: Any) -> None:
    """slide(t, size, step) is a view of t's memory, (n, c, h', w', size, size), with the window
    whose upper left corner is at row y * step, column x * step at [i, k, y, x]; ValueError where
    no window fits."""
    for given, t, size, step in window_cases(slide):
        about = f"{given}, size={size}, step={step}"
        if step == 1:
            got = judge.call(slide, t, size, given=about)
        else:
            got = judge.call(slide, t, size, step, given=about)
        expected = window_lists(t.tolist(), size, step)
        high, wide = len(expected[0][0]), len(expected[0][0][0])
        shaped(judge, got, (*t.shape[:2], high, wide, size, size), about)
        judge.equal(got.tolist(), expected, given=about)
        found = "it is no view: its numbers are in a memory of their own"
        judge.that(got.buf is t.buf, found, given=about)
    for shape, size in (((1, 1, 3, 4), 4), ((2, 1, 5, 2), 3)):
        small = filled(slide, shape, 6)
        given = f"pictures of {shape[2]} x {shape[3]}, windows of {size} x {size}"
        judge.raises(ValueError, slide, small, size, given=given)


# ---- a copy by a kernel --------------------------------------------------------------------------


@exercise(
    "10.4",
    "A copy by a kernel",
    answer="contiguous",
    minutes=5,
    without=("tutor", "reshape"),
    hints=(
        "Three things: ask whether anything has to be done, make room, and let a kernel fill it.",
        "zeros(t.shape, dtype) is the room, in order. A kernel walks what it reads by its strides.",
        "If t.is_contiguous(), return t. Else out = zeros(t.shape, t.buf.dtype), and "
        "lookup('cast', t.buf.dtype)(out, t).",
    ),
    why_ours="The kernel sees shape and strides of both, and goes through them in the same order. "
    "That is the whole copy, for any view and any dtype.",
)
def check_10_4(judge: Judge, contiguous: Any) -> None:
    """contiguous(t) is t itself where its numbers lie row by row, else a copy of the same dtype for
    which they do, made by a kernel."""
    Tensor = own(contiguous, "Tensor")
    for t in (Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([5.0]), filled(contiguous, (2, 3, 1), 1)):
        got = judge.call(contiguous, t, given=f"shape {t.shape}, row by row already")
        judge.that(got is t, "its numbers lie row by row already, and it is not t itself")
    row = Tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    rest = row.over((2, 2), (2, 1), 2)
    got = judge.call(contiguous, rest, given="the last 4 of 6 numbers, in order")
    judge.that(got is rest, "its numbers lie row by row already, and it is not t itself")
    for dtype in ("float32", "float64", "uint8", "int64", "bool"):
        base = own(contiguous, "zeros")((2, 3, 4), dtype)
        draw, high = random.Random(3), 1 if dtype == "bool" else 200
        base.fill([draw.randint(0, high) for _ in range(24)])
        for given, shape, strides, offset in (
            ("rows and columns exchanged", (2, 4, 3), (12, 1, 4), 0),
            ("the inner columns", (2, 3, 2), (12, 4, 1), 1),
            ("every second column, backward", (2, 3, 2), (12, 4, -2), 3),
            ("a row read again and again", (3, 4), (0, 1), 8),
            ("windows", (2, 2, 3, 2, 2), (12, 4, 1, 4, 1), 0),
        ):
            t, about = base.over(shape, strides, offset), f"{given}, of {dtype}"
            numbers = t.tolist()
            with kernels_counted(contiguous) as calls:
                got = judge.call(contiguous, t, given=about, again=False)
            shaped(judge, got, shape, about)
            judge.equal(got.tolist(), numbers, given=about)
            judge.equal(got.buf.dtype, dtype, given=f"the dtype, {about}")
            judge.that(got.is_contiguous(), "the numbers do not lie row by row", given=about)
            judge.that(got.buf is not t.buf, "it has the memory of t", given=about)
            found = "no kernel was called: the numbers went through Python, one by one"
            judge.that(calls[0], found, given=about)


# ---- back from the windows -----------------------------------------------------------------------


def overlapped(x: Nested, shape: Shape, step: int) -> Nested:
    """Every number of the windows, added where it came from."""
    n, c, h, w = shape
    out = [[[[0.0] * w for _ in range(h)] for _ in range(c)] for _ in range(n)]
    for i, k in itertools.product(range(n), range(c)):
        for y, row in enumerate(x[i][k]):
            for left, window in enumerate(row):
                for p, q in itertools.product(range(len(window)), range(len(window))):
                    out[i][k][y * step + p][left * step + q] += window[p][q]
    return out


def lapped(op: Any, x: Any, shape: Shape, size: int, step: int) -> Any:
    return op(x, shape=shape, size=size, step=step).apply()


@exercise(
    "10.5",
    "Back from the windows",
    answer="Overlap",
    minutes=12,
    without=("tutor",),
    hints=(
        "slide(out, size, step) is a view of `out` in which every number of x has its place. But "
        "add to a part of it only in which no pixel stands twice.",
        "That part is the view at one position (i, j) of all windows: places[..., i, j]. x has "
        "the numbers that belong there at x[..., i, j].",
        "With out = zeros(shape, dtype) and places = slide(out, size, step), call "
        "add_(places[..., i, j], x[..., i, j]) for all i and j below size; the result is out.",
    ),
    why_ours="25 calls of a kernel for windows of 5 x 5, however many pictures there are. All of "
    "them write into views of one `out`.",
)
def check_10_5(judge: Judge, op: Any) -> None:
    """Overlap(x, shape=, size=, step=).apply() adds every number of the windows x to the place
    in zeros of that shape that it came from."""
    cases: list[tuple[Shape, int, int]] = [
        ((1, 1, 2, 2), 1, 1), ((1, 1, 3, 3), 2, 1), ((2, 3, 5, 4), 3, 1), ((2, 1, 6, 4), 2, 2),
        ((1, 2, 5, 7), 2, 2), ((1, 1, 7, 7), 5, 1), ((2, 1, 8, 5), 3, 2),
    ]  # fmt: skip
    for shape, size, step in cases:
        n, c, h, w = shape
        windows = (n, c, (h - size) // step + 1, (w - size) // step + 1, size, size)
        x = filled(op, windows, size + h)
        numbers, given = x.tolist(), f"windows {windows}, step={step}, into {shape}"
        got = judge.run(partial(lapped, op, x, shape, size, step))
        shaped(judge, got, shape, given)
        judge.close(got.tolist(), overlapped(numbers, shape, step), given=given)
        judge.equal(x.tolist(), numbers, given=f"x, afterwards, {given}")
        judge.equal(got.buf.dtype, "float64", given=f"the dtype, {given}")
    view = filled(op, (2, 3, 3, 2, 2, 1), 7).over((1, 2, 3, 2, 2, 2), (0, 36, 2, 6, 12, 1), 0)
    got = judge.run(partial(lapped, op, view, (1, 2, 4, 3), 2, 1))
    judge.close(got.tolist(), overlapped(view.tolist(), (1, 2, 4, 3), 1), given="x is a view")
    x = watched(filled(op, (1, 2, 3, 2, 2, 2), 4))
    z = judge.run(partial(lapped, op, x, (1, 2, 4, 3), 2, 1))
    mix = filled(op, (1, 2, 4, 3), 5)
    got = gradient_of(judge, z, mix, x, "the gradient of x")
    judge.close(got.tolist(), window_lists(mix.tolist(), 2, 1), given="the gradient of x")


# ---- the layer -----------------------------------------------------------------------------------


def convolution(x: Nested, w: Rows, b: list[float], size: int, padding: int) -> Nested:
    """The seven loops: pictures, filters, rows, columns, channels, and the window's two."""
    x = bordered(x, padding, 4)
    outputs, channels = len(b), len(x[0])
    high, wide = len(x[0][0]) - size + 1, len(x[0][0][0]) - size + 1
    result = []
    for picture in x:
        maps = []
        for o in range(outputs):
            found = [[b[o]] * wide for _ in range(high)]
            for top, left in itertools.product(range(high), range(wide)):
                for k, i, j in itertools.product(range(channels), range(size), range(size)):
                    weight = w[(k * size + i) * size + j][o]
                    found[top][left] += picture[k][top + i][left + j] * weight
            maps.append(found)
        result.append(maps)
    return result


def gradients(
    x: Nested, w: Rows, g: Nested, size: int, padding: int
) -> tuple[Rows, list[float], Nested]:
    """Those of w, b and x, by loops."""
    wide_x = bordered(x, padding, 4)
    channels, outputs = len(x[0]), len(w[0])
    gw, gb = [[0.0] * outputs for _ in w], [0.0] * outputs
    gx = [[[[0.0] * len(row) for row in channel] for channel in one] for one in wide_x]
    for n, maps in enumerate(g):
        for o, found in enumerate(maps):
            for top, left in itertools.product(range(len(found)), range(len(found[0]))):
                arrived = found[top][left]
                gb[o] += arrived
                for k, i, j in itertools.product(range(channels), range(size), range(size)):
                    at = (k * size + i) * size + j
                    gw[at][o] += arrived * wide_x[n][k][top + i][left + j]
                    gx[n][k][top + i][left + j] += arrived * w[at][o]
    if padding:
        cut = slice(padding, -padding)
        gx = [[[row[cut] for row in channel[cut]] for channel in one] for one in gx]
    return gw, gb, gx


SIZES = [  # pictures, inputs, high, wide, outputs, size, padding
    (1, 1, 3, 3, 1, 2, 0), (2, 1, 4, 5, 3, 3, 0), (2, 3, 4, 4, 2, 3, 1), (1, 2, 5, 4, 4, 2, 0),
    (1, 2, 4, 6, 4, 3, 0), (3, 2, 3, 2, 2, 1, 0), (1, 1, 5, 5, 2, 5, 2), (2, 2, 2, 3, 5, 3, 2),
]  # fmt: skip


@exercise(
    "10.6",
    "Conv2d",
    answer="Conv2d",
    minutes=12,
    without=("tutor",),
    hints=(
        "It is as_rows(windows(...)) @ w + b, and then the rows have to become maps again. What "
        "are the rows of the product, and what are its columns?",
        "One row of the product belongs to one place of one picture, one column to one filter: "
        "reshape it to (n, h', w', outputs). That has the filters last; they have to come second. "
        "The bias is best added while they are last.",
        "seen = windows(pad(x, padding), size); rows as in `as_rows`; z = rows @ self.w + self.b; "
        "z.reshape(n, h, w, outputs).permute(0, 3, 1, 2). In __init__: w = Tensor(he(inputs * "
        "size * size, outputs), requires_grad=True), and b of zeros.",
    ),
    why_ours="The bias is added while the filters are the last axis: there the rule of "
    "broadcasting puts one number under each filter without being asked. The rows are those of "
    "`as_rows`, written out, since that is no part of the library.",
)
@in_forms
def check_10_6(judge: Judge, layer_type: Any) -> None:
    """Conv2d(inputs, outputs, size, padding) has w (inputs * size * size, outputs) and b
    (outputs,), and gives for pictures (n, inputs, h, w) the maps (n, outputs, h', w'): the sum of
    the products of each filter with each window, plus the bias of the filter."""
    with order_kept():
        random.seed(3)
        begins(judge, layer_type)
        take_turns(*[_conv(judge, layer_type, *sizes) for sizes in SIZES])


def _conv(
    judge: Judge, layer_type: Any, n: int, inputs: int, high: int, wide: int, outputs: int,
    size: int, padding: int,
) -> Steps:  # fmt: skip
    """One layer, forward and back; between them come others."""
    arguments = (inputs, outputs, size, *([padding] if padding else []))
    layer = judge.instance(layer_type, *arguments)
    yield
    w = filled(layer_type, tuple(layer.w.shape), high + size, "float32")
    b = filled(layer_type, (outputs,), wide, "float32")
    layer.w.fill(w.values())
    layer.b.fill(b.values())
    x = watched(filled(layer_type, (n, inputs, high, wide), n + outputs, "float32"))
    given = f"{n} pictures of {inputs} x {high} x {wide}, Conv2d{arguments}"
    yield
    z = judge.run(partial(layer, x))
    expected = convolution(x.tolist(), w.tolist(), b.tolist(), size, padding)
    shaped(judge, z, (n, outputs, len(expected[0][0]), len(expected[0][0][0])), given)
    judge.close(z.tolist(), expected, rtol=1e-4, atol=1e-4, given=given,
                mistakes=known_maps(x.tolist(), w.tolist(), b.tolist(), size, padding))  # fmt: skip
    yield
    mix = filled(layer_type, tuple(z.shape), 2, "float32")
    gradient_of(judge, z, mix, x, given)
    wanted = gradients(x.tolist(), w.tolist(), mix.tolist(), size, padding)
    for name, p, numbers in zip(
        ("w", "b", "the pictures"), (layer.w, layer.b, x), wanted, strict=True
    ):
        about = f"the gradient of {name}, {given}"
        judge.that(p.grad is not None, f"{name} has no gradient after backward")
        judge.close(p.grad.tolist(), numbers, rtol=1e-4, atol=1e-4, given=about)


def known_maps(x: Nested, w: Rows, b: list[float], size: int, padding: int) -> dict[str, Any]:
    """What the known mistakes of a convolution lead to."""
    channels = len(x[0])
    places = [
        (k, i, j) for k in range(channels) for i in range(size) for j in range(size)
    ]  # fmt: skip

    def reordered(order: Any) -> Nested:
        rows = [w[(k * size + i) * size + j] for k, i, j in map(order, places)]
        return convolution(x, rows, b, size, padding)

    last = size - 1
    return {
        "without the biases": lambda: convolution(x, w, [0.0] * len(b), size, padding),
        "the filters turned by half a turn": lambda: reordered(
            lambda p: (p[0], last - p[1], last - p[2])
        ),
        "rows and columns of the windows exchanged": lambda: reordered(
            lambda p: (p[0], p[2], p[1])
        ),
        "the channels in the opposite order": lambda: reordered(
            lambda p: (channels - 1 - p[0], p[1], p[2])
        ),
    }


def begins(judge: Judge, layer_type: Any) -> None:
    """How a layer has to be before it has learned anything."""
    layer = judge.instance(layer_type, 2, 200, 3)
    for name, shape in (("w", (18, 200)), ("b", (200,))):
        p = judge.run(partial(getattr, layer, name))
        needs_tensor(judge, p, f"its attribute {name} is")
        judge.equal(tuple(p.shape), shape, given=f"the shape of {name}, of Conv2d(2, 200, 3)")
        judge.that(p.requires_grad, f"{name} is not watched: it would never learn")
    judge.equal(set(layer.b.tolist()), {0.0}, given="the biases, at the beginning")
    weights = layer.w.values()
    spread = math.sqrt(math.fsum(x * x for x in weights) / len(weights))
    found = f"the weights begin with a spread of {spread:.3g}; sqrt(2 / 18) = 0.333 is He's"
    judge.that(0.3 < spread < 0.37, found)
    mean = math.fsum(weights) / len(weights)
    judge.that(abs(mean) < 0.03, f"the mean of the weights is {mean:.3f}, and should be near 0")
    other = judge.instance(layer_type, 2, 200, 3)
    judge.that(other.w.values() != weights, "two layers begin with the same weights")


@exercise(
    "10.7",
    "What the network saw",
    answer="causes",
    minutes=8,
    hints=(
        "First look for pictures that are no pictures of a digit any more. What does a digit look "
        "like if the numbers of 28 maps are dealt out in turns?",
        "A bias along the columns leaves a pattern of upright stripes on every map. The two that "
        "are left look like digits: compare them with the healthy ones at the edge, and ask which "
        "edges each filter answers to.",
        "One of the two that are left is the same picture, one pixel further down and to the "
        "right. In the other, the filters answer to other edges than they should.",
    ),
    why_ours="The reshape deals the numbers out in turns, the bias paints stripes; the border off "
    "by one moves everything by a pixel; and exchanged rows and columns make another filter.",
)
def check_10_7(judge: Judge, causes: Any) -> None:
    """`causes` has the number of a fault, from 1 to 6, for each of A, B, C and D."""
    right = dict(zip("ABCD", (4, 1, 3, 2), strict=True))
    judge.that(isinstance(causes, dict), "it is no dict, as the cell gave it")
    judge.that(sorted(causes, key=str) == sorted(right), "its keys are not A, B, C and D")
    judge.that(
        all(isinstance(n, int) and 1 <= n <= 6 for n in causes.values()),
        "its values are not numbers from 1 to 6",
    )
    count = sum(causes[name] == right[name] for name in right)
    judge.that(count == 4, f"{count} of the 4 are right")


# ---- a choice ------------------------------------------------------------------------------------


def chosen(op: Any, *tensors: Any) -> Any:
    return op(*tensors).apply()


@exercise(
    "10.8",
    "where",
    answer="Where",
    minutes=12,
    without=("tutor",),
    hints=(
        "First look at the dtype of the condition. Then find the shape to which all three "
        "stretch, and the dtype of a and b; the condition keeps its own.",
        "a, b = alike((a, b)), and broadcast_shapes of two shapes, twice. The kernel is "
        "lookup('where', a.buf.dtype), called as kernel(out, condition, a, b). Where a was chosen, "
        "its gradient is g, and elsewhere 0.",
        "Expand all three to the shape for the kernel. With nothing = zeros(g.shape, g.buf.dtype) "
        "the gradient of a is Where(condition, g, nothing).apply(), that of b the same with g and "
        "nothing exchanged; the Engine itself sums over what was stretched.",
    ),
    why_ours="The condition is asked for its dtype before anything else, so that a wrong order is "
    "an error with the right one in it. Backward is made of the same Op.",
)
@in_forms
def check_10_8(judge: Judge, op: Any) -> None:
    """Where(condition, a, b).apply() has the numbers of a where the condition is true, else those
    of b, with gradients for a and b; a condition that is not bool is a TypeError."""
    Tensor, case = own(op, "Tensor"), Truth(op)
    for given, condition, a, b, expected in (
        ("two of each", [True, False], [1.0, 2.0], [3.0, 4.0], [1.0, 4.0]),
        ("none is chosen", [False, False], [1.0, 2.0], [3.0, 4.0], [3.0, 4.0]),
        ("a is stretched", [[True, False], [False, True]], [[9.0]], [[1.0, 2.0], [3.0, 4.0]],
         [[9.0, 2.0], [3.0, 9.0]]),
        ("b is stretched along the rows", [[True, False], [False, False]], [[1.0, 2.0], [3.0, 4.0]],
         [5.0, 6.0], [[1.0, 6.0], [5.0, 6.0]]),
        ("the condition is stretched", [[True], [False]], [[1.0, 2.0], [3.0, 4.0]],
         [[5.0, 6.0], [7.0, 8.0]], [[1.0, 2.0], [7.0, 8.0]]),
        ("infinity is not chosen", [True, False], [1.0, math.inf], [-math.inf, 2.0], [1.0, 2.0]),
        ("nan is not chosen", [False, True], [math.nan, 3.0], [2.0, math.nan], [2.0, 3.0]),
    ):  # fmt: skip
        args = (formed(t) for t in (case(condition), Tensor(a), Tensor(b)))
        got = judge.run(partial(chosen, op, *args))
        needs_tensor(judge, got)
        judge.equal(got.tolist(), expected, given=given)
    mixed = judge.run(partial(chosen, op, case([True, False]), Tensor([1, 2], dtype="int64"),
                              Tensor([0.5, 0.25], dtype="float64")))  # fmt: skip
    judge.equal(mixed.tolist(), [1.0, 0.25], given="a of int64, b of float64")
    judge.equal(mixed.buf.dtype, "float64", given="the dtype, for a of int64 and b of float64")
    shapes: tuple[tuple[Shape, Shape], ...] = (
        ((2, 3), (2, 3)), ((3,), (2, 3)), ((2, 3), (2, 1)),
    )  # fmt: skip
    take_turns(*[_where(judge, op, *pair, k % 2 == 0) for k, pair in enumerate(shapes)])
    x, truth = Tensor([1.0, -2.0]), case([True, False])
    with on_backend(op, "python"):  # a kernel in Python takes anything for a truth
        for given, arguments in (
            ("a condition of numbers", (x, x, x)),
            ("the order of the guide: x, x > 0, x**3", (x, truth, x * x * x)),
            ("a condition of whole numbers, 0 and 1", (Tensor([1, 0], dtype="int64"), x, x)),
        ):
            judge.raises(TypeError, partial(chosen, op), *arguments, match="bool", given=given,
                         called="Where(condition, a, b).apply()")  # fmt: skip


def _where(judge: Judge, op: Any, first: Shape, second: Shape, turned: bool) -> Steps:
    """One Where, forward and back; between them come others, with another condition."""
    Tensor, shapes = own(op, "Tensor"), (first, second)
    a, b = (watched(filled(op, shape, 5 + k)) for k, shape in enumerate(shapes))
    truth = [[True, False, True], [False, False, True]]
    condition = formed(Truth(op)(truth[::-1] if turned else truth))
    z = judge.run(partial(chosen, op, condition, a, b))
    yield
    mix, given = filled(op, (2, 3), 9), f"a of shape {shapes[0]}, b of shape {shapes[1]}"
    gradient_of(judge, z, mix, a, given)
    judge.that(b.grad is not None, "backward left no gradient in b", given=given)
    fit = own(op, "fit")
    for name, t, sign in (("a", a, True), ("b", b, False)):
        mine = [m if c is sign else 0.0 for m, c in zip(mix.values(), condition.values(),
                                                        strict=True)]  # fmt: skip
        share = fit(own(op, "zeros")((2, 3), "float64") + Tensor([mine[:3], mine[3:]],
                    dtype="float64"), t)  # fmt: skip
        judge.close(t.grad.tolist(), share.tolist(), given=f"the gradient of {name}, {given}")


@contextmanager
def on_backend(answer: Any, backend: str) -> Iterator[None]:
    """The learner's registry looks kernels up there, within the block."""
    table = own(answer, "REGISTRY")
    before, table.backend = table.backend, backend
    try:
        yield
    finally:
        table.backend = before


class Truth:
    """Makes conditions: tensors of bool."""

    def __init__(self, answer: Any) -> None:
        self.Tensor = own(answer, "Tensor")

    def __call__(self, data: Any) -> Any:
        return self.Tensor(data, dtype="bool")


# ---- pooling -------------------------------------------------------------------------------------


def handed_out(g: Nested, x: Nested, size: int, which: str = "the first") -> Nested:
    """g at the first largest number of each window, or at other ones of equals."""
    out = [[[[0.0] * len(row) for row in channel] for channel in one] for one in x]
    for n, k in itertools.product(range(len(x)), range(len(x[0]))):
        for y, row in enumerate(g[n][k]):
            for left, arrived in enumerate(row):
                inside = [
                    (-x[n][k][y * size + i][left * size + j], i, j)
                    for i in range(size)
                    for j in range(size)
                ]
                least, i, j = min(inside)
                equals = [(i, j) for value, i, j in inside if value == least]
                takers = {"the first": equals[:1], "the last": equals[-1:]}.get(which, equals)
                share = arrived / len(equals) if which == "shared among all" else arrived
                for i, j in takers:
                    out[n][k][y * size + i][left * size + j] = share
    return out


@exercise(
    "10.9",
    "To the largest",
    answer="to_largest",
    minutes=12,
    without=("tutor", "MaxPool"),
    hints=(
        "Take one position in the window, of all windows at once: x there is smaller than z, or "
        "it is the largest. In the second case it takes what there is.",
        "Keep what has not been handed out yet in a tensor `left`, which is g at first. Whoever is "
        "not smaller than z takes what is left, and then nothing is left there for the next.",
        "With numbers = slide(x, size, size), places = slide(out, size, size), and for each i, j: "
        "smaller = z > numbers[..., i, j]; add_(places[..., i, j], where(smaller, 0.0, left)); "
        "left = where(smaller, left, 0.0).",
    ),
    why_ours="`left` is what makes equals no trouble: the first of them takes it, and finds "
    "nothing more for the second. No number is looked at in Python.",
)
@in_forms
def check_10_9(judge: Judge, to_largest: Any) -> None:
    """to_largest(g, x, z, size) is like x, with g at the largest number of each window, the first
    of equals, and 0 elsewhere."""
    cases: list[tuple[str, Nested, int]] = [
        ("one window", [[[[1.0, 4.0], [3.0, 2.0]]]], 2),
        ("all below 0", [[[[-3.0, -4.0], [-1.0, -2.0]]]], 2),
        ("four equals", [[[[2.0, 2.0], [2.0, 2.0]]]], 2),
        ("two equals", [[[[1.0, 5.0], [5.0, 0.0]]]], 2),
        ("zeros and less", [[[[0.0, -1.0, 0.0, 0.0], [0.0, 0.0, -2.0, 0.0]]]], 2),
        ("a window of 1", [[[[1.0, 4.0], [3.0, 2.0]]]], 1),
    ]
    for shape, size in (((2, 3, 4, 6), 2), ((1, 2, 5, 7), 2), ((2, 1, 6, 6), 3), ((1, 1, 7, 8), 3)):
        drawn = filled(to_largest, shape, size + shape[-1]).tolist()
        cases.append((f"maps {shape}", drawn, size))
        few = [[[[float(round(v / 3)) for v in row] for row in m] for m in one] for one in drawn]
        cases.append((f"maps {shape} with many equals", few, size))
    Tensor = own(to_largest, "Tensor")
    for given, numbers, size in cases:
        x = formed(Tensor(numbers, dtype="float64"))
        seen = window_lists(numbers, size, size)
        top = [
            [[[max(itertools.chain(*w)) for w in row] for row in m] for m in one] for one in seen
        ]
        z = formed(Tensor(top, dtype="float64"))
        g = filled(to_largest, tuple(z.shape), 4)
        about = f"{given}, size={size}"
        got = judge.call(to_largest, g, x, z, size, given=about)
        shaped(judge, got, tuple(x.shape), about)
        mistakes = {
            f"{which} of equals": handed_out(g.tolist(), numbers, size, which)
            for which in ("all", "the last", "shared among all")
        }
        judge.close(got.tolist(), handed_out(g.tolist(), numbers, size), given=about,
                    mistakes=mistakes)  # fmt: skip


# ---- a reader ------------------------------------------------------------------------------------


def tensors_in(value: Any) -> list[Any]:
    """All tensors that can be found in an object: in its attributes, in lists, in closures."""
    found: dict[int, Any] = {}
    seen: dict[int, Any] = {}
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen[id(part)] = part
        if is_tensor(part):
            found[id(part.buf)] = part.buf
        elif isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, list | tuple | set | frozenset):
            waiting += part
        elif isinstance(part, FunctionType):
            waiting += [cell.cell_contents for cell in part.__closure__ or () if cell_full(cell)]
            waiting += part.__defaults__ or ()
        elif isinstance(part, MethodType | partial):
            waiting += [part.__func__, part.__self__] if isinstance(part, MethodType) else [
                part.func, part.args, part.keywords]  # fmt: skip
        elif hasattr(part, "__dict__") and not isinstance(part, type):
            waiting += vars(part).values()
    return list(found.values())


def cell_full(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def counted(judge: Judge, model: Any, scores: Any) -> int:
    """How many numbers a network is made of: those that it holds, and those its scores need."""
    leaves = {id(buf): buf for buf in judge.run(partial(tensors_in, model))}
    waiting, seen = [scores], set()
    while waiting:
        t = waiting.pop()
        if id(t) in seen:
            continue
        seen.add(id(t))
        if t.op is not None:
            waiting += t.op.inputs
        elif t.requires_grad:
            leaves[id(t.buf)] = t.buf
    return sum(len(buf) for buf in leaves.values())


def small_enough(judge: Judge, model: Any, answer: Any) -> None:
    """It must be callable with any number of pictures, give ten scores, and be small."""
    judge.that(callable(model), f"it is {kind(model)}; a network is asked for, that can be called")
    for n in (3, 1):
        given = f"bytes of shape ({n}, 1, 28, 28)"
        scores = judge.run(partial(model, bytes_like(answer, (n, 1, 28, 28), 4)))
        shaped(judge, scores, (n, 10), given)
    count = counted(judge, model, scores)
    found = f"it is made of {count:,} numbers; {LIMIT:,} is the most"
    judge.that(count <= LIMIT, found)


@exercise(
    "10.10",
    "Your reader",
    answer="reader",
    minutes=12,
    seconds=20,
    without=("tutor",),
    hints=(
        "Look at the network of one layer: nearly all of its numbers were in the `Linear`. A "
        "second Conv2d and a second pooling before it make it much smaller.",
        "Follow the sizes: 28, windows of 5 make 24, pooled 12, windows of 5 make 8, pooled 4. "
        "With 24 filters in the second layer there are 24 * 4 * 4 numbers left for the Linear.",
        "Sequential, with the division by 255, Conv2d(1, 8, 5), MaxPool2d(2), Tensor.relu, then "
        "the same with Conv2d(8, 24, 5), then Flatten and a Linear to 10.",
    ),
    why_ours="Two layers of windows, as few as it takes, and 8,882 numbers. That there are a few "
    "filters first and more of them later has a reason: edges are alike, what is made of them is "
    "not.",
)
def check_10_10(judge: Judge, reader: Any) -> None:
    """reader() is a new network of at most 30,000 numbers that gives ten scores for each picture,
    (n, 1, 28, 28) bytes, and all of whose parameters learn."""
    with order_kept():
        random.seed(11)
        model = judge.call(reader, again=False)
        small_enough(judge, model, reader)
        given = "3 pictures of random bytes"
        scores = judge.run(partial(model, bytes_like(reader, (3, 1, 28, 28), 4)))
        are_scores(judge, scores, given)
        found = "it has no `parameters`: make a Module of it, or a Sequential"
        judge.that(hasattr(model, "parameters"), found)
        parameters = judge.run(model.parameters)
        judge.that(parameters, "it has no parameters: there is nothing in it that could learn")
        other = judge.call(reader, again=False)
        found = "reader() gives the same network again: a new one each time is asked for"
        same = {id(p.buf) for p in parameters} & {id(p.buf) for p in judge.run(other.parameters)}
        judge.that(model is not other and not same, found)
        pictures, labels = bytes_like(reader, (4, 1, 28, 28), 6), [3, 1, 4, 5]
        first = judge.run(partial(step_of, reader, model, pictures, labels))
        still = [tuple(p.shape) for p in parameters if p.grad is None or not any(p.grad.values())]
        found = f"of {len(parameters)} parameters {len(still)} got no gradient, of shape"
        judge.that(not still, f"{found} {', '.join(map(str, still))}")
        judge.that(math.isfinite(first), "its loss is not a finite number")
        found = f"its loss begins at {first:.3g}, where guessing has 2.3: were the bytes divided?"
        judge.that(first < 30, found)


def step_of(answer: Any, model: Any, pictures: Any, labels: list[int]) -> float:
    """One step back; the loss."""
    loss = own(answer, "cross_entropy")(model(pictures), labels)
    loss.backward()
    return float(loss.item())


def bar() -> tuple[float, int]:
    """The share to be read right, and of how many pictures.

    Where a training is cut short, in a test of the chapter, what is to be reached is what so little
    training gives: three times what guessing would. Without compiled kernels there is next to no
    training, so only the numbers are counted, and ten pictures are read without being judged.
    """
    if registry.current() == "python_ref":
        return 0.0, 10
    return (0.3, 600) if is_quick() else (GOAL, 10_000)


def shuffled_test(answer: Any, limit: int) -> tuple[Any, list[int]]:
    """The test digits in an order that nobody knows beforehand, and what they are."""
    digits = data.load("auto", limit=limit)
    count = digits.test_images.shape[0]
    order = random.sample(range(count), count)
    raw, size = bytes(digits.test_images.copy().buf.raw), 28 * 28
    pictures = own(answer, "zeros")((count, 1, 28, 28), "uint8")
    pictures.buf.raw[:] = b"".join(raw[i * size : (i + 1) * size] for i in order)
    labels = digits.test_labels.tolist()
    return pictures, [labels[i] for i in order]


def read_right(model: Any, pictures: Any, labels: list[int], answer: Any) -> int:
    """How many are read right, with every Module of the network as after training."""
    right = 0
    no_grad = own(answer, "no_grad")
    for start in range(0, len(labels), 200):
        with no_grad():
            scores = model(pictures[start : start + 200]).tolist()
        said = [row.index(max(row)) for row in scores]
        right += sum(map(int.__eq__, said, labels[start : start + 200]))
    return right


@exercise(
    "10.11",
    "The number to beat",
    answer="trained",
    minutes=5,
    seconds=120,
    hints=(
        "A network that was trained above is in `model`. How well did it read, and how many "
        "numbers has it?",
        "If it reads 99 of 100 and has at most 30,000 numbers, it will do. If not, make another "
        "reader, or train longer, before you come back.",
        "The object itself goes into `trained`, without brackets behind it. To make another one: "
        "model = reader(), and learn(model, EPOCHS, jittered).",
    ),
    why_ours="Ours is the network that the chapter has trained. How far below its number of "
    "numbers can one go?",
)
def check_10_11(judge: Judge, trained: Any) -> None:
    """`trained` is a network of at most 30,000 numbers that reads 99 of 100 test digits."""
    if isinstance(trained, int | float):
        judge.that(False, "it is a number; the network itself is asked for, which is then tested")
    mode, source = getattr(trained, "training", None), trained
    if not isinstance(trained, FunctionType):  # an object has its names from its class
        source = type(trained)
    with order_kept():
        if hasattr(trained, "train"):
            judge.run(partial(trained.train, False))
        try:
            small_enough(judge, trained, source)
            share, limit = bar()
            pictures, labels = shuffled_test(source, limit)
            right = judge.run(partial(read_right, trained, pictures, labels, source))
        finally:
            if mode is not None:
                trained.train(mode)
        found = f"it reads {right:,} of {len(labels):,} right, which are "
        found += f"{100 * right / len(labels):.2f} of 100; {100 * share:g} are asked for"
        judge.that(right >= share * len(labels), found)


# ---- challenges ----------------------------------------------------------------------------------


@exercise(
    "10.s1",
    "The way back is a convolution",
    answer="way_back",
    minutes=20,
    without=("tutor", "Overlap", "backward", "add_"),
    hints=(
        "A pixel at (y, x) is met by the weight (i, j) in the window that begins at (y - i, x - "
        "j). So the pixel's gradient is a sum over i and j of g at (y - i, x - j) times w[i, j].",
        "That is a window of g, read backward; or read forward, with the filter turned by half a "
        "turn, w[:, :, ::-1, ::-1]. At the edge windows of g reach beyond it: give g a border of "
        "size - 1.",
        "Windows of pad(g, size - 1), as rows of outputs * size * size numbers; the turned w with "
        "its axes as (outputs, size, size, inputs), as a matrix; their product; and as in Conv2d "
        "the inputs become the channels.",
    ),
    why_ours="Two places differ from a convolution: the border is size - 1, so that each pixel "
    "meets all windows it stood in, and the filter is turned, with inputs and outputs exchanged.",
)
@in_forms
def check_10_s1(judge: Judge, way_back: Any) -> None:
    """way_back(g, w) is the gradient of a convolution's pictures, by a convolution of g."""
    for n, inputs, outputs, high, wide, size in (
        (1, 1, 1, 1, 1, 2), (1, 1, 1, 3, 3, 2), (2, 1, 3, 2, 4, 3), (2, 3, 2, 4, 3, 3),
        (1, 2, 4, 2, 2, 1), (1, 2, 2, 3, 2, 4),
    ):  # fmt: skip
        g = filled(way_back, (n, outputs, high, wide), high + size)
        w = filled(way_back, (outputs, inputs, size, size), wide + size)
        shape = (n, inputs, high + size - 1, wide + size - 1)
        given = f"g of shape {tuple(g.shape)}, w of shape {tuple(w.shape)}"
        got = judge.call(way_back, g, w, given=given)
        shaped(judge, got, shape, given)
        table = w.reshape(outputs, -1).T.tolist()
        empty = [[[[0.0] * shape[3]] * shape[2]] * inputs] * n
        _, _, expected = gradients(empty, table, g.tolist(), size, 0)
        judge.close(got.tolist(), expected, given=given)


@exercise(
    "10.s2",
    "One filter for each channel",
    answer="Depthwise",
    minutes=20,
    without=("tutor", "Conv2d"),
    hints=(
        "There is no sum over channels, so it is no matrix product: multiply windows by weights, "
        "and add up over the last two axes.",
        "Windows have the shape (n, channels, h', w', size, size). Which shape must the weights "
        "have to stretch to that? And the biases to (n, channels, h', w')?",
        "self.w.T.reshape(-1, 1, 1, size, size) times the windows, .sum((4, 5)), plus "
        "self.b.reshape(-1, 1, 1).",
    ),
    why_ours="Broadcasting does what the matrix product does elsewhere. Each channel's weights "
    "stand under all places of that channel, and under no other.",
)
def check_10_s2(judge: Judge, layer_type: Any) -> None:
    """Depthwise(channels, size, padding) has w (size * size, channels) and b (channels,), and gives
    one map for each channel: the products of its windows with its own filter, summed, plus its
    bias."""
    with order_kept():
        random.seed(5)
        sizes = (
            (1, 1, 3, 3, 2, 0), (2, 3, 4, 5, 3, 0), (2, 4, 4, 4, 3, 1), (1, 3, 5, 5, 5, 2),
            (2, 2, 3, 2, 1, 0),
        )  # fmt: skip
        take_turns(*[_depthwise(judge, layer_type, *case) for case in sizes])


def _depthwise(
    judge: Judge, layer_type: Any, n: int, channels: int, high: int, wide: int, size: int,
    padding: int,
) -> Steps:  # fmt: skip
    """One layer, forward and back; between them come others."""
    arguments = (channels, size, *([padding] if padding else []))
    layer = judge.instance(layer_type, *arguments)
    yield
    for name, shape in (("w", (size * size, channels)), ("b", (channels,))):
        p = judge.run(partial(getattr, layer, name))
        needs_tensor(judge, p, f"its attribute {name} is")
        judge.equal(tuple(p.shape), shape, given=f"the shape of {name}")
        judge.that(p.requires_grad, f"{name} is not watched: it would never learn")
    judge.that(len(set(layer.w.values())) > 1 or size == 1, "all weights begin the same")
    w = filled(layer_type, (size * size, channels), high + size, "float32")
    b = filled(layer_type, (channels,), wide, "float32")
    layer.w.fill(w.values())
    layer.b.fill(b.values())
    x = watched(filled(layer_type, (n, channels, high, wide), n + size, "float32"))
    given = f"{n} pictures of {channels} x {high} x {wide}, Depthwise{arguments}"
    yield
    z = judge.run(partial(layer, x))
    expected: Nested = [[] for _ in range(n)]
    for k in range(channels):
        one = [[picture[k]] for picture in x.tolist()]
        column = [[row[k]] for row in w.tolist()]
        maps = convolution(one, column, [b.tolist()[k]], size, padding)
        for picture, found in zip(expected, maps, strict=True):
            picture += found
    shaped(judge, z, (n, channels, len(expected[0][0]), len(expected[0][0][0])), given)
    judge.close(z.tolist(), expected, rtol=1e-4, atol=1e-4, given=given)
    yield
    gradient_of(judge, z, filled(layer_type, tuple(z.shape), 2, "float32"), x, given)
    for name, p in (("w", layer.w), ("b", layer.b)):
        judge.that(p.grad is not None, f"{name} has no gradient after backward")


# ---- questions -----------------------------------------------------------------------------------

question(
    "10.q1",
    "Pictures of 32 x 32, windows of 3 x 3, a padding of 1. How many rows has a map?",
    right=32,
    why="32 + 2 rows with the border, and 34 - 3 + 1 = 32 places for a window of 3",
    tempting={
        30: "that is without the border: 32 - 3 + 1",
        31: "34 - 3 is the row of the last window; counted from 0, there is one more",
        34: "that is the picture with its border; the windows have to fit into it",
    },
)
question(
    "10.q2",
    "Photographs of three channels, 16 filters of 3 x 3. How many numbers does the layer learn, "
    "biases included?",
    right=448,
    why="each filter has 3 * 3 * 3 = 27 weights, one for each channel and place, and a bias: "
    "16 * 28 = 448",
    tempting={
        160: "that is 16 * (9 + 1): a filter looks at all three channels, each with weights of its "
        "own",
        432: "these are the weights; each filter has a bias as well",
        480: "a filter has one bias, not one for each channel",
    },
)
question(
    "10.q3",
    "Why can a convolution do with so few weights?",
    choices={
        "a": "its weights are smaller",
        "b": "the same weights are used at every place of the picture",
        "c": "pooling throws most of them away",
    },
    right="b",
    why="what is learned at one place holds at all others, so it need not be learned again",
    tempting={
        "a": "small numbers take the same four bytes; what counts is how many there are",
        "c": "pooling throws answers away, and has no weights at all",
    },
)
question(
    "10.q4",
    "slide makes 25 numbers out of each pixel. Where do they take up memory?",
    choices={
        "a": "nowhere, as long as they are only a view; once rows are made of them, 25 times that "
        "of the pictures",
        "b": "always: a window is a copy",
        "c": "never, not even in the product",
    },
    right="a",
    why="strides describe the windows without memory; the rows of im2col lie in order, so they are "
    "written out",
    tempting={
        "b": "it looks like a list of windows, but no number was moved: only strides were made",
        "c": "the product is given rows that lie in order, and so reshape has copied them before",
    },
)
question(
    "10.q5",
    "After two layers, each of them windows of 3 x 3 with a step of 1, and no pooling: how many "
    "rows of the picture does one number of the second map depend on?",
    right=5,
    why="it sees 3 rows of the first map, and the windows of these, which begin one row apart, "
    "reach over 3 + 2 = 5 rows of the picture",
    tempting={
        3: "that is how many rows of the first map it sees; each of these sees 3 of the picture",
        6: "the windows of two neighbours have two rows in common, so they add only one each",
        9: "3 * 3 would be right if the windows of the first layer stood side by side",
    },
)
