"""Chapter 14, matmul to the roof: twelve exercises, two challenges, five questions."""

from __future__ import annotations

import copy
import itertools
import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from course.compare import short
from course.exercise import Judge, exercise, question
from course.exercises.ch07 import needs_tensor
from course.library import ours, theirs_or_ours

Rows = list[list[float]]
Program = Callable[..., Any]
Size = tuple[int, int, int]  # rows, depth, columns of a product


own = partial(theirs_or_ours, chapter=14)


# ---- programs for the machine --------------------------------------------------------------------


def filled(m: int, n: int, seed: int) -> Rows:
    """Random quarters: their products and sums are exact, in any order."""
    draw = random.Random(seed)
    return [[draw.randint(-16, 16) / 4 for _ in range(n)] for _ in range(m)]


def matrices(size: Size) -> dict[str, Rows]:
    """A, B, and a C that is not empty, to which the product is to be added."""
    m, depth, n = size
    return {"A": filled(m, depth, 5), "B": filled(depth, n, 6), "C": filled(m, n, 7)}


def added(given: dict[str, Rows], rows: Any, depth: Any, columns: Any) -> Rows:
    """C + A @ B, where the product is added for these rows, columns and depth alone."""
    a, b, c = given["A"], given["B"], copy.deepcopy(given["C"])
    for i in rows:
        for j in columns:
            c[i][j] += sum(a[i][k] * b[k][j] for k in depth)
    return c


def executed(
    judge: Judge, program: Program, about: tuple[Any, ...], given: dict[str, Rows], **kind: Any
) -> Any:
    """The machine after it has run program(*about) on these matrices."""
    call = f"{program.__name__}({', '.join(map(str, about))})" if _named(program) else ""
    judge.called, judge.given = call, ""
    steps = judge.run(lambda: program(*about))
    found = "it gives no steps: a program yields them, one after the other"
    judge.that(hasattr(steps, "__iter__") and not isinstance(steps, tuple | str), found)
    machine = ours(14).Machine(**kind, **given)
    try:
        judge.run(lambda: machine.run(steps))
    finally:
        judge.called = call
    return machine


def _named(program: Any) -> bool:
    return isinstance(getattr(program, "__name__", None), str)


def multiplied(
    judge: Judge, program: Program, about: tuple[Any, ...], size: Size, parts: Any, **kind: Any
) -> Any:
    """As `executed`, for a product that has to be right; the machine, for what was counted."""
    given = matrices(size)
    machine = executed(judge, program, about, given, **kind)
    words = f"C, which was not empty, after A of {size[0]} x {size[1]} and B of {size[1]} x"
    words += f" {size[2]}" + (f", lanes={kind['lanes']}" if "lanes" in kind else "")
    judge.close(machine.read("C"), added(given, *parts), given=words, rtol=0, atol=0)
    for name in ("A", "B"):
        judge.that(machine.read(name) == given[name], f"the program has changed {name}")
    wanted = math.prod(len(part) for part in parts)
    judge.that(
        machine.multiply_adds == wanted,
        f"{machine.multiply_adds:,} multiply-adds, where {wanted:,} do",
        given=words,
    )
    return machine


def at_most(judge: Judge, number: int, most: int, what: str, given: str) -> None:
    """A count, and its limit."""
    judge.that(number <= most, f"{number:,} {what}; {most:,} are allowed", given=given)


@exercise(
    "14.1",
    "i, k, j",
    answer="ikj",
    minutes=8,
    seconds=5,
    hints=(
        "The sum that was in a register in `ijk` changes with every step of the innermost loop "
        "now. Where does it stay in the meantime?",
        "In C. So the innermost loop loads C[i][j] and B[k][j], does an fma, and stores C[i][j]. "
        "A[i][k] is the same for the whole loop.",
        "for i in rows, for k in depth: load A[i][k]. Then for j in columns: load the sum and b, "
        'yield "fma", "sum", "a", "b", and store the sum to C[i][j].',
    ),
    why_ours="A number of A is loaded where its loop begins, so that the innermost loop has two "
    "loads and a store, all of them along rows.",
)
def check_14_1(judge: Judge, program: Program) -> None:
    """ikj(rows, depth, columns) is a program that adds A @ B to C along rows of B and C, for these
    rows, columns and depth; at 32 x 32 it has 2 n^3 + n^2 loads and 4,352 misses at most."""
    for size in ((1, 1, 1), (2, 3, 2), (3, 2, 4), (5, 4, 3)):
        parts = tuple(map(range, size))
        multiplied(judge, program, parts, size, parts)
    parts = (range(1, 4), range(2, 3), range(1, 6, 2))
    multiplied(judge, program, parts, (5, 4, 6), parts)
    every = (range(32),) * 3
    machine = multiplied(judge, program, every, (32, 32, 32), every)
    given = "at 32 x 32"
    at_most(judge, machine.loads, 2 * 32**3 + 32**2, "loads", given)
    at_most(judge, machine.lines.misses, 32 * 128 + 2 * 128, "misses", given)


