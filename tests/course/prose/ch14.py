"""What the text of chapter 14 claims, all of it counted."""

from __future__ import annotations

import math
import platform
from fractions import Fraction
from typing import Any

from course.exercises import ch14
from prose import Claim

Names = dict[str, Any]
N = 48


def machine(names: Names, program: Any, n: int = N, **about: Any) -> Any:
    """What the machine counts for a program on matrices of n x n."""
    return names["Machine"](**about, **names["matrices"](n, n, n)).run(program)


def micro(names: Names, rows: int, vectors: int) -> Any:
    """The machine after a product in register tiles of this shape."""
    return machine(names, names["by_tiles"](N, rows, vectors), lanes=2)


def alone(names: Names, rows: int, columns: int, depth: int = 8) -> Any:
    """One tile of so many registers on its own, with one lane."""
    given = names["matrices"](rows, depth, columns)
    return names["Machine"](**given).run(names["tile"](range(rows), range(depth), range(columns)))


def lines_of(names: Names, name: str, n: int = N) -> int:
    """How many lines a matrix of n x n has."""
    return -(-n * n // 8)


def column_of(names: Names) -> bool:
    """Down a column of B, each of 48 numbers is on a line of its own, and is missed every time."""
    found = names["Machine"](**names["matrices"](N, N, N))
    for _ in range(2):
        for k in range(N):
            found.touch("B", k, 0, 1)
    return bool(found.lines.misses == 2 * N > 32)


def in_thrice(names: Names, size: int) -> bool:
    """Whether three tiles of this size, aligned, fit into 32 lines."""
    return 3 * size * -(-size // 8) <= 32


def straddling(names: Names) -> bool:
    """Rows of a tile of 6 begin at 0, 6, 12, 18 ...: some cross into the next line."""
    crossed = {start // 8 != (start + 5) // 8 for start in range(0, 48, 6)}
    return crossed == {False, True} and not any(s // 8 != (s + 3) // 8 for s in range(0, 48, 4))


def within(names: Names, size: int) -> bool:
    """Misses are near n^3 / sqrt(S), where tiles fit; S = 256 numbers."""
    found = machine(names, names["tiled"](N, size)).lines.misses * 8
    return 1 < found / (N**3 / math.sqrt(256)) < 5


def all_orders(names: Names) -> list[float]:
    return [order(names["terms"]) for order in names["ORDERS"].values()]


def bits_of_blocks(names: Names) -> bool:
    """Rows, columns, lanes and a depth that goes on keep all bits; other sums do not."""
    draw = names["random"].Random(11)
    n = 24
    given = {
        name: [[draw.gauss(0, 1) for _ in range(n)] for _ in range(n)] for name in ("A", "B", "C")
    }

    def c(program: Any, **about: Any) -> Any:
        return names["Machine"](**about, **given).run(program).read("C")

    plain = c(names["ijk"](range(n), range(n), range(n)))
    same = [
        c(names["ikj"](range(n), range(n), range(n))), c(names["tiled"](n, 8)),
        c(names["by_tiles"](n, 4, 3), lanes=2), c(names["by_tiles"](n, 2, 1, lanes=4), lanes=4),
    ]  # fmt: skip
    backward = c(names["ijk"](range(n), range(n - 1, -1, -1), range(n)))
    return all(found == plain for found in same) and backward != plain


def without_packing_edges(names: Names) -> bool:
    """The last panel of 10 columns has zeros where there are none."""
    packed = names["pack_panels"]([[1.0] * 10 for _ in range(3)], 4)
    return packed.count(0.0) == 3 * 2 and len(packed) == 3 * 12


def ways(names: Names, size: tuple[int, int, int]) -> list[bool]:
    return [names["agrees"](way, *size) for way in names["WAYS"].values()]


def overwriting(names: Names) -> bool:
    """The second way is right if what overlaps is computed anew, and not added again."""
    given = names["matrices"](9, 3, 13)
    a, b, c = given["A"], given["B"], given["C"]

    def block(a: Any, b: Any, c: Any, rows: Any, columns: Any) -> None:
        for i in rows:
            for j in columns:
                c[i][j] = sum(a[i][k] * b[k][j] for k in range(len(b)))

    second = type(names["second_way"])(names["second_way"].__code__, {**names, "add_block": block})
    second(a, b, c)
    return bool(c == names["right_product"](a, b))


def compiled(names: Names) -> bool:
    """Where there is a compiler, tiles are faster than the loops; all recorded on x86-64."""
    if not names["compiler"] or platform.machine() != "x86_64":
        return True
    printed = names["PRINTED"]
    return float(printed.split("your tiles are ")[1].split()[0]) > 1.5


def loads(names: Names) -> float:
    found = micro(names, 4, 3)
    return float(found.loads / found.multiply_adds)


CLAIMS = [
    Claim(
        "There are 16 registers. You may use any names you like, but if you use more than 16",
        lambda names: names["Machine"](A=[[1.0]]).room == 16,
        when="next",
    ),
    Claim(
        "The cache has 32 lines, and a **line** holds 8 neighbours in memory",
        lambda names: (
            names["Machine"](A=[[1.0]]).lines.size == 32
            and names["Machine"](A=[[1.0]]).lines.span == 8
        ),
        when="next",
    ),
    Claim(
        "If the line is not among the 32 that were used last",
        lambda names: names["Machine"](A=[[1.0]]).lines.size == 32,
        when="next",
    ),
    Claim(
        "**pages** of 512 numbers. The machine remembers where the last 16 pages are",
        lambda names: (
            names["Machine"](A=[[1.0]]).pages.span == 512
            and names["Machine"](A=[[1.0]]).pages.size == 16
        ),
        when="next",
    ),
    Claim(
        "Two loads for each multiply-add, and more misses than multiply-adds. All three matrices "
        "together are 864 lines",
        lambda names: (
            2 <= names["by_ijk"].loads / names["by_ijk"].multiply_adds < 2.03
            and names["by_ijk"].lines.misses > names["by_ijk"].multiply_adds
            and 3 * lines_of(names, "A") == 864
        ),
    ),
    Claim(
        "About a ninth, although it does more",
        lambda names: (
            8.5 < names["by_ijk"].lines.misses / names["by_ikj"].lines.misses < 9.5
            and names["by_ikj"].stores > names["by_ijk"].stores
            and names["by_ikj"].loads >= names["by_ijk"].loads
        ),
    ),
    Claim(
        "it fetches a line of 8 numbers and uses one of them. By the time it returns for the next "
        "number of that line, 48 other lines have been there, and the cache holds 32",
        column_of,
    ),
    Claim(
        "one miss in 8 loads of `B`, and that is what these 14,400 misses are",
        lambda names: names["by_ikj"].lines.misses == 14_400 == N**3 // 8 + 576,
    ),
    Claim(
        "`B` is read completely for each of 48 rows, and has 288 lines. That is 13,824 misses. "
        "`A` and `C` are read once, 288 each",
        lambda names: (
            lines_of(names, "B") == 288
            and 48 * 288 == 13_824
            and names["by_ikj"].lines.misses == 13_824 + 2 * 288
        ),
    ),
    Claim(
        "Take 2 rows of `A` and 2 columns of `B`. That is 2 + 2 numbers at each step of the depth, "
        "and they make 2 x 2 products",
        lambda names: (
            alone(names, 2, 2).loads == 4 + 8 * (2 + 2)
            and alone(names, 2, 2).multiply_adds == 8 * 2 * 2
        ),
        when="end",
    ),
    Claim(
        "counts as 2 multiply-adds",
        lambda names: micro(names, 4, 3).multiply_adds == N**3,
        when="end",
    ),
    Claim(
        "4 rows and 3 registers of columns are 12 sums, so 4 registers are left",
        lambda names: 4 * 3 == 12 and 16 - 12 == 4,
    ),
    Claim(
        "From 2 down to 0.302, and then it jumps: 4 x 4 sums need all 16 registers",
        lambda names: (
            round(loads(names), 3) == 0.302
            and names["loads"]["4 x 4"] > 2 * loads(names)
            and micro(names, 4, 4).stores > 2 * micro(names, 4, 3).stores
        ),
    ),
    Claim(
        "But look at 4 x 3 and 3 x 4. Both have 12 sums",
        lambda names: names["loads"]["3 x 4"] > 2 * names["loads"]["4 x 3"],
    ),
    Claim(
        "holds a whole row of `B`, 3 registers or 4, and one number of `A`",
        lambda names: 4 * 3 + 3 + 1 == 16 and 3 * 4 + 4 + 1 == 17,
    ),
    Claim(
        "the best shape by this count is 5 x 5",
        lambda names: names["best_tile"](32) == (5, 5),
    ),
    Claim(
        "one load serves three multiply-adds now",
        lambda names: 3 < 1 / loads(names) < 4,
    ),
    Claim(
        "The 4 x 3 micro-kernel, best in loads, has 10,080 misses. Each tile reads 4 rows of `A` "
        "and 6 columns of `B` over the whole depth, far more than the cache holds",
        lambda names: (
            micro(names, 4, 3).lines.misses == 10_080
            and min(names["loads"], key=names["loads"].get) == "4 x 3"
            and 4 * 6 + 48 > 2 * 32
        ),
    ),
    Claim(
        "8 is best, and again you could have known. A tile of 8 x 8 is 8 lines, three of them are "
        "24, and 32 fit. At 16 a tile is 32 lines on its own",
        lambda names: (
            min(names["by_size"], key=names["by_size"].get) == 8
            and in_thrice(names, 8)
            and not in_thrice(names, 12)
            and 16 * 16 // 8 == 32
        ),
    ),
    Claim(
        "`C` has 36 tiles; each is 8 lines, and for each of them 6 tiles of `A` and 6 of `B` are "
        "fetched. 36 x (8 + 12 x 8) = 3,744, exactly what was counted",
        lambda names: (48 // 8) ** 2 == 36 and 36 * (8 + 12 * 8) == 3744 == names["by_size"][8],
    ),
    Claim(
        "And 6? A tile of 6 has rows of 6 numbers, which begin anywhere in a line and sometimes "
        "cross into the next. So tiles of 6 are no better than tiles of 4",
        lambda names: names["by_size"][6] == names["by_size"][4] and straddling(names),
    ),
    Claim(
        "A cache of $S$ numbers holds tiles of side $\\sqrt{S/3}$, each number that is fetched is "
        "used that many times, and so a product of $n^3$ multiply-adds needs in the order of "
        "$n^3/\\sqrt{S}$ numbers",
        lambda names: within(names, 8) and 3 * math.sqrt(256 / 3) ** 2 <= 256.1,
    ),
    Claim(
        "64 pages, and the machine remembers 16. So the second pass has to look them all up again, "
        "and fetches all its lines again",
        lambda names: (
            names["unpacked"].pages.misses == 2 * 64 and names["unpacked"].lines.misses % 2 == 0
        ),
    ),
    Claim(
        "One page instead of 64, and 48 lines for each pass instead of 64. (The cache holds 32",
        lambda names: (
            names["packed"].pages.misses == 1
            and names["packed"].lines.misses == 2 * 48
            and names["unpacked"].lines.misses == 2 * 64
        ),
    ),
    Claim("The zeros at the end are welcome as well", without_packing_edges),
    Claim(
        "All three agree, because whoever wrote this test took sizes that divide by 4 and by 6",
        lambda names: ways(names, (8, 5, 12)) == ways(names, (16, 3, 18)) == [True] * 3,
    ),
    Claim(
        "The check tries them on eight planted products, each with a fault of its own. Two of them "
        "you have just seen",
        lambda names: len(ch14.PLANTED) == 8,
    ),
    Claim(
        "The first way forgets the corner where both edges meet. The second computes what overlaps "
        "twice",
        lambda names: (
            ways(names, (9, 2, 13)) == [False, False, True]
            and ways(names, (9, 2, 12)) == [True, False, True]
        ),
    ),
    Claim("would be right for a product that overwrites `C`", overwriting),
    Claim(
        "Four orders, and different last digits. None of them is *the* right one; the exact sum is "
        "yet another number",
        lambda names: len({*all_orders(names), float(sum(map(Fraction, names["terms"])))}) == 5,
    ),
    Claim("Everything else is free", bits_of_blocks, when="end"),
    Claim(
        "An addition does one operation for 12 bytes. However clever its code, a memory of 12 GB a "
        "second feeds one billion additions a second",
        lambda names: (
            names["work"]("add", 8) == (64, 64 * 12)
            and names["bound"](1, 12, 1e12, 12e9) == (1e9, "memory")
        ),
        when="end",
    ),
    Claim(
        "A product of 256 does 43 operations for each byte, and the larger it gets the more: its "
        "intensity is n / 6",
        lambda names: (
            round(256 / 6) == 43
            and all(
                6 * names["work"]("product", n)[0] == n * names["work"]("product", n)[1]
                for n in (6, 100, 256)
            )
        ),
    ),
    Claim(
        "the best of 15 counts; and a **probe**, always the same work, is timed before and after. "
        "If the two probes differ by more than 15 %",
        lambda names: (
            names["by_turns"].__defaults__ == (15,) and 1.15 in names["by_turns"].__code__.co_consts
        ),
        when="next",
    ),
    Claim(
        "The product has 16 billion operations. In 0.20 s that is 80 billion a second, and 17 s / "
        "73 is 0.233 s, which is 69 billion a second for PyTorch",
        lambda names: (
            2 * 2000**3 == 16e9
            and round(16 / 0.20) == 80
            and round(17 / 73, 3) == 0.233
            and round(16 / 0.233) == 69
        ),
    ),
    Claim(
        "With that, the product takes 0.026 s",
        lambda names: round(16 / 606, 3) == 0.026,
    ),
    Claim(
        "Square tiles of 8 have 3,744 misses at n = 48",
        lambda names: machine(names, names["tiled"](N, 8)).lines.misses == 3744,
    ),
    Claim(
        "(Ours has 1,728, twice the compulsory ones.)",
        lambda names: (
            machine(names, names["both"](N), lanes=2, lines=128).lines.misses == 1728 == 2 * 864
        ),
        when="end",
    ),
    Claim("Recorded on one core of an Intel Xeon with AVX-512, by GCC 12", compiled),
]
NOT_CLAIMS = {
    "Our machine gets 2 lanes from here on": "what is chosen",
    "for numbers of 8 bytes": "of what is chosen: 16 bytes, as SSE2, NEON and WebAssembly have",
    "with 16 registers of 2 lanes?": "the question",
    "With 32 registers, as AVX-512 and ARM have them": "of other machines",
    "The cache has 32 lines of 8 numbers. Predict the best size among 4, 6, 8, 12, 16 and 24. "
    "(Then predict whether 6 is better than 4.": "the question",
    "The check counts misses at n = 48 with tiles of 8: at most 4.4 times": "the task",
    "Let `B` have 512 columns, so that each row is a page. The micro-kernel reads 6 columns of it, "
    "row by row. Predict: for a depth of 64, on how many pages do these 384 numbers lie?":
        "the question",
    "as wide as a register tile: 6 columns": "what is chosen",
    "counted from 0": "the task",
    "in tiles of 4 rows and 6 columns": "the task",
    "more than 3,000 multiply-adds in all": "the task",
    "that are each summed from 0 and then added": "the question",
    "A sum that begins at 0 for each tile": "of orders, which are tried above",
    "differ by 1 or more": "the task",
    "Everything is float32, 4 bytes each": "the task",
    "one picture of n x n and 8 filters of 5 x 5, without a border, so that n - 4 places fit in "
    "each direction. It gives 8 maps": "the task",
    "keys and values of width 64": "the task",
    "The four tables of n x 64": "the task",
    "a product of 2,000 x 2,000 took 17 s with plain loops, and 0.20 s after all optimisations. "
    "PyTorch was said to be 73 times": "what was published",
    "measure PyTorch at 606 billion a second": "what was published",
    "fewer than 15 times were measured": "the task",
    "differ by more than 15 % of the smaller one": "the task",
    "A product has $2 n^3$": "the task",
    "of shape (count - size + 1, outputs)": "the task",
    "head 0 owns the first columns, head 1 the next ones": "the task",
    "with at most 3,300 misses at n = 48": "the task",
    "for a machine with 2 lanes and a cache of 128 lines. It has to be right for every n that is a "
    "multiple of 12. At n = 48 it may have at most 0.35 loads per multiply-add and 2,400 misses":
        "the task",
    "AVX-512 and matrices of 1,000 x 1,000": "what was recorded",
    "it is a factor of 74": "what was recorded: 1256.1 / 17.0",
    "lanes of 16, 32 or 64 bytes": "of levels, which the tests of kernels go through",
}  # fmt: skip
