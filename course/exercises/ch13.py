"""Chapter 13, memory and lanes: eleven exercises, two challenges, five questions.

Everything here is counted on models of a machine, so it comes out the same everywhere.
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from course.compare import short, what
from course.exercise import Judge, exercise, question
from course.library import ours
from course.turns import Steps, take_turns

ch13 = ours(13)
Walk = Callable[..., Any]
REGISTERS = 16  # numbers that may have been read and are not written yet


# ---- 13.1: a cache -------------------------------------------------------------------------------

CACHES = ((256, 64, 1), (256, 64, 4), (512, 32, 2), (4096, 64, 64), (1536, 64, 8), (1024, 16, 4))


@exercise(
    "13.1",
    "A cache",
    answer="CacheModel",
    minutes=15,
    hints=(
        "What has to be remembered of an access? The number of its line, address // line, is"
        " enough. For each set keep the numbers of the lines that are in it, in the order in which"
        " they were used.",
        "On a hit the line moves to the end of its set's order. On a miss it is added at the end;"
        " if the set then has more than `ways` lines, the first one goes.",
        "`lines = self.sets[number % len(self.sets)]`, a list; `hit = number in lines`;"
        " `lines.remove(number)` on a hit, `lines.pop(0)` where a miss finds it full; and in both"
        " cases `lines.append(number)`.",
    ),
    without=("tutor",),
    why_ours="A dict remembers the order in which its keys were put in, and finds a key without a"
    " search. To use a line is to take its key out and put it in again: it is then the last one.",
)
def check_13_1(judge: Judge, answer: Any) -> None:
    """A cache with LRU in each of its sets: hits and misses of any list of addresses."""
    if not isinstance(answer, type):
        judge.fail({"got": what(answer), "expected": "a class"})
    told = [
        ((256, 64, 4), [0, 0], "the same address twice"),
        ((256, 64, 4), [0, 63, 64], "the last byte of a line, and the first of the next"),
        ((256, 64, 4), [0, 64, 128, 192, 256, 0], "five lines, where there is room for four"),
        ((256, 64, 4), [0, 64, 128, 192, 0, 256, 0, 64], "a line that is used again stays longer"),
        ((256, 64, 1), [0, 256, 0, 64, 256], "one way: lines 0 and 4 share a set"),
        ((512, 32, 2), [0, 256, 512, 0, 32, 256], "two ways"),
    ]
    for geometry, addresses, given in told:
        _follows(judge, answer, geometry, addresses, given)
    cases = [_random_walk(judge, answer, geometry, k) for k, geometry in enumerate(CACHES)]
    take_turns(*cases)
    judge.called, judge.given = "CacheModel(32_768)", "line and ways were not named"
    plain, mine = judge.instance(answer, 32_768), ch13.CacheModel(32_768)
    for address in [*range(0, 64 * 64 * 10, 64 * 64), 0, 63, 64 * 64 * 3]:
        judge.equal(judge.run(partial(plain.touch, address)), mine.touch(address))


def _named(geometry: tuple[int, int, int]) -> str:
    size, line, ways = geometry
    return f"c = CacheModel({size}, line={line}, ways={ways})"


def _follows(
    judge: Judge, answer: Any, geometry: tuple[int, int, int], addresses: list[int], given: str
) -> None:
    """Each access of a short list, and the counts after it."""
    size, line, ways = geometry
    cache, mine = judge.instance(answer, size, line=line, ways=ways), ch13.CacheModel(*geometry)
    words = f"{_named(geometry)}; c.touch of {addresses}: {given}"
    judge.called = _named(geometry)
    judge.equal([judge.run(lambda: cache.hits), judge.run(lambda: cache.misses)], [0, 0],
                given="[c.hits, c.misses] of a new cache")  # fmt: skip
    for address in addresses:
        judge.called = f"c.touch({address})"
        judge.equal(judge.run(partial(cache.touch, address)), mine.touch(address), given=words)
    judge.called = "[c.hits, c.misses]"
    judge.equal(judge.run(lambda: [cache.hits, cache.misses]), [mine.hits, mine.misses],
                given=words)  # fmt: skip


def _random_walk(judge: Judge, answer: Any, geometry: tuple[int, int, int], seed: int) -> Steps:
    """Many accesses, while other caches have theirs."""
    size, line, ways = geometry
    draw, mine = random.Random(seed), ch13.CacheModel(*geometry)
    cache = judge.instance(answer, size, line, ways)
    for step in range(300):
        address = draw.choice((draw.randrange(2 * size), draw.randrange(size // 2)))
        given = f"{_named(geometry)}, after {step} other accesses, and beside other caches"
        judge.called = f"c.touch({address})"
        judge.equal(judge.run(partial(cache.touch, address)), mine.touch(address), given=given)
        if step % 100 == 99:
            judge.equal(judge.run(lambda: [cache.hits, cache.misses]), [mine.hits, mine.misses],
                        given=f"[c.hits, c.misses], {given}")  # fmt: skip
        yield


# ---- 13.2: by hand -------------------------------------------------------------------------------


def _counted(rows: int, columns: int, order: str, line: int, lines: int) -> tuple[int, float]:
    """The same by counting, on the model."""
    cache = ch13.CacheModel(line * lines, line, lines)
    outer, inner = (rows, columns) if order == "rows" else (columns, rows)
    for p in range(outer):
        for q in range(inner):
            i, j = (p, q) if order == "rows" else (q, p)
            cache.touch(4 * (i * columns + j))
    return cache.misses, 1 - rows * columns * 4 / (cache.misses * line)


@exercise(
    "13.2",
    "By hand",
    answer="by_hand",
    minutes=10,
    hints=(
        "Along the rows each line is fetched once. How many lines are there? And down a column: how"
        " many other lines are visited before the walk comes to a line again?",
        "Between two visits of a line, a walk down the columns visits all other rows. With at most"
        " `lines` rows, the line is still there; with more, LRU has thrown it out.",
        "So there are rows * columns * 4 // line misses where each line is fetched once, and rows *"
        " columns where every access misses. Wasted is 1 - used / fetched: the used bytes are 4 for"
        " each number, the fetched ones `line` for each miss.",
    ),
    without=("CacheModel", "misses_of", "walked", "tutor"),
    why_ours="There are only two cases: either every line is fetched once, or every access misses."
    " LRU and a walk that comes back in the same order know nothing in between.",
)
def check_13_2(judge: Judge, answer: Any) -> None:
    """(misses, wasted share) of a walk along the rows or down the columns, as the model counts."""
    cases = [
        (32, 32, 64, 64), (64, 64, 64, 16), (64, 16, 64, 64), (65, 16, 64, 64), (63, 48, 64, 64),
        (100, 16, 64, 20), (16, 128, 64, 15), (24, 64, 32, 24), (25, 64, 32, 24), (40, 32, 128, 39),
        (20, 64, 128, 32), (1, 160, 64, 4),
    ]  # fmt: skip
    for rows, columns, line, lines in cases:
        for order in ("rows", "columns"):
            got = judge.call(answer, rows, columns, order, line, lines)
            misses, wasted = _counted(rows, columns, order, line, lines)
            judge.that(isinstance(got, tuple | list) and len(got) == 2,
                       f"{short(got, 40)}: give two numbers, the misses and the share")  # fmt: skip
            judge.equal(got[0], misses, given="the misses, as the model counts them")
            used = {"the share that is used": 1 - wasted}
            judge.close(got[1], wasted, given="the share that is wasted", mistakes=used)
    judge.equal(judge.call(answer, 128, 128, "columns")[0], 16_384, given="64 lines of 64 bytes")


# ---- 13.3, 13.4 and 13.s1: tiles -----------------------------------------------------------------


class Hands:
    """How many numbers have been read and are not written yet: those are in registers."""

    def __init__(self, reads: int) -> None:
        self.reads, self.read, self.most, self.written = reads, 0, 0, 0

    def take(self) -> None:
        self.read += 1
        self.most = max(self.most, self.read - self.reads * self.written)

    def give(self) -> None:
        self.written += 1


class Held(ch13.Row):  # type: ignore[name-defined,misc]
    """A row that tells how much of it is in hands."""

    def __init__(self, numbers: Any, cache: Any, at: int, hands: Hands) -> None:
        super().__init__(numbers, cache, at)
        self.hands = hands

    def __getitem__(self, i: int) -> float:
        self.hands.take()
        return float(super().__getitem__(i))

    def __setitem__(self, i: int, x: float) -> None:
        self.hands.give()
        super().__setitem__(i, x)


def padded(count: int, line: int = 64) -> int:
    """So many numbers, and what is missing to whole lines."""
    return -(-count * 4 // line) * line // 4


def _rows(rows: int, columns: int, down: int) -> list[float]:
    """A matrix in a row: quarters, and -1 between the rows."""
    return [((i * 7 + j * 3) % 50) / 4 if j < columns else -1.0
            for i in range(rows) for j in range(down)]  # fmt: skip


def _fewer(judge: Judge, cache: Any, hands: Hands, fewest: int, most: float) -> None:
    """As few misses as asked for, and no hoard of numbers."""
    judge.that(hands.most <= REGISTERS,
               f"{hands.most} numbers had been read and not been written, and a processor has"
               f" {REGISTERS} registers")  # fmt: skip
    found = f"{cache.misses:,} misses, which is {cache.misses / fewest:.2f} times the {fewest:,}"
    judge.that(cache.misses <= most * fewest, f"{found} compulsory ones; {most} times are allowed")


def _transposes(
    judge: Judge, answer: Any, rows: int, columns: int, cache: Any, line: int, most: float
) -> None:
    down, out_down = padded(columns, line), padded(rows, line)
    hands, numbers = Hands(1), _rows(rows, columns, down)
    a = Held(numbers, cache, 0, hands)
    out = Held([-2.0] * (columns * out_down), cache, 4 * rows * down, hands)
    judge.called = f"{answer.__name__}(a, out, {rows}, {columns}, {down}, {out_down})"
    judge.given = ""
    judge.run(partial(answer, a, out, rows, columns, down, out_down))
    wanted = [
        numbers[i * down + j] if i < rows else -2.0 for j in range(columns) for i in range(out_down)
    ]
    found = list(out.numbers)
    judge.that(list(a.numbers) == numbers, "a is not as it was")
    for place, (got, right) in enumerate(zip(found, wanted, strict=True)):
        if got != right:
            j, i = divmod(place, out_down)
            judge.equal(got, right, given=f"out[{place}], row {j} and column {i} of out"
                        + (", where nothing is to be written" if i >= rows else ""))  # fmt: skip
    lines = (rows * down + columns * out_down) * 4 // line
    _fewer(judge, cache, hands, lines, most)


@exercise(
    "13.3",
    "Transpose by tiles",
    answer="transpose_tiled",
    minutes=12,
    hints=(
        "Begin with the plain loops. Put two more loops around them, which go from tile to tile in"
        " steps of 16, and let the inner ones go through one tile only.",
        "At the right and lower edges a tile is smaller: the inner loops end at"
        " min(top + 16, rows) and min(left + 16, columns).",
        "`for top in range(0, rows, 16)`, `for left in range(0, columns, 16)`, `for i in range(top,"
        " min(top + 16, rows))`, the same for j, and inside the one line of the plain loops.",
    ),
    without=("tutor",),
    why_ours="The line in the middle is that of the plain loops. Only the order in which it is"
    " reached is another one, and with it the misses.",
)
def check_13_3(judge: Judge, answer: Any) -> None:
    """out[j, i] = a[i, j], with at most 1.1 times the compulsory misses."""
    judge.function(answer)
    for rows, columns in ((2, 3), (1, 5), (20, 1), (16, 16), (64, 64), (61, 67), (40, 100)):
        _transposes(judge, answer, rows, columns, ch13.CacheModel(4096, 64, 64), 64, 1.1)


@exercise(
    "13.4",
    "The riddle, solved",
    answer="add_transposed",
    minutes=12,
    hints=(
        "Take tiles, as before. A tile of out reads the tile of a at the same place, and one more:"
        " which?",
        "The tile of out at (top, left) needs those of a at (top, left) and (left, top). So does"
        " the tile of out at (left, top). Tile by tile gives at most 1.5 times the misses; both"
        " tiles together give 1.0.",
        "Four loops as in 13.3, and `out[i * down + j] = a[j * down + i] + a[i * down + j]` inside."
        " For 1.0: a function for one tile, called for left <= top, and for the tile across the"
        " diagonal at once.",
    ),
    without=("tutor",),
    why_ours="Two tiles across the diagonal need the same two pieces of a. Ours makes both while"
    " these pieces are in the cache, so each line is fetched once, as in a + a.",
)
def check_13_4(judge: Judge, answer: Any) -> None:
    """out = a.T + a, with at most 1.6 times the misses of a + a."""
    judge.function(answer)
    for n in (1, 3, 16, 20, 64, 61, 96):
        down = padded(n)
        hands, cache, numbers = Hands(2), ch13.CacheModel(4096, 64, 64), _rows(n, n, down)
        a = Held(numbers, cache, 0, hands)
        out = Held([-2.0] * (n * down), cache, 4 * n * down, hands)
        judge.called = f"{answer.__name__}(a, out, {n}, {down})"
        judge.run(partial(answer, a, out, n, down))
        judge.that(list(a.numbers) == numbers, "a is not as it was")
        for i in range(n):
            for j in range(down):
                right = numbers[j * down + i] + numbers[i * down + j] if j < n else -2.0
                gap = ", behind the end of the row" if j >= n else ""
                judge.equal(out.numbers[i * down + j], right, given=f"out at row {i}, {j}{gap}")
        _fewer(judge, cache, hands, 2 * n * down // 16, 1.6)


@exercise(
    "13.s1",
    "For a cache that you do not know",
    answer="transpose_anywhere",
    minutes=20,
    hints=(
        "Cut the longer side of the matrix in half and do both halves, each in the same way.",
        "At some depth a part fits into the cache, whatever its size. You need not know at which:"
        " from there on there are no more misses but the compulsory ones.",
        "A function part(top, bottom, left, right) that calls itself twice, with a middle in place"
        " of one of the four, until it has a single number to move.",
    ),
    without=("tutor",),
    why_ours="There is no number in it that belongs to any machine. Halving reaches a part that"
    " fits for every cache, so it is right for all levels of a real machine at the same time.",
)
def check_13_s1(judge: Judge, answer: Any) -> None:
    """out[j, i] = a[i, j], with at most 1.25 times the compulsory misses in each cache."""
    judge.function(answer)
    for rows, columns in ((2, 3), (1, 9), (5, 1)):
        _transposes(judge, answer, rows, columns, ch13.CacheModel(4096, 64, 64), 64, 9.0)
    for side in (64, 128):
        for line, lines in ((64, 40), (32, 20), (256, 136), (128, 72)):
            cache = ch13.CacheModel(line * lines, line, lines)
            judge.given = f"a cache of {lines} lines of {line} bytes"
            _transposes(judge, answer, side, side, cache, line, 1.25)


@exercise(
    "13.s2",
    "A cache from outside",
    answer="geometry",
    minutes=20,
    hints=(
        "First the line: after touch(0) in a new cache, which addresses are hits?",
        "Then the number of all lines: touch the lines 0, 1, 2, … one after the other. How many may"
        " it be for line 0 to be still there?",
        "Addresses that are as far apart as the whole cache is large share a set. How many of them"
        " fit is the number of ways. Take a new cache for every attempt.",
    ),
    without=("CacheModel", "tutor"),
    why_ours="Three searches with the same question: is the first line still there? Each attempt"
    " has a new cache, so no attempt disturbs another.",
)
def check_13_s2(judge: Judge, answer: Any) -> None:
    """(line, sets, ways) of a cache of which only touch is known."""
    for line, sets, ways in ((64, 1, 4), (64, 8, 2), (32, 4, 4), (16, 16, 1), (128, 4, 3),
                             (64, 6, 5), (8, 1, 1)):  # fmt: skip

        def make(line: int = line, sets: int = sets, ways: int = ways) -> Any:
            return ch13.CacheModel(line * sets * ways, line, ways).touch

        got = judge.call(answer, make)
        judge.equal(got, (line, sets, ways), given="(line, sets, ways)")


# ---- 13.5: page faults ---------------------------------------------------------------------------

Event = tuple[str, str, int]


def _programs() -> Iterator[tuple[list[Event], str]]:
    yield [], "nothing happens"
    yield [("new", "x", 10_000)], "a block that is never touched"
    one: list[Event] = [("new", "x", 10_000), ("touch", "x", 0), ("touch", "x", 4095)]
    yield one, "one page, touched twice"
    yield [*one, ("touch", "x", 4096), ("touch", "x", 9999)], "three pages"
    again = [*one, ("free", "x", 0), ("new", "y", 10_000), ("touch", "y", 1)]
    yield again, "a block of the same size, after a free"
    yield [*again, ("touch", "y", 5000)], "the second page of it was never touched before"
    other = [*one, ("free", "x", 0), ("new", "y", 9_000), ("touch", "y", 1)]
    yield other, "another size"
    both: list[Event] = [("new", "x", 8192), ("new", "y", 8192), ("touch", "x", 0),
                         ("touch", "y", 0), ("touch", "y", 4096)]  # fmt: skip
    yield [*both, ("touch", "x", 1)], "two blocks, and neither is freed"
    swap: list[Event] = [*both, ("free", "y", 0), ("free", "x", 0), ("new", "a", 8192)]
    yield [*swap, ("touch", "a", 5000)], "two free blocks: the one that was freed last is taken"
    yield [*swap, ("new", "b", 8192), ("touch", "b", 5000)], "the other one of two free blocks"
    same: list[Event] = [("new", "x", 4096), ("touch", "x", 0), ("free", "x", 0)]
    yield same * 5, "the same name five times"


@exercise(
    "13.5",
    "What a pool saves",
    answer="faults",
    minutes=10,
    hints=(
        "A fault happens where a page is touched that was not touched before. So remember for each"
        " block the set of its touched pages, number // page.",
        "A new block has the empty set. With `keep`, a freed block's set goes to a list of waiting"
        " ones for its size, and a new block takes the last one from that list, if there is one.",
        "Four things to remember: touched[name], size_of[name], spare[size], and the count. On a"
        ' "touch", compare number // page with touched[name].',
    ),
    without=("tutor",),
    why_ours="A block is nothing but the set of its touched pages. Whether there is a pool decides"
    " only what becomes of that set when the block is freed.",
)
def check_13_5(judge: Judge, answer: Any) -> None:
    """The page faults of a list of events, with a pool and without."""
    for events, given in _programs():
        for keep in (False, True):
            wanted = ch13_faults(events, keep)
            judge.equal(judge.call(answer, events, keep, given=given), wanted)
    events = [("new", "x", 5000), ("touch", "x", 0), ("touch", "x", 1500), ("touch", "x", 4999)]
    judge.equal(judge.call(answer, events, True, page=1024), 3, given="pages of 1,024 bytes")


def ch13_faults(events: Sequence[Event], keep: bool, page: int = 4096) -> int:
    """By the text: blocks with pages, some of which have been touched."""
    blocks: dict[str, tuple[int, set[int]]] = {}
    pool: list[tuple[int, set[int]]] = []
    count = 0
    for kind, name, number in events:
        if kind == "new":
            fits = [block for block in pool if block[0] == number and keep]
            blocks[name] = fits[-1] if fits else (number, set())
            pool = [block for block in pool if block is not blocks[name]]
        elif kind == "touch":
            count += number // page not in blocks[name][1]
            blocks[name][1].add(number // page)
        else:
            pool.append(blocks.pop(name))
    return count


# ---- 13.6: chains --------------------------------------------------------------------------------


@exercise(
    "13.6",
    "Several accumulators",
    answer="add_up",
    minutes=10,
    hints=(
        "Let the first `ways` numbers be the accumulators. Which accumulator takes number i?",
        "`totals = list(numbers[:ways])`, and for every later i: totals[i % ways] becomes"
        " add(totals[i % ways], numbers[i]).",
        "At the end add up the totals. In pairs is fastest, ((0 + 1) + (2 + 3)), but one after the"
        " other is good enough.",
    ),
    without=("Known", "tutor"),
    why_ours="The accumulators begin with numbers, not with zeros: that saves an addition for each,"
    " and a sum of -0.0 stays -0.0. They are combined in pairs, which is a short chain.",
)
def check_13_6(judge: Judge, answer: Any) -> None:
    """The sum, in as many independent chains as asked for: the machine's cycles say whether."""
    for count in (1, 2, 3, 7, 8, 9, 100, 997):
        for ways in (1, 2, 3, 4, 8, 16):
            _adds_up(judge, answer, count, ways)


