"""Why times scatter: five recordings, each made by a simulation of one cause, for chapter 15.

Each is a list of times of the same work, one run after another. Without any cause a run takes 10
milliseconds, with noise of one in a hundred.
"""

from __future__ import annotations

import random
from collections.abc import Callable

RUNS, QUIET = 60, 10.0  # how many; milliseconds


def frequency(draw: random.Random) -> list[float]:
    """The core wakes up at a low clock, and has its full one after ten runs."""
    return [QUIET * max(1.0, 1.8 - 0.08 * run) for run in range(RUNS)]


def migration(draw: random.Random) -> list[float]:
    """The thread is moved to a slower core, and later back; each time the caches are cold."""
    slower, moves = range(22, 41), (22, 41)
    return [
        QUIET * (1.45 if run in slower else 1.0) + (6.0 if run in moves else 0.0)
        for run in range(RUNS)
    ]


def faults(draw: random.Random) -> list[float]:
    """Every eighth run the memory has been given back, and its pages are touched anew."""
    return [QUIET * (1.7 if run % 8 == 0 else 1.0) for run in range(RUNS)]


def process(draw: random.Random) -> list[float]:
    """Something else runs now and then, for as long as it likes."""
    times = [QUIET] * RUNS
    for _ in range(9):
        times[draw.randrange(1, RUNS)] += QUIET * draw.uniform(0.2, 1.3)
    return times


def heat(draw: random.Random) -> list[float]:
    """After some twenty runs the chip is hot: the clock falls, and stays low until it has rest."""
    return [QUIET * (1.0 + 0.5 * min(1.0, max(0, run - 18) / 25)) for run in range(RUNS)]


CAUSES: dict[str, Callable[[random.Random], list[float]]] = {
    cause.__name__: cause for cause in (frequency, migration, faults, process, heat)
}
LETTERS = dict(zip("ABCDE", ("process", "heat", "faults", "frequency", "migration"), strict=True))


def recordings() -> dict[str, list[float]]:
    """The five, by letter; milliseconds, the same each time."""
    found = {}
    for letter, cause in LETTERS.items():
        draw = random.Random(letter)
        times = CAUSES[cause](draw)
        found[letter] = [time * (1.0 + 0.01 * draw.random()) for time in times]
    return found