TILES = [  # lanes, rows, columns (each the first of a register), depth, and the size of the product
    (1, range(1), range(1), range(1), (1, 1, 1)),
    (2, range(1), range(0, 2, 2), range(3), (1, 3, 2)),
    (2, range(2), range(0, 4, 2), range(3), (2, 3, 4)),
    (1, range(1, 3), range(2, 5), range(1, 4), (4, 5, 6)),
    (2, range(2, 6), range(2, 8, 2), range(4), (7, 4, 9)),
    (4, range(3), range(4, 12, 4), range(2, 7), (3, 8, 12)),
]


@exercise(
    "14.2",
    "The micro-kernel",
    answer="tile",
    minutes=15,
    seconds=5,
    hints=(
        "There are three parts: load all sums, go through the depth, store all sums. Any tuple "
        "can be the name of a register, such as (i, j) for a sum.",
        'In each step of the depth, load a register ("b", j) for each j first. Then, for each i, '
        "spread A[i][k] into one register that all rows use in turn, and do an fma for each j.",
        'for k in depth: for j in columns: yield "load", ("b", j), "B", k, j. Then for i in rows: '
        'yield "spread", "a", "A", i, k, and for j in columns: '
        'yield "fma", (i, j), "a", ("b", j).',
    ),
    why_ours="Names say which registers there are: one for each sum, one for each j of a row of B, "
    "and a single `a`, which every row uses in turn. That makes 16 for 4 rows and 3 columns.",
)
def check_14_2(judge: Judge, program: Program) -> None:
    """tile(rows, depth, columns) adds A @ B to C with all sums in registers: for r rows, c
    registers of columns and a depth of d it has r c + d (r + c) loads and r c stores, and a tile of
    4 x 3 does not spill."""
    for lanes, rows, columns, depth, size in TILES:
        whole = [j + lane for j in columns for lane in range(lanes)]
        about, parts = (rows, depth, columns), (rows, depth, whole)
        machine = multiplied(judge, program, about, size, parts, lanes=lanes)
        sums, ends = len(rows) * len(columns), len(rows) + len(columns)
        given = f"a tile of {len(rows)} x {len(columns)} registers, a depth of {len(depth)}"
        at_most(judge, machine.loads, sums + len(depth) * ends, "loads", given)
        at_most(judge, machine.stores, sums, "stores", given)


@exercise(
    "14.3",
    "The best tile",
    answer="best_tile",
    minutes=10,
    hints=(
        "How many registers does a tile of r x c need, if it holds all sums, one row of B and one "
        "number of A? And how many loads does it have for each fma?",
        "It needs r c + c + 1 registers, and has (r + c) / (r c) loads for each fma.",
        "Go through all r and c below the number of registers, leave out those that need too "
        "many, and take the smallest by (r + c) / (r c): min(shapes, key=...).",
    ),
    why_ours="There are so few shapes that trying all of them is the clearest derivation.",
)
def check_14_3(judge: Judge, best_tile: Any) -> None:
    """best_tile(registers) is the shape (rows, vectors) with the fewest loads for each fma that
    needs at most so many registers: for its sums, one row of B, and one number of A."""
    micro = ours(14).tile
    for registers in (16, 3, 8, 32, 12, 24, 64):
        got = judge.call(best_tile, registers)
        judge.that(
            type(got) is tuple and len(got) == 2 and all(type(x) is int and x > 0 for x in got),
            f"it gives {short(got)}; a tuple of two numbers is asked for, (rows, vectors)",
        )
        r, c = got
        needs = r * c + c + 1
        if needs <= 2 * registers:  # count it: the sums are loaded once and stored once
            size, depth = (r, 3, c), range(3)
            machine = ours(14).Machine(registers=registers, **matrices(size))
            machine.run(micro(range(r), depth, range(c)))
            spilled = machine.loads - (r * c + 3 * (r + c))
            found = f"{r} x {c} spills: {spilled} loads too many in 3 steps of the depth"
            judge.that(spilled <= 0 and needs <= registers, found)
        judge.that(needs <= registers, f"{r} x {c} needs {needs} registers")
        least = min(
            (x + y) / (x * y)
            for x in range(1, registers)
            for y in range(1, registers)
            if x * y + y + 1 <= registers
        )
        found = f"{r} x {c} has {(r + c) / (r * c):.3f} loads for each fma; there is a shape with "
        judge.that((r + c) / (r * c) <= least + 1e-12, found + f"{least:.3f}")


def in_tiles(judge: Judge, program: Program, sizes: tuple[tuple[int, ...], ...]) -> None:
    """A program for whole matrices has to be right for these: n, and the rest of its arguments."""
    for n, *rest in sizes:
        parts = (range(n),) * 3
        multiplied(judge, program, (n, *rest), (n, n, n), parts)