def _adds_up(judge: Judge, answer: Any, count: int, ways: int) -> None:
    numbers = [ch13.Known(float((k * k) % 17 - 5)) for k in range(count)]
    adder = ch13.Adder()
    judge.called, judge.given = f"add_up({count} numbers, add, {ways})", ""
    got = judge.run(partial(answer, numbers, adder.add, ways))
    judge.that(isinstance(got, ch13.Known), f"it gives {what(got)}, not the Known that add gives")
    judge.equal(got.value, sum(number.value for number in numbers), given="the value of the sum")
    judge.equal(adder.count, count - 1, given="how many additions there were")
    first, rest = min(ways, count), count - min(ways, count)
    chain = 4 * math.ceil(rest / ways)
    busy = math.ceil(rest / 2)
    slowest = max(chain, busy) + 8 + 4 * first  # 8: for chains that are not quite even
    if ways == 1:
        judge.equal(adder.cycles, 4 * (count - 1), given="the cycles of a single chain")
    found = f"{adder.cycles:,} cycles; {ways} chains of this length need at most {slowest:,}"
    judge.that(adder.cycles <= slowest, found)
    least = chain if ways < 8 else 0
    few = f"{adder.cycles:,} cycles, which is less than {ways} chains can do it in ({least:,}):"
    judge.that(adder.cycles >= least, f"{few} are there more chains than asked for?")


