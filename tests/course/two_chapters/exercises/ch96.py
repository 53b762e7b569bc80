"""Rows of numbers: strides, a grid, and its sum."""

from typing import Any

from course.exercise import Judge, exercise, question

HINTS = ("gently", "nearer", "nearly the code")


@exercise(
    "96.1", "Strides", answer="strides_for", minutes=5, hints=HINTS, seconds=0.5,
    why_ours="Ours goes from the back, since the last axis steps by 1.",
)  # fmt: skip
def check_96_1(judge: Judge, strides_for: Any) -> None:
    """strides_for(shape) gives the steps of numbers that lie row by row"""
    for shape, strides in (((2, 3), (3, 1)), ((4,), (1,)), ((), ()), ((2, 1, 5), (5, 5, 1))):
        judge.equal(judge.call(strides_for, shape), strides)


@exercise("96.2", "Guess", answer="guess", minutes=1, hints=HINTS)
def check_96_2(judge: Judge, guess: Any) -> None:
    """guess is the number of numbers in a grid of shape (2, 3)"""
    judge.equal(guess, [6])


@exercise("96.3", "Total", answer="total", minutes=5, hints=HINTS, seconds=0.5, without=("sum",))
def check_96_3(judge: Judge, total: Any) -> None:
    """total(grid) is the sum of its numbers"""
    from course.library import of, ours

    library = of(total, "Grid", default=ours(96))
    for numbers in ([1.0, 2.0], [], [0.5, -4.0, 1.0]):
        grid = judge.run(lambda n=numbers: library.Grid(n, (len(n),)))
        judge.equal(judge.call(total, grid), sum(numbers, 0.0))


question(
    "96.q1", "How many?", choices={"a": "5", "b": "6"}, right="b", why="two times three",
    tempting={"a": "2 + 3 is 5, but each row has 3"},
)  # fmt: skip