@exercise(
    "14.4",
    "Cache tiles",
    answer="tiled",
    minutes=12,
    seconds=10,
    hints=(
        "Three loops over tiles, and inside them one call of a program that you have already. "
        "`yield from` hands on its steps.",
        "The ranges of a tile begin at 0, size, 2 size, ... and end size later, but never beyond "
        "n: range(start, min(start + size, n)).",
        "Make the list of these ranges once; then for rows in it, for columns in it, for depth in "
        "it: yield from ikj(rows, depth, columns).",
    ),
    why_ours="One list of ranges serves all three loops, and the edges are in it already.",
)
def check_14_4(judge: Judge, program: Program) -> None:
    """tiled(n, size) adds A @ B to C in tiles of size x size, for any n; at n = 48 tiles of 8 have
    at most 4.4 times the 864 misses that nobody can avoid."""
    in_tiles(judge, program, ((4, 2), (1, 1), (5, 2), (7, 3), (6, 8), (9, 4)))
    machine = executed(judge, program, (48, 8), matrices((48, 48, 48)))
    at_most(judge, machine.lines.misses, int(4.4 * 864), "misses", "n = 48, tiles of 8")
    machine = executed(judge, program, (24, 24), matrices((24, 24, 24)))
    found = "tiles of another size than the one that is asked for"
    judge.that(machine.lines.misses > 1500, found, given="n = 24, one tile of 24")


