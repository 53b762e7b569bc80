"""What the text of chapter 13 claims: counts, on models of a machine."""

from __future__ import annotations

import math
from typing import Any

from prose import Claim

Names = dict[str, Any]


def small_is(names: Names) -> bool:
    """64 lines of 64 bytes in one set."""
    cache = names["small"]()
    return [len(cache.sets), cache.ways, cache.line] == [1, 64, 64] and 64 * 64 == 4096


def misses_in_columns(names: Names) -> tuple[int, int]:
    """Of a walk down the columns, with 64 rows and with 65."""
    found = []
    for rows in (64, 65):
        walk = names["walked"](names["zeros"]((rows, 64)).T)
        found.append(names["misses_of"](walk))
    return found[0], found[1]


def each_line_once(names: Names) -> bool:
    """A line of 16 numbers: one miss in 16 accesses."""
    return bool(names["by_rows"] * 16 == names["a"].numel() == names["by_columns"])


def sets_of_a_column(names: Names, row: int) -> int:
    """How many sets the lines of a column fall into."""
    sets = len(names["CacheModel"](16_384, line=64, ways=8).sets)
    return len({i * row // 64 % sets for i in range(64)})


def tile_lines(names: Names) -> tuple[int, int]:
    """The lines that a tile of 16 x 16 lies in, in `a` and in `out`."""
    tile = [(i, j) for i in range(16) for j in range(16)]
    return (
        len({(i * 64 + j) * 4 // 64 for i, j in tile}),
        len({(j * 64 + i) * 4 // 64 for i, j in tile}),
    )


def within(names: Names, most: float) -> bool:
    for shape in ((64, 64), (61, 67)):
        misses, fewest = names["misses_to_transpose"](names["transpose_tiled"], *shape)
        if misses > most * fewest:
            return False
    return True


def ratio_of(names: Names, name: str) -> float:
    counted = names["counted"]
    return float(counted[name] / counted["add_itself"])


def survives(names: Names) -> bool:
    """x + x is 2 * x for all; the test for nan is gone by the first rule."""
    found = names["found"]
    nans = [x for x in names["HALVES"] if x != x]
    return len(found["x + x is 2 * x"]) == 0 and len(found["x != x is False"]) == len(nans) > 0


def passes_with(names: Names, n: int) -> bool:
    """The loop without a tail, with fences."""
    Row = names["Row"]
    try:
        names["unrolled"](Row([0.0] * n), Row([1.0] * n), Row([1.0] * n), n)
    except names["OutsideError"]:
        return False
    return True


def once_more(names: Names) -> bool:
    """The last vector over the last 8 numbers gives something else where out is x."""
    unit, row, plain = names["Lanes"](), names["Row"]([1.0] * 12), names["Row"]([1.0] * 12)
    for i in (0, 4):
        unit.store(row, i, unit.add(unit.load(row, i), unit.load(plain, i)))
    return list(row.numbers) != [2.0] * 12


CLAIMS = [
    Claim("than 15 %", lambda names: names["ratio"].__code__.co_consts.count(1.15) == 1, "next"),
    Claim("4,096 bytes, which is 64 lines, and all of them in one set", small_is, "next"),
    Claim("`a` has 16,384 numbers", lambda names: names["a"].numel() == 16_384),
    Claim("only every 16th access misses: a line holds 16 numbers", each_line_once),
    Claim("Down the columns every single access misses", each_line_once),
    Claim("the other 15 are thrown out", lambda names: names["by_columns"] == 16_384),
    Claim(
        "93.75 % of every line is wasted: 1 - 4/64",
        lambda names: names["wasted"] == 1 - 4 / 64 == 0.9375 and "93.75%" in names["PRINTED"],
    ),
    Claim(
        "As long as the 64 lines of a column fit",
        lambda names: misses_in_columns(names)[0] == 64 * 64 // 16,
    ),
    Claim(
        "With one row more, every access misses",
        lambda names: misses_in_columns(names)[1] == 65 * 64,
    ),
    Claim(
        "Here is a cache with 8 ways",
        lambda names: names["cache"].ways == 8 and len(names["cache"].sets) == 32,
        "next",
    ),
    Claim(
        "The matrix has 64 rows; we walk down its columns. In the first case a row takes 2,048"
        " bytes, in the second case 64 bytes more",
        lambda names: (
            "rows of 2048 bytes: 1024" in names["PRINTED"]
            and "rows of 2112 bytes: 64" in names["PRINTED"]
        ),
        "next",
    ),
    Claim(
        "In both cases the 64 lines would fit four times over. But 2,048 bytes are 32 lines, and"
        " there are 32 sets: all lines of a column go to the *same* set, which has 8 places",
        lambda names: (
            sets_of_a_column(names, 2048) == 1 and 2048 == 32 * 64 and 16_384 == 4 * 64 * 64
        ),
    ),
    Claim(
        "One line more in each row, and they spread over all sets",
        lambda names: sets_of_a_column(names, 2048 + 64) == 32,
    ),
    Claim(
        "The plain loops have eight times as many",
        lambda names: "8.5 times" in names["PRINTED"] and "7.7 times" in names["PRINTED"],
    ),
    Claim(
        "a piece of 16 x 16 numbers, a **tile**. It lies in 16 lines of `a`, and its transpose in"
        " 16 lines of `out`. All 32 fit",
        lambda names: tile_lines(names) == (16, 16),
    ),
    Claim(
        "at most 1.1 times the compulsory misses, for 64 x 64, for 61 x 67",
        lambda names: within(names, 1.1),
        "end",
    ),
    Claim(
        "The bound is 1.6 times the misses of `a + a`, which are compulsory",
        lambda names: names["misses_to_add"](names["add_itself"], 96) == 2 * 96 * 96 // 16,
        "end",
    ),
    Claim(
        "With one simple thought you can even get to 1.0",
        lambda names: ratio_of(names, "add_transposed") == 1.0,
        "end",
    ),
    Claim(
        "The number to beat is 1.6 times. Ours needs 1.00",
        lambda names: ratio_of(names, "add_transposed") == 1.0,
    ),
    Claim(
        "32 million bytes",
        lambda names: 8000 * 4096 // 10**6 == 32 and names["first"] in (None, *range(9000)),
        "next",
    ),
    Claim(
        "Hardly any, or none at all",
        lambda names: None in names["pooled"] or max(names["pooled"][1:]) < 100,
    ),
    Claim(
        "How many cycles does it take for 1,000 numbers?",
        lambda names: len(names["numbers"]) == 1000 and names["adder"].cycles == 4 * 999,
        "next",
    ),
    Claim(
        "Four cycles for each addition, where the machine could do two additions in one: it is"
        " eight times too slow",
        lambda names: (
            names["adder"].cycles == 4 * names["adder"].count
            and names["adder"].width * names["adder"].latency == 8
        ),
    ),
    Claim(
        "Eight: the latency times the width",
        lambda names: names["cycles"][16] == names["cycles"][8] < names["cycles"][4],
    ),
    Claim(
        "Ours has 8",
        lambda names: len(names["Lanes"]().load(names["Row"]([1.0] * 8), 0)) == 8,
        "next",
    ),
    Claim(
        "It can also load fewer than 8 numbers: then the other lanes are 0",
        lambda names: names["Lanes"]().load(names["Row"]([1.0]), 0, 1) == [1.0] + [0.0] * 7,
        "next",
    ),
    Claim(
        "It passed all tests: they used 8, 64 and 1,000 numbers. What happens with 6?",
        lambda names: (
            all(passes_with(names, n) for n in (8, 64, 1000)) and not passes_with(names, 6)
        ),
        "next",
    ),
    Claim(
        "Places 6 and 7 were overwritten",
        lambda names: list(names["memory"].numbers)[6:] == [2.0, 2.0, 99.0],
    ),
    Claim("A popular trick ends with a last vector over the last 8 numbers", once_more, "end"),
    Claim(
        "with the same bits for every length up to 33",
        lambda names: "skipped" in names["PRINTED"] or "34 of 34" in names["PRINTED"],
        "next",
    ),
    Claim(
        "`float16` has only 65,536 numbers",
        lambda names: len(names["HALVES"]) == 65_536,
        "next",
    ),
    Claim(
        "x - x is 0, x · 0 is 0, x is equal to itself",
        lambda names: all(
            names["found"][rule] for rule in ("x - x is 0", "x * 0 is 0", "x != x is False")
        ),
        "end",
    ),
    Claim(
        "nan is the same as nan, but -0.0 is not the same as 0.0",
        lambda names: names["same"](math.nan, math.nan) and not names["same"](-0.0, 0.0),
    ),
    Claim("a program that checks for nan finds none", survives),
    Claim("The last rule always holds", survives),
]
NOT_CLAIMS = {
    "a matrix of 1,024 rows": "the question, which the next cells measure",
    "took 2 to 5 times as long on the machine where this was written": "a time, seen once",
    "the whole **line** of 64 bytes": "what most processors have, and our model",
    "with the numbers 0, 1, 2, …": "how lines are counted",
    "matrices with 1,024 or 2,048 columns are slower": "of real machines; see the model above",
    "at most 16 numbers may have been read and not yet written": "the rule, which the check counts",
    "At most 16 numbers may be read and not yet used": "the rule, which the check counts",
    "matrices of 2,000 rows. (Why not 2,048?": "the size in the cell below",
    "took 11 to 18 times as long as `a + a`, and the tiles 6 to 7 times": "times, seen once",
    "a free page of 4,096 bytes": "what Linux has on most machines",
    "If the first number is far below 8,000": "what to think if it is",
    "k, k + ways, k + 2 · ways, …": "the exercise",
    "4, 8 or 16 lanes of `float32`": "of processors: 128, 256 or 512 bits",
    "Numbers outside 0 to n - 1 are": "the exercise",
    "at most 7 numbers of each row": "the rule, which the check counts",
    "Will an add of 8 lanes run 8 times as fast": "a question",
    "12 bytes have to be moved": "three numbers of four bytes",
    "nan, infinity and -0.0 still mean": "what 13.8 checked",
    "vectors of 4 lanes, newer ones 8 or 16": "of processors",
    "Tiles of 16 x 16 are right for one cache": "see exercise 13.3",
    "at most 1.25 times the compulsory misses": "the rule, which the check counts",
    "64 x 64 and 128 x 128 numbers, lines of 32 to 256 bytes": "the cases of the check",
}
