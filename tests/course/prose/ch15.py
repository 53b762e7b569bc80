"""What the text of chapter 15 claims."""

from __future__ import annotations

from typing import Any

from course.exercises import ch15
from prose import Claim

Names = dict[str, Any]


def rest_lines(names: Names) -> list[str]:
    return [line for line in names["PRINTED"].splitlines() if line.startswith("rest ")]


def lasting(names: Names) -> list[str]:
    """What is cheapest at each of the three draws of the rest, by what was printed."""
    found = []
    for line in rest_lines(names):
        joules = dict(pair.strip().split()[:2] for pair in line.split(":")[1].split(","))
        found.append(min(joules, key=lambda name: float(joules[name])))
    return found


def alone(names: Names, count: int) -> Any:
    """The moment after one thread that adds 1 so many times."""
    moment = ch15.Moment([ch15.rounds(names["add_one"], count)], {"n": 0})
    return names["follow"](moment, [0] * 3 * count)


def serial_ones(names: Names) -> list[tuple[int, ...]]:
    """The orders that leave n at two."""
    follow, both = names["follow"], names["both"]
    return [order for order in names["orders"]([3, 3]) if follow(both, order).memory["n"] == 2]


CLAIMS = [
    Claim(
        "`n += 1` is one line, and three steps",
        lambda names: names["orders"]([3]) == [(0, 0, 0)]
        and names["both"].step(0).memory == {"n": 0},
        when="next",
    ),
    Claim(
        "Three steps each: that makes 20 orders",
        lambda names: len(names["orders"]([3, 3])) == 20,
    ),
    Claim(
        "Only 2 of the 20 are right: those in which one thread is done before the other begins",
        lambda names: serial_ones(names) == [(0, 0, 0, 1, 1, 1), (1, 1, 1, 0, 0, 0)],
    ),
    Claim(
        "nine steps each",
        lambda names: alone(names, 3).heard == ((0, 1, None, 1, 2, None, 2, 3, None),),
    ),
    Claim(
        "Two transfers from a to b: in every order a is 4 at the end",
        lambda names: names["PRINTED"] == "{'4'}\n",
    ),
    Claim(
        "Each holds one lock and waits for the other's",
        lambda names: sorted(names["dead"][0]) == [0, 1],
    ),
    Claim(
        "about five hundred million million orders",
        lambda names: 4e14 < ring_orders() < 5e14,
    ),
    Claim(
        "One for each update but the first: 999. With padding it is 0.",
        lambda names: (names["tight"], names["padded"]) == (999, 0),
    ),
    Claim(
        "With 8 cores it is 4.71 times as fast, and a thousand cores do not make 10 of it.",
        lambda names: round(names["gains"][8], 2) == 4.71 and names["gains"][1024] < 10,
    ),
    Claim(
        "16 billion operations and 10 billion bytes a second for a core, and 20 billion bytes"
        " for all of them. An addition of a million float32, and a product of two matrices of"
        " 512 x 512",
        lambda names: names["ORDINARY"]
        == {"operations": 16e9, "bytes": 10e9, "all bytes": 20e9} == ch15.MODEL
        and names["WORK"]["product"] == (2 * 512**3, 12 * 512**2),
        when="next",
    ),
    Claim(
        "The product uses each number 512 times once it is there: 85 operations for each byte, so"
        " it scales. The addition has 0.08 of them.",
        lambda names: "product: 85.33" in names["PRINTED"] and "add: 0.08" in names["PRINTED"]
        and names["scaling"]["product"][15][1] == 16 and names["scaling"]["add"][15][1] == 2,
    ),
    Claim(
        "take the best of 15 of each",
        lambda names: names["best"].__defaults__ == (15,),
        when="next",
    ),
    Claim(
        "if the two probes differ by more than 15 %",
        lambda names: 1.15 in names["fairly"].__code__.co_consts, when="next",
    ),
    Claim(
        "Here are 24 tasks of different length and four cores, two of which are twice as fast. If"
        " each gets six tasks",
        lambda names: len(names["COSTS"]) == 24 and names["SPEEDS"] == [1, 1, 2, 2]
        and {len(part) for part in names["static"](names["COSTS"], names["SPEEDS"])} == {6},
        when="next",
    ),
    Claim(
        "Stealing is simple, and nearly as good as it can be",
        lambda names: names["by_stealing"] <= names["least"] * 105 / 100,
    ),
    Claim(
        "Everybody else is done, and waits.", lambda names: names["late"] > 1.5, when="next"
    ),
    Claim(
        "The differences are tiny",
        lambda names: len(set(names["sums"].values())) > 1
        and max(names["sums"].values()) - min(names["sums"].values()) < 1e-10,
    ),
    Claim(
        "a **page** of it, 4,096 bytes", lambda names: ch15.PAGE == 4096
    ),
    Claim(
        "After the first step there are none.",
        lambda names: names["faults"][0] > 5 and names["faults"][1:] == [0, 0, 0],
    ),
    Claim(
        "here are ten recorded ones", lambda names: len(names["GRAPHS"]) == 10
    ),
    Claim(
        "A short-lived result went between two that the way back needs, and left a hole",
        lambda names: names["over"](names["cnn"], names["by_steps"](names["cnn"])) > 1.15,
    ),
    Claim(
        "two blocks, 64 numbers wide, 8 texts of 32 letters",
        lambda names: (names["BLOCKS"], names["WIDTH"], names["TEXTS"], names["LENGTH"])
        == (2, 64, 8, 32), when="next",
    ),
    Claim(
        "About 6 operations for each byte.",
        lambda names: 5.5 < names["step"].flops / names["step"].nbytes < 6.5,
    ),
    Claim(
        "From memory, the bytes cost more than ten times the operations.",
        lambda names: names["moving"]["memory"] > 10 * names["computing"],
    ),
    Claim(
        "a hundred steps have 4 seconds, and whoever is done early goes to sleep at half a watt. A"
        " core alone is cheapest if it is slow: 3 joules.",
        lambda names: "slow 3.0 J" in rest_lines(names)[0]
        and lasting(names)[0] == "slow",
    ),
    Claim(
        "draw 4 watts as long as it is awake, middle is cheapest, and at 20 watts it is fast",
        lambda names: lasting(names)[1:] == ["middle", "fast"],
    ),
    Claim(
        "60 runs each of the same work, which takes 10 milliseconds where nothing is in the way",
        lambda names: {len(row) for row in names["times"].values()} == {60} and ch15.LETTERS
        and all(min(row) < 10.2 for row in names["times"].values()),
        when="next",
    ),
    Claim(
        "The best time is near 10 in all five",
        lambda names: all(9.9 < min(row) < 10.2 for row in names["times"].values()),
    ),
    Claim(
        "Two threads add 1 five times each, with the faulty `add_one`. If every update counts, n is"
        " 10.",
        lambda names: names["follow"](ch15.Moment([ch15.rounds(names["add_one"], 5)] * 2,
                                                   {"n": 0}), 15 * [0] + 15 * [1]).memory["n"]
        == 10,
    ),
    Claim(
        "It can be 2. Write `worst`, an order of all 30 steps that leaves 2.",
        lambda names: len(names["worst"]) == 30, when="end",
    ),
]  # fmt: skip