@exercise(
    "14.5",
    "Where it goes",
    answer="packed_at",
    minutes=10,
    hints=(
        "Which panel is column j in, and which column of that panel is it? How many numbers does "
        "a whole panel have?",
        "divmod(j, width) gives the panel and the column within it. A panel has depth * width "
        "numbers, and a row of it has width.",
        "panel * (all numbers of a panel) + k * (the numbers of a row) + column.",
    ),
    why_ours="It is a formula of strides, as in chapter 2, for a table with the three axes panel, "
    "row and column.",
)
def check_14_5(judge: Judge, packed_at: Any) -> None:
    """packed_at(k, j, depth, width) is where B[k][j] lies in panels of `width` columns: no two at
    the same place, neighbours side by side, and each panel on as few lines and pages as can be."""
    for depth, columns, width in ((2, 4, 4), (3, 8, 4), (4, 10, 4), (64, 18, 6), (5, 3, 8)):
        panels = -(-columns // width)
        size, given = panels * depth * width, f"depth {depth}, {columns} columns, width {width}"
        places: dict[int, tuple[int, int]] = {}
        for panel in range(panels):
            there = min(width, columns - panel * width)
            here = _panel(judge, packed_at, panel, depth, there, width)
            for k, j, place in here:
                words = f"B[{k}][{j}], {given}"
                judge.that(type(place) is int, f"it gives {short(place)}, no whole number")
                found = f"place {place}, of {size} that there are"
                judge.that(0 <= place < size, found, given=words)
                taken = places.get(place)
                found = f"B[{k}][{j}] and B{list(taken or ())} share place {place}"
                judge.that(taken is None, found, given=given)
                places[place] = (k, j)
            _near(judge, here, depth * width, f"panel {panel}, {given}")


def _panel(
    judge: Judge, packed_at: Any, panel: int, depth: int, columns: int, width: int
) -> list[tuple[int, int, Any]]:
    """(k, j, place) of a panel, in the order in which the micro-kernel reads it."""
    every = itertools.product(range(depth), range(panel * width, panel * width + columns))
    return [(k, j, judge.call(packed_at, k, j, depth, width)) for k, j in every]


def _near(judge: Judge, here: list[tuple[int, int, Any]], numbers: int, given: str) -> None:
    """Rows of a panel lie side by side, and all of it on few lines and pages."""
    for (k, j, place), (below, _, following) in itertools.pairwise(here):
        found = f"B[{k}][{j}] is at {place}, and its neighbour in the row at {following}"
        judge.that(k != below or following == place + 1, found, given=given)
    for span, what in ((8, "lines"), (512, "pages")):
        pieces = len({place // span for _, _, place in here})
        at_most(judge, pieces, -(-numbers // span) + 1, f"{what} for {numbers} numbers", given)


# ---- the hunt: edges -----------------------------------------------------------------------------

Cut = list[tuple[range, range, range]]  # blocks of a product: rows, columns, depth


def _from(size: int, step: int) -> list[range]:
    return [range(start, min(start + step, size)) for start in range(0, size, step)]


def _grid(m: int, d: int, n: int) -> Cut:
    return [(rows, columns, range(d)) for rows in _from(m, 4) for columns in _from(n, 6)]


def _no_corner(m: int, d: int, n: int) -> Cut:
    return [block for block in _grid(m, d, n) if len(block[0]) == 4 or len(block[1]) == 6]


def _overlapping(m: int, d: int, n: int) -> Cut:
    found = []
    for top, left in itertools.product(range(0, m, 4), range(0, n, 6)):
        top, left = min(top, m - 4), min(left, n - 6)
        found.append((range(top, top + 4), range(left, left + 6), range(d)))
    return found


def _no_last_rows(m: int, d: int, n: int) -> Cut:
    return [block for block in _grid(m, d, n) if len(block[0]) == 4]


def _no_last_columns(m: int, d: int, n: int) -> Cut:
    return [block for block in _grid(m, d, n) if len(block[1]) == 6]


def _in_pairs(m: int, d: int, n: int) -> Cut:
    return [(rows, columns, range(d - d % 2)) for rows, columns, _ in _grid(m, d, n)]


def _edge_always(m: int, d: int, n: int) -> Cut:
    extra = [(range(m - 4, m), columns, range(d)) for columns in _from(n, 6)] * (m % 4 == 0)
    return _grid(m, d, n) + extra


def _two_panels(m: int, d: int, n: int) -> Cut:
    return [block for block in _grid(m, d, n) if block[1].start < 12]


def _never_small(m: int, d: int, n: int) -> Cut:
    return _grid(m, d, n) if m >= 4 else []


PLANTED: dict[str, Callable[[int, int, int], Cut]] = {
    "forgets the corner where both edges meet": _no_corner,
    "moves the last tiles back, and computes twice what overlaps": _overlapping,
    "leaves out the last rows": _no_last_rows,
    "leaves out the last columns": _no_last_columns,
    "goes through the depth in pairs, and leaves out the last of an odd one": _in_pairs,
    "treats the lower edge also where the tiles fit": _edge_always,
    "has room for two panels of columns only": _two_panels,
    "does nothing where there are fewer rows than in a tile": _never_small,
}


def caught(cut: Callable[[int, int, int], Cut], size: Size) -> bool:
    """Whether a product that is cut like this is wrong at this size."""
    given = {**matrices(size), "C": [[0.0] * size[2] for _ in range(size[0])]}
    for name in ("A", "B"):  # positive, so that nothing that is left out is 0 by chance
        given[name] = [[abs(x) + 0.25 for x in row] for row in given[name]]
    whole, c = added(given, *(range(x) for x in size)), given["C"]
    for rows, columns, depth in cut(*size):
        if any(i < -len(c) for i in rows) or any(j < -len(c[0]) for j in columns):
            return True
        c = added({**given, "C": c}, rows, depth, columns)
    return c != whole


@exercise(
    "14.6",
    "Sizes that tell",
    answer="sizes",
    minutes=12,
    hints=(
        "Which sizes are usual in a test? Take the opposite: odd ones that no tile fits. What if a "
        "size is smaller than a tile? And what if everything fits?",
        "One size should have both edges, an odd depth, and more than two panels of columns: more "
        "than 12. One should be tiny. One should fit exactly.",
        "A first size such as (5, 3, 19) finds most of them. Add one with fewer than 4 rows, and "
        "one whose rows are a multiple of 4.",
    ),
)
def check_14_6(judge: Judge, sizes: Any) -> None:
    """At most four sizes (m, depth, n), 3,000 multiply-adds together, at which eight planted
    products in tiles of 4 x 6 are each wrong at least once."""
    fits = isinstance(sizes, list | tuple) and len(sizes) > 0
    judge.that(fits, f"it is {short(sizes)}; a list of sizes (m, depth, n) is asked for")
    for size in sizes:
        fits = isinstance(size, list | tuple) and len(size) == 3
        fits = fits and all(type(x) is int and x > 0 for x in size)
        judge.that(fits, f"{short(size)} is no size: three whole numbers, 1 or more")
    judge.that(len(sizes) <= 4, f"there are {len(sizes)} sizes; four are allowed")
    work = sum(math.prod(size) for size in sizes)
    at_most(judge, work, 3000, "multiply-adds", f"the sizes {short(sizes)}")
    missed = [
        what for what, cut in PLANTED.items() if not any(caught(cut, tuple(s)) for s in sizes)
    ]
    found = f"{len(PLANTED) - len(missed)} of {len(PLANTED)} are caught"
    if missed:
        judge.fail({"found": f"{found}. Your sizes do not notice one that {missed[0]}"})
    judge.compared += 1


# ---- the order of a sum --------------------------------------------------------------------------


def _sum(products: list[float]) -> float:
    total = 0.0
    for product in products:
        total += product
    return total


ORDERS: dict[str, Callable[[list[float]], float]] = {
    "from the first to the last": _sum,
    "from the last to the first": lambda p: _sum(p[::-1]),
    "even and odd, then both": lambda p: _sum(p[::2]) + _sum(p[1::2]),
    "halves, each from 0, then both": lambda p: _sum(p[:2]) + _sum(p[2:]),
}


@exercise(
    "14.7",
    "A witness",
    answer="witness",
    minutes=10,
    hints=(
        "A float has 53 binary digits. Beside a large number, a small one is rounded away. When "
        "is it not? If the large one has gone before.",
        "Take a large number and its opposite, 2.0**53 and -2.0**53, and put small ones such as "
        "1.0 and 0.5 between and behind. What is 2.0**53 + 1.0?",
        "The large ones at places 0 and 2 meet early among the even numbers, so that the small "
        "ones at 1 and 3 both survive there. Try which small ones make all four differ.",
    ),
)
def check_14_7(judge: Judge, witness: Any) -> None:
    """Four floats of which the four orders give four different sums, the largest and the smallest
    of them 1 apart or more."""
    fits = isinstance(witness, list | tuple) and len(witness) == 4
    fits = fits and all(type(x) in (int, float) for x in witness)
    judge.that(fits, f"it is {short(witness)}; a list of four numbers is asked for")
    numbers = [float(x) for x in witness]
    judge.that(all(map(math.isfinite, numbers)), "not all of them are finite")
    sums = {name: order(numbers) for name, order in ORDERS.items()}
    judge.that(all(map(math.isfinite, sums.values())), f"a sum is not finite: {sums}")
    for (name, one), (other, two) in itertools.combinations(sums.items(), 2):
        judge.that(one != two, f"two orders give {one!r}: {name}; and {other}")
    apart = max(sums.values()) - min(sums.values())
    judge.that(apart >= 1, f"the largest and the smallest are {apart!r} apart, less than 1")


# ---- the roof ------------------------------------------------------------------------------------


def _work(name: str, n: int) -> tuple[int, int]:
    square, places = n * n, (n - 4) ** 2
    operations, numbers = {
        "add": (square, 3 * square),
        "product": (2 * n**3, 3 * square),
        "convolution": (400 * places, square + 200 + 8 * places),
        "softmax": (5 * square, 2 * square),
        "attention": (261 * square, 256 * n + 4 * square),
    }[name]
    return operations, 4 * numbers


MISTAKES: dict[tuple[str, int], dict[str, Callable[[int], int]]] = {
    ("product", 0): {"a multiply-add counted as one operation": lambda n: n**3},
    ("convolution", 0): {
        "a multiply-add counted as one operation": lambda n: 200 * (n - 4) ** 2,
        "a map as large as the picture": lambda n: 400 * n * n,
        "one filter": lambda n: 50 * (n - 4) ** 2,
    },
    ("convolution", 1): {
        "without the filters": lambda n: 4 * (n * n + 8 * (n - 4) ** 2),
        "one map": lambda n: 4 * (n * n + 200 + (n - 4) ** 2),
        "25 numbers read for each place": lambda n: 4 * (33 * (n - 4) ** 2 + 200),
    },
    ("attention", 0): {
        "one of the two products": lambda n: 133 * n * n,
        "without the softmax": lambda n: 256 * n * n,
        "a multiply-add counted as one operation": lambda n: 133 * n * n,
    },
    ("attention", 1): {
        "without the scores": lambda n: 1024 * n,
        "scores that are written once and read once": lambda n: 4 * (256 * n + 2 * n * n),
        "without the result": lambda n: 4 * (192 * n + 4 * n * n),
    },
}


@exercise(
    "14.8",
    "Operations and bytes",
    answer="work",
    minutes=12,
    hints=(
        "For each of the five: how many numbers come out, and how many operations does each of "
        "them need? Then, which arrays are read, and which are written?",
        "A number of a product needs n multiply-adds; one of a map 25. Scores are n x n numbers of "
        "64 multiply-adds each, and mixing the values is as much again.",
        "attention: 2 * 2 * n * n * 64 + 5 * n * n operations, and 4 * (4 * n * 64 + 4 * n * n) "
        "bytes. convolution: 2 * 25 * 8 * (n - 4)**2 operations.",
    ),
    why_ours="It counts numbers, and multiplies by 4 bytes in one place.",
)
def check_14_8(judge: Judge, work: Any) -> None:
    """work(name, n) gives (operations, bytes) of add, product, convolution, softmax and attention,
    as whole numbers."""
    for name in ("add", "product", "softmax", "convolution", "attention"):
        for n in (8, 5, 100, 256):
            got = judge.call(work, name, n)
            fits = isinstance(got, tuple) and len(got) == 2 and all(type(x) is int for x in got)
            judge.that(fits, f"it gives {short(got)}; a tuple of two whole numbers is asked for")
            for which, what in enumerate(("operations", "bytes")):
                expected, given = _work(name, n)[which], f"the {what} of {name}, n = {n}"
                known = MISTAKES.get((name, which), {})
                named = {words: count(n) for words, count in known.items()}
                if which == 1:
                    named["the numbers, without their 4 bytes"] = expected // 4
                judge.close(got[which], expected, given=given, rtol=0, atol=0, mistakes=named)


@exercise(
    "14.9",
    "Which roof?",
    answer="bound",
    minutes=6,
    hints=(
        "How long would memory take, and how long arithmetic? Or: what rate does each of them "
        "allow on its own?",
        "Memory feeds `bandwidth` bytes a second, and each of them carries operations / moved "
        "operations.",
        "by_memory = operations / moved * bandwidth. The lower one of by_memory and peak binds.",
    ),
    why_ours="It computes one rate and compares; no time is needed.",
)
def check_14_9(judge: Judge, bound: Any) -> None:
    """bound(operations, moved, peak, bandwidth) gives the highest rate that both roofs allow, and
    "memory" or "compute", whichever is lower."""
    cases = [
        (100, 100, 50.0, 10.0), (100, 10, 50.0, 10.0), (1, 12, 96e9, 12e9), (64, 16, 8.0, 16.0),
        (10**9, 4, 1e11, 1e10), (5, 8, 1e10, 1e11), (3, 4, 2.0, 2.5),
    ]  # fmt: skip
    for operations, moved, peak, bandwidth in cases:
        got = judge.call(bound, operations, moved, peak, bandwidth)
        fits = isinstance(got, tuple) and len(got) == 2
        judge.that(fits, f'it gives {short(got)}; (rate, "memory" or "compute") is asked for')
        by_memory = operations * bandwidth / moved
        mistakes = {
            "the rate of the other roof": max(by_memory, peak),
            "bytes for each operation, where it is operations for each byte": (
                moved / operations * bandwidth
            ),
        }
        judge.close(got[0], min(by_memory, peak), given="the rate", mistakes=mistakes)
        judge.equal(got[1], "memory" if by_memory < peak else "compute", given="what binds")


# ---- the judge of a claim ------------------------------------------------------------------------


def claim(**changes: Any) -> dict[str, Any]:
    """A sound claim, changed: mine_n=1000 is n of mine, and dtype that of both."""
    found: dict[str, Any] = {
        "factor": 1.25, "probes": (0.0125, 0.0135), "peak": 125e9,
        "mine": {"seconds": [0.5, 0.4375, *[0.46875] * 14]},
        "theirs": {"seconds": [0.75, 0.59375, *[0.625] * 15]},
    }  # fmt: skip
    for side in ("mine", "theirs"):
        found[side] |= {"dtype": "float32", "threads": 1, "n": 2000, "warmed": True}
    for name, value in changes.items():
        side, _, key = name.partition("_")
        if side in ("mine", "theirs"):
            found[side][key] = value
        elif name in found:
            found[name] = value
        else:
            found["mine"][name] = found["theirs"][name] = value
    return found


OTHER = {"factor": 2.0, "seconds": [1.0] * 15}  # of a claim with other numbers: 2 x 1 > 1
CLAIMS: list[tuple[str, dict[str, Any], set[str]]] = [
    ("a sound one", claim(), set()),
    ("another dtype", claim(theirs_dtype="float64"), {"dtype"}),
    ("a sound one of float64", claim(dtype="float64"), set()),
    ("a dtype that nobody states", claim(dtype=None), {"dtype"}),
    ("threads", claim(mine_threads=2), {"threads"}),
    ("threads stated on one side", claim(theirs_threads=None), {"threads"}),
    ("a sound one with two threads", claim(threads=2, peak=250e9), set()),
    ("sizes", claim(mine_n=1000), {"n"}),
    ("their first call", claim(theirs_warmed=False), {"warm-up"}),
    ("my first call", claim(mine_warmed=False), {"warm-up"}),
    ("15 times on each side", claim(mine_seconds=[0.5] * 15, theirs_seconds=[0.75] * 15), set()),
    ("14 of theirs", claim(theirs_seconds=[0.625] * 14), {"few"}),
    ("14 of mine", claim(mine_seconds=[0.46875] * 14), {"few"}),
    ("a machine that got slower", claim(probes=(0.5, 0.6)), {"noise"}),
    ("a machine that got faster", claim(probes=(0.6, 0.5)), {"noise"}),
    ("probes 14 % apart", claim(probes=(0.57, 0.5)), set()),
    ("16 %, not of the larger", claim(probes=(0.58, 0.5)), {"noise"}),
    ("less than what is claimed", claim(factor=1.5), {"factor"}),
    ("exactly what is claimed", claim(mine_seconds=[0.5] * 15, theirs_seconds=[0.625] * 15), set()),
    (
        "one slow time of mine",
        claim(mine_seconds=[*[0.46875] * 15, 30.0]),
        set(),
    ),
    ("one slow time of theirs", claim(theirs_seconds=[*[0.5] * 15, 30.0]), {"factor"}),
    (
        "more than a machine can do",
        claim(mine_seconds=[0.109375] * 15),
        {"peak"},
    ),
    (
        "their product is impossible",
        claim(factor=0.125, theirs_seconds=[0.0625] * 15),
        {"peak"},
    ),
    (
        "another dtype, and noise",
        claim(mine_dtype="float16", probes=(1.0, 2.0)),
        {"dtype", "noise"},
    ),
    (
        "everything",
        claim(
            theirs_dtype="float64", theirs_threads=8, theirs_n=100, warmed=False,
            mine_seconds=[0.0001], theirs_seconds=[0.0001], probes=(1, 2),
        ),
        {"dtype", "threads", "n", "warm-up", "few", "noise", "factor", "peak"},
    ),
]  # fmt: skip


@exercise(
    "14.10",
    "The judge",
    answer="objections",
    minutes=20,
    hints=(
        "Begin with an empty set, and add a name for each rule that is broken. No rule depends on "
        "another one.",
        "The best time is the smallest. Noise: the larger probe is more than 1.15 times the "
        "smaller. Factor: the best of mine times the factor is more than the best of theirs.",
        "dtype, threads and n are one loop: mine[name] is None or mine[name] != theirs[name]. "
        "Peak, for each side: 2 * n**3 / min(seconds) > peak.",
    ),
    why_ours="The three settings that have to be the same are one loop; and every rule is one `if` "
    "that looks at nothing but its own numbers.",
)
def check_14_10(judge: Judge, objections: Any) -> None:
    """objections(claim) is the set of what is wrong with a claim; of a sound one it is empty."""
    for what, given, expected in CLAIMS:
        got = judge.call(objections, copy.deepcopy(given), given=what)
        judge.that(type(got) in (set, frozenset), f"it gives {short(got)}, which is no set",
                   given=what)  # fmt: skip
        strange = [x for x in got if x not in CLAIMS[-1][2]]
        judge.that(not strange, f"{short(strange)} is no fault of the list", given=what)
        if more := sorted(got - expected):
            judge.fail({"found": f"it finds {', '.join(more)}, which is as it should be"}, what)
        if missing := sorted(expected - got):
            judge.fail({"found": f"it does not find {', '.join(missing)}"}, what)
        judge.compared += 1


# ---- one product each ----------------------------------------------------------------------------

Heard = list[tuple[str, tuple[Any, ...]]]  # kernels that were called, and with what


@contextmanager
def kernels_heard(answer: Any) -> Iterator[Heard]:
    """The kernels of the learner's registry that are called within the block."""
    table = own(answer, "KERNELS")
    before, calls = dict(table), []

    def heard(name: str, kernel: Any) -> Any:
        def call(*tensors: Any, **params: Any) -> Any:
            calls.append((name, tensors))
            return kernel(*tensors, **params)

        return call

    try:
        for key, kernel in before.items():
            table[key] = heard(key[0] if isinstance(key, tuple) else str(key), kernel)
        yield calls
    finally:
        table.update(before)


def tensor(answer: Any, rows: int, columns: int, seed: int, skip: int = 0) -> Any:
    """A table of quarters, row by row, that begins `skip` numbers into its Buffer."""
    numbers = [x for row in filled(rows, columns, seed) for x in row]
    buffer = own(answer, "Buffer")([77.0] * skip + numbers + [77.0] * 3, "float64")
    return own(answer, "Tensor")(buffer, (rows, columns), (columns, 1), skip)


def one_product(
    judge: Judge, function: Any, args: tuple[Any, ...], tensors: tuple[Any, ...], given: str
) -> Any:
    """function(*args): one kernel, "matmul", which reads the memory of these tensors."""
    with kernels_heard(function) as calls:
        got = judge.call(function, *args, given=given, again=False)
    needs_tensor(judge, got)
    names = [name for name, _ in calls]
    products = [about for name, about in calls if name == "matmul"]
    found = f"{len(products)} products were computed; one is asked for"
    judge.that(len(products) == 1, found, given=given)
    others = sorted(set(names) - {"matmul"})
    found = f"the kernel {', '.join(others)} was called beside the product: numbers were copied"
    judge.that(not others, found, given=given)
    for x in products[0][1:3]:
        same = any(x.buf.raw is t.buf.raw for t in tensors)
        judge.that(same, "the product reads a copy, where a view of the same memory does",
                   given=given)  # fmt: skip
    return got


@exercise(
    "14.11",
    "A convolution",
    answer="slid",
    minutes=10,
    hints=(
        "What is the first row of the matrix that `filters` has to be multiplied by? And the "
        "second? Where in memory does each of them begin?",
        "A window is size rows of the signal, which lie side by side: size * channels numbers. "
        "The next window begins one row of the signal further on.",
        "signal.over((count - size + 1, size * channels), (channels, 1), signal.offset), and then "
        "@ filters. size is filters.shape[0] // channels.",
    ),
    why_ours="Rows of the view overlap, which no product minds: it only reads.",
)
def check_14_11(judge: Judge, slid: Any) -> None:
    """slid(signal, filters) is a filter of whole rows at every place of the signal, as one product
    of a view of the signal."""
    cases = ((5, 1, 2, 1, 0), (6, 2, 3, 2, 0), (9, 3, 1, 4, 5), (4, 2, 4, 3, 2), (12, 4, 5, 2, 1))
    for count, channels, size, outputs, skip in cases:
        signal = tensor(slid, count, channels, 3, skip)
        filters = tensor(slid, size * channels, outputs, 4)
        given = f"a signal of {count} x {channels}, {outputs} filters of {size} rows"
        given += f", offset {skip}" * bool(skip)
        got = one_product(judge, slid, (signal, filters), (signal, filters), given)
        x, w = signal.tolist(), filters.tolist()
        windows = [[a for row in x[i : i + size] for a in row] for i in range(count - size + 1)]
        right = [
            [sum(a * row[o] for a, row in zip(window, w, strict=True)) for o in range(outputs)]
            for window in windows
        ]
        judge.equal(tuple(got.shape), (count - size + 1, outputs), given=f"the shape, {given}")
        judge.close(got.tolist(), right, given=given)


@exercise(
    "14.12",
    "All heads",
    answer="all_heads",
    minutes=10,
    hints=(
        "Three axes: heads, places, size. By how many numbers does each of them step, in a table "
        "whose rows are `width` long?",
        "The next head is `size` numbers further on, the next place `width`, the next number 1. "
        "For the keys, the last two axes are exchanged.",
        "q.over((heads, places, size), (size, width, 1), q.offset) @ "
        "k.over((heads, size, places), (size, 1, width), k.offset).",
    ),
    why_ours="The transpose of the keys is in the strides as well, so there is no other step.",
)
def check_14_12(judge: Judge, all_heads: Any) -> None:
    """all_heads(q, k, heads) are the scores of all heads, of shape (heads, places, places), as one
    product of two views."""
    cases = ((2, 4, 2, 0), (3, 4, 1, 0), (3, 6, 3, 4), (5, 8, 2, 1), (1, 6, 2, 0))
    for places, width, heads, skip in cases:
        q, k = (tensor(all_heads, places, width, seed, skip) for seed in (8, 9))
        given = f"{places} places of width {width}, {heads} heads" + f", offset {skip}" * bool(skip)
        got = one_product(judge, all_heads, (q, k, heads), (q, k), given)
        size, asked, offered = width // heads, q.tolist(), k.tolist()
        right = [
            [
                [
                    sum(asked[i][c] * offered[j][c] for c in range(h * size, h * size + size))
                    for j in range(places)
                ]
                for i in range(places)
            ]
            for h in range(heads)
        ]
        judge.equal(tuple(got.shape), (heads, places, places), given=f"the shape, {given}")
        mistakes = {
            "queries and keys exchanged": [
                [list(column) for column in zip(*table, strict=True)] for table in right
            ]
        }
        judge.close(got.tolist(), right, given=given, mistakes=mistakes)


# ---- challenges ----------------------------------------------------------------------------------


@exercise(
    "14.s1",
    "Fewer misses",
    answer="fewer",
    minutes=20,
    seconds=10,
    hints=(
        "A tile of C is loaded and stored again for every step of the depth, so it should stay in "
        "the cache while tiles of A and B come and go. Which of the three deserves most room?",
        "With tiles of m x d of A and d x n of B, each fetched number of A is used n times, and of "
        "B m times. A small d costs little as long as A's lines are not lost before their end.",
        "Keep n at 8, one line. Make m larger and d smaller, so that the lines of all three still "
        "fit into 32 together with what is just being replaced.",
    ),
    why_ours="12 x 8 of C are 12 lines; 12 of A serve two steps of 4; 4 of B are replaced.",
)
def check_14_s1(judge: Judge, program: Program) -> None:
    """fewer(n) adds A @ B to C on one lane, for any n, and has 3,300 misses at most at n = 48."""
    in_tiles(judge, program, ((1,), (4,), (5,), (13,)))
    machine = executed(judge, program, (48,), matrices((48, 48, 48)))
    at_most(judge, machine.lines.misses, 3300, "misses", "n = 48")


@exercise(
    "14.s2",
    "Both at once",
    answer="both",
    minutes=20,
    seconds=10,
    hints=(
        "The innermost program is `tile` with 4 rows and 3 registers. Around it are loops over "
        "tiles, which decide what is in the cache.",
        "The depth of a tile has to be long enough that loading and storing the sums does not "
        "matter, and short enough that a block of B stays in the cache.",
        "Cut the depth into pieces of 16, the columns into 24 and the rows into 12; inside, the "
        "columns into 6 and the rows into 4.",
    ),
    why_ours="The block of B, 16 x 24, is 48 lines and stays while all rows pass by.",
)
def check_14_s2(judge: Judge, program: Program) -> None:
    """both(n) adds A @ B to C with 2 lanes and 128 lines of cache, for n that are multiples of 12;
    at n = 48 with 0.35 loads for each multiply-add and 2,400 misses at most."""
    for n in (12, 24, 48):
        parts = (range(n),) * 3
        machine = multiplied(judge, program, (n,), (n, n, n), parts, lanes=2, lines=128)
    at_most(judge, machine.loads, int(0.35 * 48**3), "loads", "n = 48")
    at_most(judge, machine.lines.misses, 2400, "misses", "n = 48")


# ---- questions -----------------------------------------------------------------------------------

question(
    "14.q1",
    "A micro-kernel has 8 rows and 3 registers of columns. How many loads does each step need?",
    right=11,
    why="8 numbers of A and 3 registers of B, for 24 fma",
    tempting={24: "that is how many fma there are", 48: "so many has one without a tile: 2 each"},
)
question(
    "14.q2",
    "A cache of 32 KiB, numbers of 8 bytes: the side of the largest square tiles, of which 3 fit?",
    right=32,
    why="4,096 numbers; 3 x 32 x 32 = 3,072 fit, and 3 x 40 x 40 = 4,800 do not",
    tempting={
        64: "one tile of 64 x 64 fills the cache on its own",
        36: "that is the root of a third, but no multiple of 8: its rows would cross lines",
        40: "3 x 40 x 40 = 4,800 numbers, and there is room for 4,096",
    },
)
question(
    "14.q3",
    "Which of these can change the bits of a product?",
    choices={"a": "tiles of rows and columns", "b": "threads that share the rows",
             "c": "four sums for each number of C, added at the end"},
    right="c",
    why="it is the only one that changes the order within a sum",
    tempting={
        "a": "they change which sum comes first, and none of the sums",
        "b": "every sum is still made by one thread, from the first k to the last",
    },
)  # fmt: skip
question(
    "14.q4",
    "A softmax is bound by memory. Twice the peak, the same bandwidth: how many times as fast?",
    choices={"a": "twice", "b": "as fast as before", "c": "somewhere between"},
    right="b",
    why="it waits for memory, which is as slow as before",
    tempting={
        "a": "only what is bound by the peak gets faster with it",
        "c": "there is nothing to gain: the arithmetic is done while it waits for memory",
    },
)
question(
    "14.q5",
    "Why is B packed, although packing is one more pass over it?",
    choices={"a": "it makes it smaller", "b": "so that the micro-kernel reads neighbours, on few "
             "lines and pages, every time", "c": "so that it does not have to be transposed"},
    right="b",
    why="the copy is made once, and read once for every block of rows of A",
    tempting={
        "a": "there are as many numbers as before, and some zeros more",
        "c": "strides take care of that; a packed panel is about what lies side by side",
    },
)  # fmt: skip