# ---- 13.7: lanes ---------------------------------------------------------------------------------

NUMBERS = [1.5, -2.25, 0.1, -0.0, 0.0, 3e38, 3e38, 1e-45, math.inf, -7.0, 1e10, -1e-3, 0.75]


def _lanes_case(
    judge: Judge, answer: Any, n: int, starts: tuple[int, int, int], same: str
) -> tuple[Any, Any, str]:
    """One call of the kernel. (the unit, how many numbers went one by one, what it was given)."""
    memories, wanted = [], []
    for k, start in enumerate(starts):
        inner = [NUMBERS[(i * (k + 2) + 5 * k) % 13] for i in range(n)]
        memories.append(ch13.Row([7.0] * start + inner + [7.0] * 3))
    x, y, out = (m.part(s, n) for m, s in zip(memories, starts, strict=True))
    if same:
        out = x if same == "x" else y
    wanted = list(ch13.Row([p + q for p, q in zip(x.numbers, y.numbers, strict=True)]).numbers)
    kept = {name: list(r.numbers) for name, r in (("x", x), ("y", y)) if r is not out}
    unit = ch13.Lanes()
    given = f"n = {n}, rows that begin at {starts[0]}, {starts[1]}, {starts[2]}"
    given += f", and out is {same}" if same else ""
    judge.called, judge.given = f"add_lanes(unit, out, x, y, {n})", given
    judge.run(partial(answer, unit, out, x, y, n))
    for i, (got, right) in enumerate(zip(out.numbers, wanted, strict=True)):
        judge.equal(got, right, given=f"out[{i}]; {given}", signs=True)
    rows = {"x": x, "y": y}
    judge.that(all(list(rows[name].numbers) == was for name, was in kept.items()),
               "it has changed one of its inputs")  # fmt: skip
    each = {id(r): r for r in (x, y, out)}.values()
    return unit, sum(r.reads + r.writes for r in each) - unit.moved, given


