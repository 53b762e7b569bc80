"""Means."""

from typing import Any

from course.exercise import Judge, exercise
from course.library import of, ours

HINTS = ("gently", "nearer", "nearly the code")


@exercise("97.1", "Mean", answer="mean", minutes=5, hints=HINTS, seconds=0.5)
def check_97_1(judge: Judge, mean: Any) -> None:
    """mean(grid) is the sum of its numbers through their count"""
    library = of(mean, "Grid", default=ours(96))
    for numbers in ([1.0, 2.0, 6.0], [3.0]):
        grid = judge.run(lambda n=numbers: library.Grid(n, (len(n),)))
        judge.close(judge.call(mean, grid), ours(97).mean(ours(97).Grid(numbers, (len(numbers),))))


@exercise("97.s1", "Spread", answer="spread", minutes=5, hints=HINTS, seconds=0.5)
def check_97_s1(judge: Judge, spread: Any) -> None:
    """spread(grid) is the largest of its numbers less the smallest"""
    library = of(spread, "Grid", default=ours(96))
    grid = judge.run(lambda: library.Grid([3.0, 1.0, 9.0], (3,)))
    judge.equal(judge.call(spread, grid), 8.0)