def ring_orders() -> int:
    """The orders of four threads of seven steps: 28! / 7!^4."""
    whole = 1
    for step in range(1, 29):
        whole *= step
    return whole // 5040**4


NOT_CLAIMS = {
    "load n, add 1, store the result": "what n += 1 means",
    "Both threads now add 1 three times": "the exercise, whose check has these threads",
    "a thread that adds 1 to n, whatever other threads do meanwhile": "the exercise",
    "64 bytes, eight numbers": "a line of nearly every processor of today, and the model's",
    "1,000 updates in all. The counters are at bytes 0 and 8.": "the input, which a cell sets",
    "each of which counts 1, and leaves the writer with one": "the rule of the exercise",
    "the first counter is at 0": "the rule of the exercise",
    "Allocators hand out memory in multiples of 64 bytes": "tutor's do: tests/test_memory.py",
    "time(n) / time(1) = s + (1 - s) / n": "a definition",
    "is the program with 8 cores?": "the question, which the next cell answers",
    "should be s + (1 - s) / n": "a definition",
    "does one operation for 12 bytes": "three float32",
    "The speedup is time(1) / time(n).": "a definition",
    "within **1.1 times the bound**": "the exercise: its check has FACTOR",
    "the same bits with 1, 2, 3 and 7 threads": "the exercise",
    "of 1,000 numbers no job may read more than a seventh": "the exercise",
    "The sum of no numbers is 0.0.": "the exercise",
    "where `start` is the next multiple of 64": "the exercise",
    "within **1.05 times** the bytes": "the exercise: its check has OVER",
    "on a chip of 45 nanometres, in picojoules (10⁻¹² joules)": "of the source",
    "is asked for 64 bits at a time. The memory costs 1,300 to 2,600": "of the source",
    "Two threads, called 0 and 1.": "the exercise",
    "a thread that adds 1 to n, right in every order": "the exercise",
    "which begin at 0": "the exercise",
}