@exercise(
    "13.7",
    "Add in lanes",
    answer="add_lanes",
    minutes=15,
    hints=(
        "How many whole vectors are there in n numbers, and what is left?",
        "Whole vectors: i = 0, 8, 16, … as long as i + 8 <= n. Then load, load, add, store. For the"
        " rest, load(x, i, count) reads fewer; or add the rest one by one.",
        "`count = min(8, n - i)` makes whole vectors and the tail the same: pass it to both loads"
        " and to the store.",
    ),
    without=("tutor", "numbers"),
    why_ours="There is no second formula for the tail: it is a vector of which a few lanes are not"
    " used. So a number has the same bits wherever it stands.",
)
def check_13_7(judge: Judge, answer: Any) -> None:
    """x + y in lanes, bit for bit, for every tail, anywhere in memory, and with out = x."""
    judge.function(answer)
    places = ((0, 0, 0), (1, 0, 0), (3, 5, 2), (8, 7, 1))
    for n in (8, 16, *range(34)):
        for starts in places:
            for same in ("", "x", "y"):
                unit, single, given = _lanes_case(judge, answer, n, starts, same)
                judge.that(
                    single <= 21, f"{single} numbers were read or written one by one", given=given
                )
                judge.that(unit.adds >= n // 8, f"{unit.adds} additions of vectors", given=given)
                most = -(-n // 8)
                found = f"{unit.adds} additions of vectors, where {most} are enough"
                judge.that(unit.adds <= most, found, given=given)


# ---- 13.8 and 13.9: what must not be rewritten ---------------------------------------------------

Rule = tuple[Callable[..., Any], Callable[..., Any]]


def _half(x: float) -> float:
    return float(ch13.half(x))


REWRITTEN: dict[str, Rule] = {
    "x != x is False": (lambda x: x != x, lambda x: False),
    "0.0 for -0.0": (lambda x: x, lambda x: x + 0.0),
    "0 - x is -x": (lambda x: 0.0 - x, lambda x: -x),
    "x * 0 is 0": (lambda x: x * 0.0, lambda x: 0.0),
    "x is x": (lambda x: x, lambda x: x),
    "x < 3 is not x >= 3": (lambda x: x < 3, lambda x: not x >= 3),
    "x / 5 is x * 0.2": (lambda x: _half(x / 5), lambda x: _half(x * _half(0.2))),
    "x squared is positive": (lambda x: _half(x * x) > 0, lambda x: True),
    "-nan is nan": (lambda x: -x if x != x else x, lambda x: x),
}


@exercise(
    "13.8",
    "Ask all of them",
    answer="changed",
    minutes=8,
    hints=(
        "Go through HALVES, and call both functions with each number.",
        "`!=` is wrong for two results that are nan (nan != nan is True), and for 0.0 and -0.0. A"
        " function that knows better stands in the cell above.",
        "`[x for x in HALVES if not ...]`, with `same` of the two results.",
    ),
    without=("tutor",),
    why_ours="65,536 numbers are all there are, so this is a proof and not a sample. That is what"
    " small formats are good for: what holds for all of them can be checked for all of them.",
)
def check_13_8(judge: Judge, answer: Any) -> None:
    """All float16 numbers for which two functions differ, to the bit, but for nan."""
    judge.function(answer)
    for rule, (before, after) in REWRITTEN.items():
        wanted = [x for x in ch13.HALVES if not ch13.same(before(x), after(x))]
        got = judge.call(answer, before, after, given=f"the rule: {rule}", again=False)
        judge.that(isinstance(got, list), f"{what(got)}, and not a list", given=f"the rule: {rule}")
        judge.equal(len(got), len(wanted), given=f"how many numbers break the rule: {rule}")
        judge.equal(got, wanted, given=f"the numbers that break the rule: {rule}", signs=True)


TWO_SIDES: dict[str, tuple[int, Rule]] = {
    "(a + b) - a is b": (2, (lambda a, b: _half(_half(a + b) - a), lambda a, b: b)),
    "(a + b) + c is a + (b + c)": (
        3,
        (lambda a, b, c: _half(_half(a + b) + c), lambda a, b, c: _half(a + _half(b + c))),
    ),
    "a / b is a * (1 / b)": (
        2,
        (lambda a, b: _half(a / b), lambda a, b: _half(a * _half(1 / b))),
    ),
    "a * b + a * c is a * (b + c)": (
        3,
        (
            lambda a, b, c: _half(_half(a * b) + _half(a * c)),
            lambda a, b, c: _half(a * _half(b + c)),
        ),
    ),
    "0 - a is -a": (1, (lambda a: 0.0 - a, lambda a: -a)),
    "not a >= b is a < b": (2, (lambda a, b: not a >= b, lambda a, b: a < b)),
}


def _is_half(x: Any) -> bool:
    """Whether float16 has this number."""
    if type(x) not in (int, float):
        return False
    try:
        return bool(x != x or struct.unpack("e", struct.pack("e", x))[0] == x)
    except (OverflowError, struct.error):
        return False


@exercise(
    "13.9",
    "Witnesses",
    answer="witnesses",
    minutes=8,
    hints=(
        "Where are the gaps of float16? From 2048 on there are no odd numbers, so 2048 + 1 is 2048"
        " again. Which rules does that break?",
        "For a product, let something overflow on one side and not on the other: the largest number"
        " is 65504. For the division, try small whole numbers.",
        "a = 2048 and b = 1 for the first rule; 1, 2048 and -2048 for the second; 5 / 3 for the"
        " third. For 0 - a think of a zero, and for the last rule of nan.",
    ),
)
def check_13_9(judge: Judge, answer: Any) -> None:
    """For each rule, float16 numbers for which its two sides differ."""
    if not isinstance(answer, dict):
        judge.fail({"got": short(answer), "expected": "the dict, with tuples in place of the dots"})
    for rule, (count, (left, right)) in TWO_SIDES.items():
        judge.called, given = "", f"the rule {rule}"
        judge.that(rule in answer, "this entry is missing", given=given)
        numbers = answer[rule]
        good = isinstance(numbers, tuple | list) and len(numbers) == count
        judge.that(good, f"{short(numbers, 60)}: give {count} numbers, in a tuple", given=given)
        for x in numbers:
            judge.that(_is_half(x), f"{short(x, 40)} is no number of float16", given=given)
            allowed = not math.isinf(x) and (x == x or rule.startswith("not"))
            judge.that(allowed, f"{x} is not allowed here: take an ordinary number", given=given)
        values = [float(x) for x in numbers]
        if "/" in rule:
            judge.that(values[1] != 0, "b is 0, and Python does not divide by it", given=given)
        one, other = left(*values), right(*values)
        differs = not ch13.same(one, other)
        judge.that(differs, f"both sides are {one} for {short(tuple(values), 60)}", given=given)


# ---- 13.10: the agreement test -------------------------------------------------------------------

larger = ch13.larger
Vector = list[float]


def _each(v: Vector, w: Vector) -> Vector:
    return [larger(p, q) for p, q in zip(v, w, strict=True)]


def _vectors(unit: Any, x: Any, y: Any, i: int, count: int) -> tuple[Vector, Vector]:
    return unit.load(x, i, count), unit.load(y, i, count)


def right_lanes(unit: Any, out: Any, x: Any, y: Any, n: int) -> None:
    for i in range(0, n, 8):
        count = min(8, n - i)
        unit.store(out, i, _each(*_vectors(unit, x, y, i, count)), count)


def right_one_by_one(unit: Any, out: Any, x: Any, y: Any, n: int) -> None:
    for i in range(n):
        out[i] = larger(x[i], y[i])


def right_from_the_end(unit: Any, out: Any, x: Any, y: Any, n: int) -> None:
    """Whole vectors from the end, then the rest at the beginning."""
    i = n
    while i >= 8:
        i -= 8
        unit.store(out, i, _each(*_vectors(unit, x, y, i, 8)), 8)
    for k in range(i):
        out[k] = larger(x[k], y[k])


def reads_too_far(unit: Any, out: Any, x: Any, y: Any, n: int) -> None:
    for i in range(0, n, 8):
        unit.store(out, i, _each(*_vectors(unit, x, y, i, 8)), min(8, n - i))


def writes_too_far(unit: Any, out: Any, x: Any, y: Any, n: int) -> None:
    for i in range(0, n, 8):
        unit.store(out, i, _each(*_vectors(unit, x, y, i, min(8, n - i))), 8)


def loses_nan(unit: Any, out: Any, x: Any, y: Any, n: int) -> None:
    for i in range(0, n, 8):
        count = min(8, n - i)
        v, w = _vectors(unit, x, y, i, count)
        unit.store(out, i, [p if p >= q else q for p, q in zip(v, w, strict=True)], count)


def loses_a_sign(unit: Any, out: Any, x: Any, y: Any, n: int) -> None:
    for i in range(0, n, 8):
        count = min(8, n - i)
        unit.store(out, i, [z + 0.0 for z in _each(*_vectors(unit, x, y, i, count))], count)


def has_another_tail(unit: Any, out: Any, x: Any, y: Any, n: int) -> None:
    whole = n // 8 * 8
    right_lanes(unit, out, x, y, whole)
    for i in range(whole, n):
        out[i] = x[i] if x[i] > y[i] else y[i]


def mixes_lanes(unit: Any, out: Any, x: Any, y: Any, n: int) -> None:
    """From the third vector on, two halves of a vector are exchanged."""
    for i in range(0, n, 8):
        count = min(8, n - i)
        z = _each(*_vectors(unit, x, y, i, count))
        unit.store(out, i, z[4:] + z[:4] if i >= 16 and count == 8 else z, count)


def uses_out_as_paper(unit: Any, out: Any, x: Any, y: Any, n: int) -> None:
    """First all of y goes to out, and then x is compared with that."""
    for i in range(0, n, 8):
        count = min(8, n - i)
        unit.store(out, i, unit.load(y, i, count), count)
    for i in range(0, n, 8):
        count = min(8, n - i)
        unit.store(out, i, _each(*_vectors(unit, x, out, i, count)), count)


def forgets_the_fourth(unit: Any, out: Any, x: Any, y: Any, n: int) -> None:
    """Four vectors in each round, of which the fourth takes the numbers of the third."""
    i = 0
    while i + 32 <= n:
        for source, place in ((0, 0), (8, 8), (16, 16), (16, 24)):
            unit.store(out, i + place, _each(*_vectors(unit, x, y, i + source, 8)), 8)
        i += 32
    right_lanes(unit, out.part(i, n - i), x.part(i, n - i), y.part(i, n - i), n - i)


PLANTED: dict[str, Walk] = {
    "loses nan: where x is nan, it gives y": loses_nan,
    "mixes the lanes of long rows": mixes_lanes,
    "reads beyond the end of its inputs": reads_too_far,
    "writes beyond the end of out": writes_too_far,
    "uses out as scratch paper, which is wrong where out is x": uses_out_as_paper,
    "has another formula for the tail, which loses nan": has_another_tail,
    "gives 0.0 where -0.0 is right": loses_a_sign,
    "leaves out the fourth vector of each round of four": forgets_the_fourth,
}
ACCEPTED: dict[str, Walk] = {
    "in lanes": right_lanes,
    "number by number": right_one_by_one,
    "from the end": right_from_the_end,
}


@exercise(
    "13.10",
    "The agreement test",
    answer="agrees",
    minutes=20,
    seconds=10,
    hints=(
        "Write it for one case first: two rows, `out`, a call, and a comparison with `larger`, by"
        " `same`. Then loop over lengths, from 0 to beyond 64, and over sets of numbers.",
        "Each row should end exactly where its numbers end, so that the fences are there. Put nan,"
        " infinities, 0.0 and -0.0 among the numbers, in both rows, and in every place. Let no two"
        " neighbors be equal.",
        "Compute what is right before you call the kernel, and call it once more with out = x: the"
        " same row. Fill `out` with a number that is never right. `try: kernel(...)`, `except"
        " OutsideError: return False`.",
    ),
    without=("tutor",),
    why_ours="Numbers come from a list of eleven, lanes are eight: so each number comes to stand in"
    " each lane. What a kernel must not touch has a known number in it, and is compared as well.",
)
def check_13_10(judge: Judge, answer: Any) -> None:
    """True for the right kernels, False for each of eight wrong ones."""
    judge.function(answer)
    for words, kernel in ACCEPTED.items():
        judge.called, judge.given = "agrees(kernel)", f"a right kernel, {words}"
        judge.equal(_said(judge, answer, kernel), True)
    caught = [words for words, kernel in PLANTED.items() if not _said(judge, answer, kernel)]
    judge.given = f"it catches {len(caught)} of {len(PLANTED)}"
    for words in PLANTED:
        judge.that(words in caught, f"it accepts a kernel that {words}")


def _said(judge: Judge, answer: Any, kernel: Walk) -> bool:
    said = judge.run(partial(answer, kernel))
    judge.that(isinstance(said, bool), f"it gives {what(said)}, not True or False")
    return bool(said)


# ---- 13.11: which lanes are there ----------------------------------------------------------------


@exercise(
    "13.11",
    "Choose",
    answer="choose",
    minutes=8,
    hints=(
        "For one build: does the processor have each of its flags? For sets that is `<=`.",
        "Collect the names of all builds that run here. The best of them is the last one. It may"
        " come after one that does not run.",
        "`runs = [name for name, needs in builds if needs <= flags]`. Without a wish: runs[-1]. A"
        " wish that is not in runs raises ValueError.",
    ),
    without=("tutor", "run_on"),
    why_ours="One list answers both: its last entry is the best, and a wish is granted if it is in"
    " there. The message of the error says what could be wished for instead.",
)
def check_13_11(judge: Judge, answer: Any) -> None:
    """The best build that runs, or the wish; ValueError for a wish that does not run."""
    builds = [
        ("scalar", set()),
        ("sse4", {"sse4"}),
        ("avx2", {"sse4", "avx2", "fma"}),
        ("amd", {"sse4", "xop"}),
        ("avx512", {"sse4", "avx2", "fma", "avx512"}),
    ]
    rows: list[tuple[set[str], str]] = [
        (set(), "scalar"),
        ({"sse4"}, "sse4"),
        ({"sse4", "avx2", "fma"}, "avx2"),
        ({"sse4", "avx2", "fma", "avx512", "amx"}, "avx512"),
        ({"sse4", "avx2"}, "sse4"),
        ({"sse4", "avx512"}, "sse4"),
        ({"sse4", "xop"}, "amd"),
        ({"avx2", "fma"}, "scalar"),
    ]
    for flags, wanted in rows:
        judge.equal(judge.call(answer, builds, flags), wanted)
    judge.equal(judge.call(answer, builds[:2], {"sse4", "avx2"}), "sse4")
    judge.equal(judge.call(answer, [("neon", set()), ("sve", {"sve"})], {"sve"}), "sve")
    fewer = [("scalar", set()), ("old", {"a", "b", "c"}), ("new", {"d"})]
    judge.equal(judge.call(answer, fewer, {"a", "b", "c", "d"}), "new")
    every = {"sse4", "avx2", "fma"}
    for wish in ("scalar", "sse4", "avx2"):
        judge.equal(judge.call(answer, builds, every, wish), wish)
    for wish in ("avx512", "amd", "neon", ""):
        judge.raises(ValueError, answer, builds, every, wish)


# ---- the end box ---------------------------------------------------------------------------------

question(
    "13.q1",
    "float64, lines of 64 bytes, down the columns: how many percent of each line are wasted?",
    right=87.5,
    why="8 of 64 bytes are used, and 1 - 8/64 is 0.875",
    tempting={
        93.75: "that is for float32, where 4 of 64 bytes are used",
        12.5: "that is the share that is used",
        0.875: "as a share that is right; the question asks for percent",
    },
)
question(
    "13.q2",
    "How many misses does a walk along the rows of 1,000 x 1,000 float32 have, at first?",
    right=62_500,
    why="four million bytes are 62,500 lines of 64 bytes, and each is fetched once",
    tempting={
        1_000_000: "that is how many numbers there are: 16 of them come with each line",
        125_000: "that would be float64, of 8 bytes each",
        250_000: "that is the number of lines if they had 16 bytes; they have 16 numbers",
    },
)
question(
    "13.q3",
    "A matrix of 1,024 columns is slower to transpose than one of 1,040. Why?",
    choices={
        "a": "it has more lines",
        "b": "the lines of a column share a few sets",
        "c": "powers of two are harder to multiply",
    },
    right="b",
    why="4,096 bytes further on is the same set again, or one of a few",
    tempting={
        "a": "it has fewer: each row is one line shorter",
        "c": "they are easier: a shift is enough",
    },
)
question(
    "13.q4",
    "Additions take 5 cycles, and two can start in each. How many accumulators keep it busy?",
    right=10,
    why="two new additions in each of the 5 cycles that the first ones take",
    tempting={
        5: "that keeps one of the two adders busy",
        8: "that is for 4 cycles",
        2: "then each adder waits for its own result for 4 of 5 cycles",
    },
)
question(
    "13.q5",
    "What does a library do that is fast and safe to hand out?",
    choices={
        "a": "it is compiled with -march=native",
        "b": "it is compiled with -ffast-math",
        "c": "it brings several builds of each kernel, and asks for the flags when it starts",
    },
    right="c",
    why="each machine gets the best it can run, and all of them the same rules for numbers",
    tempting={
        "a": "that is fast on the machine that built it, and ends with SIGILL on an older one",
        "b": "that is fast, and lets the compiler assume that there is no nan",
    },
)
