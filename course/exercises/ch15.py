"""Chapter 15, threads and the price of memory: sixteen exercises, two challenges, five questions.

All is counted, nothing is timed: orders of steps, invalidated lines, page faults, bytes, joules
from a table. Threads are generators, so every interleaving can be looked at (course/threads.py).
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from course.compare import kind
from course.exercise import Judge, exercise, question
from course.recorded import GRAPHS, Life, drawn, live_bytes
from course.scatter import CAUSES, LETTERS
from course.threads import Moment, Order, Thread, ends
from course.turns import Steps, take_turns
from tutor.errors import TutorError

LINE, PAGE = 64, 4096  # bytes


def is_number(value: Any) -> bool:
    """An int or a float, finite, and no bool."""
    return isinstance(value, int | float) and type(value) is not bool and math.isfinite(value)


def number(judge: Judge, got: Any) -> float:
    judge.that(is_number(got), f"it gives {kind(got)}; a number is asked for")
    return float(got)


def digits(order: Sequence[int]) -> str:
    """An order as one reads it: 0 1 1 0."""
    return " ".join(map(str, order)) or "(no step)"


# ---- 15.1: a lost update -------------------------------------------------------------------------


def add_one() -> Iterator[Any]:
    """A thread that counts: as the chapter has it."""
    value = yield "load", "n"
    value = yield "add", value, 1
    yield "store", "n", value


def rounds(thread: Callable[[], Any], count: int) -> Thread:
    """A thread that does the same `count` times."""

    def many() -> Iterator[Any]:
        for _ in range(count):
            yield from thread()

    return many


def stores(moment: Moment) -> int:
    """How many updates have been stored, by threads of `add_one`."""
    return sum(len(answers) // 3 for answers in moment.heard)


def follow(judge: Judge, moment: Moment, order: Any) -> Moment:
    """The moment after an order that a learner wrote."""
    judge.that(isinstance(order, list | tuple), f"it is {kind(order)}; a list is asked for")
    for place, i in enumerate(order):
        threads = range(len(moment.threads))
        judge.that(type(i) is int and i in threads, f"[{place}] is {i!r}: there is no such thread")
        can = i in moment.ready()
        judge.that(can, f"[{place}] is {i}, and thread {i} cannot take a step there")
        moment = moment.step(i)
    return moment


@exercise(
    "15.1",
    "The shortest order that loses",
    answer="lost",
    minutes=6,
    hints=(
        "An update is lost when a thread stores a number that it worked out from an old one. Which"
        " two steps must the other thread's store come between?",
        "Let thread 0 load. Then thread 1 does all its three steps. What does thread 0 know?",
        "Both have to store once, so six steps are needed: thread 0 loads; thread 1 loads, adds,"
        " stores; thread 0 adds and stores.",
    ),
    why_ours="Any order of six steps in which both load before either stores loses one: there are"
    " 18 of them, among the 20.",
)
def check_15_1(judge: Judge, lost: Any) -> None:
    """An order of steps, as short as possible, after which n is less than the number of stores."""
    start = Moment([rounds(add_one, 3)] * 2, {"n": 0})
    moment = follow(judge, start, lost)
    made, n = stores(moment), moment.memory["n"]
    given = f"the order {digits(lost)}"
    judge.that(n < made, f"{made} updates were stored, and n is {n}: none is lost", given=given)
    judge.that(len(lost) == 6, f"it takes {len(lost)} steps; a shorter one loses one, too",
               given=given)  # fmt: skip


# ---- 15.2: repaired ------------------------------------------------------------------------------


def all_ends(judge: Judge, threads: Sequence[Any], memory: dict[str, Any]) -> list[Any]:
    """Every way in which the learner's threads can end; a wrong step is the verdict."""

    def explored() -> Any:
        try:
            return ends(Moment(threads, memory))
        except TutorError as error:
            return error

    found = judge.run(explored)
    if isinstance(found, TutorError):
        judge.fail({"found": found.found, "to do": found.do})
    return list(found)


def safe(judge: Judge, threads: Sequence[Any], memory: dict[str, Any], right: int) -> None:
    """In every order all threads come to their end, and n is what it should be."""
    given = f"{len(threads)} threads, n is {memory['n']} before"
    for order, moment in all_ends(judge, threads, memory):
        then = f"after the order {digits(order)}"
        judge.that(moment.ended, f"{then} every thread waits, for ever", given=given)
        n = moment.memory["n"]
        judge.that(n == right, f"{then} n is {n}; {right} is right", given=given)


@exercise(
    "15.2",
    "Repaired, in every order",
    answer="add_safely",
    minutes=10,
    hints=(
        "Between the load and the store nobody else may load. Or: the store has to notice that n is"
        " not what it was.",
        'With a lock: yield "lock", "m" before the load, and yield "unlock", "m" after the store.'
        " Without: try again until a swap succeeds.",
        'while True: old = yield "load", "n"; new = yield "add", old, 1; and if the answer to'
        ' yield "swap", "n", old, new is True, return.',
    ),
    why_ours="Compare-and-swap: nobody ever waits. The lock is as right, and shorter; but while one"
    " thread holds it and is put to sleep, all others stand still.",
)
def check_15_2(judge: Judge, add_safely: Any) -> None:
    """n grows by 1 for each call, in every interleaving of two and of three threads."""
    thread: Any = judge.run(add_safely)
    judge.that(hasattr(thread, "send"), f"it gives {kind(thread)}: it has no `yield`")
    for count, each, before in ((1, 1, 0), (2, 1, 0), (2, 1, 5), (3, 1, -2), (2, 2, 0)):
        threads = [rounds(add_safely, each)] * count
        safe(judge, threads, {"n": before}, before + count * each)


# ---- 15.3: deadlock ------------------------------------------------------------------------------


def holding(*places: str) -> Thread:
    """A thread that takes locks, one after the other, and gives them back."""

    def thread() -> Iterator[Any]:
        for place in places:
            yield "lock", place
        for place in places:
            yield "unlock", place

    return thread


def forgetful() -> Iterator[Any]:
    yield "lock", "a"
    yield "load", "n"


def late(*places: str) -> Thread:
    """The same as holding, after three steps of its own."""

    def thread() -> Iterator[Any]:
        for _ in range(3):
            yield "add", 1, 1
        yield from holding(*places)()

    return thread


MACHINES: dict[str, tuple[list[Thread], int | None]] = {  # and how long the shortest is
    "one thread locks a, b, the other b, a": ([holding("a", "b"), holding("b", "a")], 2),
    "both lock a, b": ([holding("a", "b")] * 2, None),
    "one thread, which locks a twice": ([holding("a", "a")], 1),
    "twice: one thread locks a, b, the other b, a": (
        [rounds(holding("a", "b"), 2), rounds(holding("b", "a"), 2)], 2,
    ),
    "three threads: a, b; b, c; c, a": ([holding(*pair) for pair in ("ab", "bc", "ca")], 3),
    "three threads: a, b; b, c; a, c": ([holding(*pair) for pair in ("ab", "bc", "ac")], None),
    "one never gives a back": ([forgetful, holding("a")], 2),
    "only thread 1 and thread 2 are in each other's way": (
        [holding("c"), late("a", "b"), holding("b", "a")], 7,
    ),
    "no thread locks anything": ([add_one, add_one], None),
    "four threads in a ring, each after three steps": (
        [late(*pair) for pair in ("ab", "bc", "cd", "da")], 16,
    ),
}  # fmt: skip


@exercise(
    "15.3",
    "Search for a deadlock",
    answer="stuck",
    minutes=15,
    hints=(
        "Look at all moments that one step leads to, then at all that two steps lead to. The first"
        " one that is stuck has the shortest order.",
        "Stuck: ready() is empty, and `ended` is False. Keep pairs (order, moment) in a list, and"
        " go through it from the front while you append at its end.",
        "for order, now in waiting: where now.ready() is empty and not now.ended, return order."
        " For i in now.ready(): then = now.step(i); if then.state is not in seen, add it, and"
        " append ((*order, i), then).",
    ),
    without=("ends", "orders"),
    why_ours="Step by step in width, so that the first one found is a shortest one. And each state"
    " only once: the ring has 472,518,347,558,400 orders, and a few thousand states.",
)
def check_15_3(judge: Judge, stuck: Any) -> None:
    """A shortest order after which threads have not ended and none can go on; None if there is
    none."""
    for given, (threads, steps) in MACHINES.items():
        moment = Moment(threads, {"n": 0})
        order = judge.call(stuck, moment, given=given)
        if steps is None:
            judge.that(order is None, f"it gives {order!r}; no order gets stuck: None")
            continue
        judge.that(order is not None, "it gives None, and there is a deadlock")
        end = follow(judge, moment, order)
        judge.that(not end.ended and not end.ready(), f"after {digits(order)} it goes on")
        judge.that(len(order) == steps, f"{digits(order)} is not the shortest: {steps} steps do it")


# ---- 15.4: two locks -----------------------------------------------------------------------------


def moved(transfer: Any, source: str, target: str, amount: int) -> Thread:
    return lambda: transfer(source, target, amount)


@exercise(
    "15.4",
    "A bug hunt: two locks",
    answer="transfer",
    minutes=10,
    hints=(
        "Ask `stuck` for two transfers that go opposite ways. Which lock does each of them hold,"
        " and which does it wait for?",
        "If all threads take the locks in the same order, there can be no ring: whoever has the"
        " last one waits for nobody. Names can be sorted.",
        "for place in sorted({source, target}): lock it first. The braces make a set: for a"
        " transfer from an account to itself, one lock is enough.",
    ),
    why_ours="One order for all locks, here that of their names. And the set: a thread that waits"
    " for a lock of its own waits for ever.",
)
def check_15_4(judge: Judge, transfer: Any) -> None:
    """In every order all transfers end, and every account has what it should; transfers between
    other accounts do not wait."""
    cases = (
        (("a", "b", 5),),
        (("b", "a", 2), ("a", "b", 5)),
        (("a", "b", 5), ("a", "b", 1)),
        (("a", "a", 3), ("b", "a", 1)),
        (("a", "b", 1), ("b", "c", 2), ("c", "a", 4)),
    )
    for case in cases:
        memory = {"a": 10, "b": 20, "c": 30}
        right = dict(memory)
        for source, target, amount in case:
            right[source] -= amount
            right[target] += amount
        given = ", ".join(f"{amount} from {s} to {t}" for s, t, amount in case)
        threads = [moved(transfer, *one) for one in case]
        for order, moment in all_ends(judge, threads, memory):
            then = f"after the order {digits(order)}"
            judge.that(moment.ended, f"{then} every thread waits, for ever", given=given)
            got = {name: moment.memory[name] for name in memory}
            judge.that(got == right, f"{then} there is {got}; {right} is right", given=given)
    _side_by_side(judge, transfer)


def _side_by_side(judge: Judge, transfer: Any) -> None:
    """A transfer between c and d goes through while one between a and b is under way."""
    memory = {"a": 1, "b": 2, "c": 3, "d": 4}
    moment = Moment([moved(transfer, "a", "b", 1), moved(transfer, "c", "d", 1)], memory)
    while moment.requests[0] and moment.memory["a"] == 1:
        moment = moment.step(0)
    while 1 in moment.ready():
        moment = moment.step(1)
    found = "one from c to d has to wait for one from a to b: the lock is one for all accounts"
    judge.that(moment.requests[1] is None, found)


# ---- 15.5: caches --------------------------------------------------------------------------------

Access = tuple[int, int, str]  # core, address, "read" or "write"


def thrown_away(accesses: Sequence[Access], line: int) -> int:
    """How many copies of lines are invalidated."""
    copies: dict[int, set[int]] = {}
    count = 0
    for core, address, what in accesses:
        cores = copies.setdefault(address // line, set())
        if what == "write":
            count += len(cores - {core})
            cores.clear()
        cores.add(core)
    return count


def by_address(accesses: Sequence[Access], line: int) -> int:
    """The count if every address had a line of its own."""
    return thrown_away([(core, address * line, what) for core, address, what in accesses], line)


def some_accesses(cores: int, count: int, places: int, seed: int) -> list[Access]:
    draw = random.Random(seed)
    return [
        (draw.randrange(cores), 8 * draw.randrange(places), draw.choice(("read", "write")))
        for _ in range(count)
    ]


@exercise(
    "15.5",
    "Lines that fly back and forth",
    answer="invalidations",
    minutes=12,
    hints=(
        "Which line an address is in: address // line. For each line, which cores have a copy?",
        "A dictionary of sets: copies[number of the line] is the set of cores. A read adds the"
        " core. A write throws out everybody else first.",
        'For each access: cores = copies.setdefault(address // line, set()). If what == "write":'
        " count += len(cores - {core}), and keep only the core itself. Then add it.",
    ),
    why_ours="Caches here have room for everything, so that one thing is counted and not two. What"
    " is left of the real protocol (MESI) is the M and the S.",
)
def check_15_5(judge: Judge, invalidations: Any) -> None:
    """How many copies of lines the writes of other cores throw away."""
    own: list[Access] = [(0, 0, "write"), (0, 8, "write"), (0, 0, "read")]
    turns: list[Access] = [(i % 2, 8 * (i % 2), "write") for i in range(6)]
    cases: list[tuple[list[Access], int]] = [
        ([], 64),
        (own, 64),
        (turns, 64),
        (turns, 8),
        ([(0, 0, "read"), (1, 0, "read"), (2, 0, "read"), *[(0, 0, "write")] * 3], 64),
        ([(0, 0, "read"), (1, 0, "write"), (1, 8, "write"), (0, 0, "read"), (1, 0, "write")], 64),
        ([(0, 60, "write"), (1, 64, "write"), (0, 63, "write"), (1, 127, "write")], 64),
        ([(0, 60, "write"), (1, 64, "write"), (0, 63, "write"), (1, 127, "write")], 128),
        *[(some_accesses(cores, 60, places, cores), line)
          for cores, places, line in ((2, 12, 64), (3, 40, 32), (4, 16, 128))],
    ]  # fmt: skip
    for accesses, line in cases:
        got = judge.call(invalidations, accesses, line)
        judge.that(type(got) is int, f"it gives {kind(got)}; an int is asked for")
        judge.close(got, thrown_away(accesses, line), mistakes={
            "counted where the same address is written, not the same line":
                by_address(accesses, line),
            "the writes, whoever else has the line":
                sum(what == "write" for _, _, what in accesses),
        })  # fmt: skip


@exercise(
    "15.6",
    "Room between",
    answer="places",
    minutes=6,
    hints=(
        "The first is at 0. Where may the second begin at the earliest, if it must not be in a line"
        " that the first one touches?",
        "At the next multiple of a line. How many lines does one counter take, if it is longer than"
        " a line?",
        "lines = -(-itemsize // line) rounds up; counter i is at i * lines * line.",
    ),
    why_ours="-(-a // b) rounds up without floats. Eight times the memory for 8-byte counters: it"
    " is cheap where there are as many counters as threads, and dear for a million.",
)
def check_15_6(judge: Judge, places: Any) -> None:
    """The first byte of each counter: no two in one line, and no byte more than necessary."""
    for count, itemsize, line in ((1, 8, 64), (2, 8, 64), (4, 4, 32), (3, 64, 64), (3, 80, 64),
                                  (5, 129, 64), (7, 8, 128), (0, 8, 64)):  # fmt: skip
        got = judge.call(places, count, itemsize, line)
        judge.that(isinstance(got, list | tuple), f"it gives {kind(got)}; a list is asked for")
        judge.equal(len(got), count, given="how many places there are")
        judge.that(all(type(at) is int and at >= 0 for at in got), f"a place is no offset: {got}")
        touched = [{byte // line for byte in (at, at + itemsize - 1)} for at in got]
        spans = [set(range(min(lines), max(lines) + 1)) for lines in touched]
        for i, j in itertools.combinations(range(count), 2):
            judge.that(not spans[i] & spans[j], f"counters {i} and {j} share a line: {got}")
        most = (count - 1) * -(-itemsize // line) * line + itemsize if count else 0
        end = max((at + itemsize for at in got), default=0)
        judge.that(end <= most, f"they end at byte {end}; {most} is enough")


# ---- 15.7 and 15.8: Amdahl, and two limits -------------------------------------------------------

Points = list[tuple[int, float]]


def fitted(points: Points) -> float:
    """The serial fraction of least squares on the relative times."""
    alone = dict(points)[1]
    pairs = [(1 - 1 / n, time / alone - 1 / n) for n, time in points]
    return sum(x * y for x, y in pairs) / sum(x * x for x, _ in pairs)


def each_solved(points: Points) -> list[float]:
    alone = dict(points)[1]
    return [(time / alone - 1 / n) / (1 - 1 / n) for n, time in points if n > 1]


@exercise(
    "15.7",
    "The serial fraction",
    answer="serial_fraction",
    minutes=12,
    hints=(
        "Divide all times by that of one thread. Then each should be s + (1 - s) / n. Sort that by"
        " s: what stands before it, and what without it?",
        "y = time / alone, and y - 1 / n should be s * (1 - 1 / n). A line through 0, whose slope"
        " is asked for.",
        "With x = 1 - 1 / n and y = time / alone - 1 / n, the slope of least squares is sum(x * y)"
        " / sum(x * x).",
    ),
    why_ours="The law is linear in s, so that no search is needed: a line through zero has one"
    " number, and least squares gives it in closed form.",
)
def check_15_7(judge: Judge, serial_fraction: Any) -> None:
    """The s for which s + (1 - s) / n is nearest to the relative times, by least squares."""
    cases: list[Points] = [
        [(1, 8.0), (2, 5.0), (4, 3.5), (8, 2.75)],
        [(1, 1.0), (2, 0.5), (4, 0.25)],
        [(1, 3.0), (2, 3.0), (3, 3.0)],
        [(1, 12.0), (2, 7.25), (3, 5.0), (4, 4.75), (8, 3.25)],
        [(4, 2.5), (1, 8.0), (2, 4.75)],
        [(2, 30.0), (1, 40.0)],
    ]
    for points in cases:
        got = number(judge, judge.call(serial_fraction, points))
        each = each_solved(points)
        alone = dict(points)[1]
        judge.close(got, fitted(points), mistakes={
            "the mean of what each point says by itself": sum(each) / len(each),
            "what the last point alone says": each[-1],
            "the parallel share, 1 - s": 1 - fitted(points),
            "with the first time of the list taken for that of one thread":
                partial(fitted, [(1, points[0][1]), *[p for p in points if p[0] != 1]]),
            "times that are not divided by that of one thread":
                partial(fitted, [(n, alone * t if n > 1 else 1.0) for n, t in points]),
        })  # fmt: skip


MODEL = {"operations": 16e9, "bytes": 10e9, "all bytes": 20e9}  # a second: a core, a core, all


def seconds_of(operations: float, nbytes: float, n: int, machine: dict[str, float]) -> float:
    """What n cores take, if they compute and move at the same time."""
    width = min(n * machine["bytes"], machine["all bytes"])
    return max(operations / (n * machine["operations"]), nbytes / width)


@exercise(
    "15.8",
    "Why add does not scale",
    answer="speedup",
    minutes=10,
    hints=(
        "Two things go on at the same time, computing and moving. How long does each take on n"
        " cores? The whole takes as long as the longer one.",
        "n cores compute n times as much in a second. And they move n times as much, until the"
        " memory itself has no more: min(n * machine['bytes'], machine['all bytes']).",
        "time(n) = max(operations / (n * machine['operations']), nbytes / min(n * machine['bytes'],"
        " machine['all bytes'])), and the speedup is time(1) / time(n).",
    ),
    why_ours="A max and a min, and two kinds of program come out: what is limited by computing"
    " scales with the cores, what is limited by moving stops where the memory is full.",
)
def check_15_8(judge: Judge, speedup: Any) -> None:
    """time(1) / time(n), where a time is the longer one of computing and of moving."""
    other = {"operations": 4e9, "bytes": 8e9, "all bytes": 64e9}
    slow = {"operations": 2e9, "bytes": 16e9, "all bytes": 8e9}
    for operations, nbytes in ((1e6, 12e6), (2e9, 12e6), (3e6, 3e6), (5e6, 2e6), (0.0, 8e6)):
        for n in (1, 2, 3, 4, 16):
            for machine in (MODEL, other, slow):
                one = seconds_of(operations, nbytes, 1, machine)
                right = one / seconds_of(operations, nbytes, n, machine)
                got = number(judge, judge.call(speedup, operations, nbytes, n, machine))
                unshared = {**machine, "all bytes": math.inf}
                judge.close(got, right, mistakes={
                    "memory that grows with the cores": n,
                    "upside down: time(n) / time(1)": 1 / right,
                    "one core without the limit of the whole memory":
                        seconds_of(operations, nbytes, 1, unshared)
                        / seconds_of(operations, nbytes, n, machine),
                })  # fmt: skip


# ---- 15.9: unequal cores -------------------------------------------------------------------------

FACTOR = Fraction(11, 10)  # of the bound, that a schedule may take


def span(parts: Sequence[Sequence[int]], speeds: Sequence[int]) -> Fraction:
    """When the last core is done."""
    return max(Fraction(sum(part), speed) for part, speed in zip(parts, speeds, strict=True))


def bound(costs: Sequence[int], speeds: Sequence[int]) -> Fraction:
    """No schedule is done earlier: all cores are busy, and the largest task is on the fastest."""
    return max(Fraction(sum(costs), sum(speeds)), Fraction(max(costs), max(speeds)))


def work_cases() -> dict[str, tuple[list[int], list[int]]]:
    draw = random.Random(5)
    return {
        "one core": ([3, 1, 2], [2]),
        "two equal cores": ([5, 4, 4, 3, 3, 2, 1], [1, 1]),
        "equal tasks": ([6] * 24, [3, 3, 1]),
        "two fast cores and two slow ones": ([draw.randint(4, 12) for _ in range(24)],
                                             [2, 2, 1, 1]),
        "the slow cores first": ([draw.randint(4, 12) for _ in range(24)], [1, 1, 2, 2]),
        "a large task at the end": ([4] * 16 + [30], [2, 2, 1, 1]),
        "rising": (list(range(2, 42, 2)), [2, 1, 1]),
        "falling": (list(range(40, 0, -2)), [2, 1, 1]),
        "large ones among small ones": ([draw.choice([1, 2, 3, 20]) for _ in range(30)],
                                        [4, 2, 1]),
    }  # fmt: skip


@exercise(
    "15.9",
    "Work for unequal cores",
    answer="assign",
    minutes=15,
    hints=(
        "A core that is free should take more work, and small tasks at the end fill gaps that large"
        " ones would leave. So which tasks come first?",
        "Largest first. And which core: not the one that is free first, but the one that would be"
        " *done* first with this task: a slow one is not worth it just because it is idle.",
        "for cost in sorted(costs, reverse=True): i = min(range(len(speeds)), key=lambda i: busy[i]"
        " + cost / speeds[i]); add the task to parts[i], and cost / speeds[i] to busy[i].",
    ),
    why_ours="Largest first, each to the core that is done with it first: greedy, and never far"
    " from the bound. To find the very best is NP-hard.",
)
def check_15_9(judge: Judge, assign: Any) -> None:
    """The tasks of each core, done within 1.1 times the bound that no schedule can beat."""
    for given, (costs, speeds) in work_cases().items():
        parts = judge.call(assign, costs, speeds, given=given)
        judge.that(isinstance(parts, list | tuple), f"it gives {kind(parts)}; a list is asked for")
        judge.equal(len(parts), len(speeds), given=f"{given}: how many cores")
        lists = all(isinstance(part, list | tuple) for part in parts)
        judge.that(lists, "it is not a list of lists of tasks", given=given)
        tasks = [task for part in parts for task in part]
        ints = all(type(task) is int for task in tasks)
        judge.that(ints and sorted(tasks) == sorted(costs), "not each task is there once",
                   given=given)  # fmt: skip
        least, took = bound(costs, speeds), span(parts, speeds)
        found = f"done at {float(took):.4g}, {float(took / least):.3g} times the bound of"
        judge.that(took <= FACTOR * least, f"{found} {float(least):.4g}; 1.1 is allowed",
                   given=given)  # fmt: skip


# ---- 15.10: a sum of the same bits ---------------------------------------------------------------


class Numbers(list[float]):
    """A list that tells a pool which job reads how many of its numbers."""

    pool: Any = None

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            part = Numbers(list.__getitem__(self, at))
            part.pool = self.pool
            return part
        self.pool.read += 1
        return list.__getitem__(self, at)

    def __iter__(self) -> Iterator[float]:
        for value in list.__iter__(self):
            self.pool.read += 1
            yield value


class Pool:
    """Threads that run jobs. Which job is run when, nobody knows: here a seed does."""

    def __init__(self, threads: int, seed: int = 0) -> None:
        self.threads, self.draw = threads, random.Random(seed)
        self.read, self.jobs = 0, list[int]()  # by the job that runs; by each that has run

    def run(self, jobs: Any) -> list[Any]:
        """Run all functions of a list; what they give, in the order of the list."""
        jobs = list(jobs)
        results: list[Any] = [None] * len(jobs)
        for place in self.draw.sample(range(len(jobs)), len(jobs)):
            self.read = 0
            results[place] = jobs[place]()
            self.jobs.append(self.read)
        return results

    def __repr__(self) -> str:
        return f"a pool of {self.threads}"


def wide(count: int, seed: int) -> list[float]:
    """Numbers of many sizes, whose sum depends on the order in which they are added."""
    draw = random.Random(seed)
    return [draw.uniform(-1, 1) * 10.0 ** draw.randint(-3, 3) for _ in range(count)]


@exercise(
    "15.10",
    "The same bits, however many threads",
    answer="total",
    minutes=12,
    hints=(
        "Floats are rounded after every addition, so a sum depends on what is added to what. What"
        " decides that in your code: the numbers, or the threads?",
        "Cut into blocks of a fixed length, 64 say, whatever `pool.threads` is. One job for each"
        " block; the results come back in the order of the blocks.",
        "jobs = [lambda start=start: sum(numbers[start : start + 64]) for start in range(0,"
        " len(numbers), 64)], and the result is sum(pool.run(jobs), 0.0). start=start is needed:"
        " without it all of them see the last one.",
    ),
    why_ours="`pool.threads` does not occur in it. The tree of additions belongs to the numbers,"
    " and which thread adds what is the pool's business.",
)
def check_15_10(judge: Judge, total: Any) -> None:
    """The sum, by jobs of at most a seventh of 1,000 numbers, with the same bits for 1, 2, 3 and
    7 threads."""
    for count, seed in ((1000, 1), (1000, 2), (65, 3), (64, 4), (3, 5), (1, 6), (0, 7)):
        values, said = wide(count, seed), []
        for turn, threads in enumerate((1, 2, 3, 7, 3)):
            pool, numbers = Pool(threads, seed + turn), Numbers(values)
            numbers.pool = pool
            given = f"{count} numbers, {threads} threads"
            got = judge.call(total, numbers, pool, changes=True, given=given)
            judge.equal(type(got), float, given=f"the type of the result, {given}")
            size = math.fsum(map(abs, values))
            near = abs(got - math.fsum(values)) <= 1e-13 * size
            judge.that(near, f"it gives {got:.6g}, and the sum is {math.fsum(values):.6g}")
            judge.equal(list.copy(numbers), values, given=f"the numbers afterwards, {given}")
            whole = f"its jobs read {sum(pool.jobs)} numbers: each of the {count} once is right"
            judge.that(sum(pool.jobs) == count, whole)
            longest = max(pool.jobs, default=0)
            most = -(-count // 7) if count == 1000 else count
            judge.that(longest <= most, f"one job reads {longest} numbers: seven threads could"
                       " not share the work")  # fmt: skip
            said.append((threads, got.hex()))
        for threads, bits in said:
            judge.that(bits == said[0][1], f"{threads} threads give {bits}, and 1 gives"
                       f" {said[0][1]}", given=f"{count} numbers")  # fmt: skip


# ---- 15.11 and 15.12: an arena -------------------------------------------------------------------


class Paged:
    """Memory whose pages come when they are first cut from: each of them is a fault."""

    def __init__(self, nbytes: int) -> None:
        self.bytes = memoryview(bytearray(nbytes))
        self.faults = 0
        self.there: set[int] = set()
        self.cut: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self.bytes)

    def __getitem__(self, part: slice) -> memoryview:
        start, stop, _ = part.indices(len(self))
        self.cut.append((start, max(start, stop)))
        pages = set(range(start // PAGE, -(-stop // PAGE))) if stop > start else set()
        self.faults += len(pages - self.there)
        self.there |= pages
        return self.bytes[start:stop]

    def __repr__(self) -> str:
        return f"memory of {len(self)} bytes"


def taken(judge: Judge, memory: Paged, arena: Any, nbytes: int, at: int, given: str) -> None:
    """take(nbytes) must give the bytes that begin at `at`."""
    memory.cut.clear()
    got = judge.run(partial(arena.take, nbytes))
    size = len(got) if isinstance(got, memoryview) else None
    judge.that(size is not None, f"take gives {kind(got)}: give a slice of memory", given=given)
    judge.that(size == nbytes, f"take({nbytes}) gives {size} bytes", given=given)
    start = memory.cut[-1][0] if memory.cut else None
    found = f"take({nbytes}) gives the bytes from {start} on; from {at} on is right"
    judge.that(start == at, found, given=given)


def _an_arena(judge: Judge, cls: Any, sizes: list[int]) -> Steps:
    """One arena; between its steps come those of another."""
    memory = Paged(1 << 16)
    arena = judge.instance(cls, memory, again=False)
    given, starts, at = f"a new arena, then take({', take('.join(f'{n})' for n in sizes)}", [], 0
    for nbytes in sizes:
        starts.append(at)
        taken(judge, memory, arena, nbytes, at, given)
        at += -(-nbytes // LINE) * LINE
        yield
    mark = judge.run(arena.mark)
    judge.run(partial(arena.reset, mark))  # nothing was taken since
    yield
    for again in range(3):
        taken(judge, memory, arena, 100, at, f"{given}, mark, take(100), reset: turn {again + 1}")
        inner = judge.run(arena.mark)
        taken(judge, memory, arena, 70, at + 128, f"{given}, mark, take(100), mark, take(70)")
        judge.run(partial(arena.reset, inner))
        yield
        taken(judge, memory, arena, 10, at + 128, f"{given}, marks inside each other")
        judge.run(partial(arena.reset, mark))
        yield
    given = f"{given}, mark; reset to a mark that lies behind where it is"
    judge.raises(ValueError, arena.reset, inner, given=given, called="arena.reset(mark)")
    taken(judge, memory, arena, 8, at, "after a reset that was refused")
    yield
    rest = (1 << 16) - at - LINE
    judge.raises(MemoryError, arena.take, rest + 1, given="a byte more than there is",
                 called="arena.take")  # fmt: skip
    taken(judge, memory, arena, rest, at + LINE, "all that is left, after one that did not fit")


@exercise(
    "15.11",
    "An arena",
    answer="Arena",
    minutes=12,
    hints=(
        "One number is enough: how many bytes are taken. take moves it on; mark gives it away;"
        " reset puts it back.",
        "Where the next bytes begin: the number, rounded up to a multiple of 64. If the end lies"
        " behind len(self.memory), raise MemoryError before you change anything.",
        "start = -(-self.used // 64) * 64; check; self.used = start + nbytes; return"
        " self.memory[start : start + nbytes]. reset(mark): ValueError if mark > self.used.",
    ),
    without=("tutor",),
    why_ours="One number, and two lines for each method. Nothing is freed one by one, so nothing"
    " has to be remembered: that is all the speed of it.",
)
def check_15_11(judge: Judge, Arena: Any) -> None:  # noqa: N803 - a class
    """take gives the next bytes at a multiple of 64; reset gives all back since the mark; and no
    page faults after the first step."""
    judge.that(isinstance(Arena, type), "Arena is no class")
    take_turns(*[_an_arena(judge, Arena, sizes) for sizes in ([10, 64, 65], [1], [128, 0, 7])])
    memory = Paged(40 * PAGE)
    arena = judge.instance(Arena, memory, again=False)
    sizes = [5000, 12000, 100, 30000, 64, 9000]
    faults = []
    for _ in range(4):
        before = memory.faults
        mark = judge.run(arena.mark)
        for nbytes in sizes:
            judge.run(partial(arena.take, nbytes))
        judge.run(partial(arena.reset, mark))
        faults.append(memory.faults - before)
    judge.equal(faults[1:], [0, 0, 0], given="four steps with a mark and a reset: page faults of"
                " the later three")  # fmt: skip


class Watched:
    """An arena that spoils what is given back, as another owner would."""

    def __init__(self, nbytes: int) -> None:
        self.memory, self.used, self.most, self.resets = bytearray(nbytes), 0, 0, 0

    def take(self, nbytes: int) -> memoryview:
        if self.used + nbytes > len(self.memory):
            raise MemoryError(f"{nbytes} bytes, of {len(self.memory) - self.used} left")
        start, self.used = self.used, self.used + nbytes
        self.most = max(self.most, self.used)
        return memoryview(self.memory)[start : self.used]

    def mark(self) -> int:
        return self.used

    def reset(self, mark: int) -> None:
        if not isinstance(mark, int) or not 0 <= mark <= self.used:
            raise ValueError(f"{mark} is no mark of this arena")
        self.memory[mark:] = b"\xdd" * (len(self.memory) - mark)
        self.used, self.resets = mark, self.resets + 1

    def __repr__(self) -> str:
        return f"an arena of {len(self.memory)} bytes"


@exercise(
    "15.12",
    "A bug hunt: after the reset",
    answer="brightest",
    minutes=8,
    hints=(
        "Which name outlives the reset, and what does it refer to?",
        "`best` is no copy: it is the arena's memory, and the next row is doubled in the very same"
        " place. So it compares a row with itself.",
        "Keep what has to last somewhere else: best = bytes(doubled). Or take room for it before"
        " the mark, and copy into that: best[:] = doubled.",
    ),
    why_ours="bytes() copies the one row that lasts. Everything else may be overwritten, and that"
    " is the point of an arena.",
)
def check_15_12(judge: Judge, brightest: Any) -> None:
    """The row with the largest sum, doubled, in an arena that has room for three rows."""
    draw = random.Random(2)
    cases = [[[3, 1], [1, 1], [2, 1]], [[1, 2], [9, 9], [0, 5]], [[5]], [[0, 0], [0, 1]]]
    cases += [[[draw.randint(0, 127) for _ in range(6)] for _ in range(40)] for _ in range(3)]
    for rows in cases:
        arena = Watched(3 * len(rows[0]))
        arena.take(1)  # somebody else's, from before
        got = judge.call(brightest, arena, rows, changes=True, given=f"{len(rows)} rows")
        right = [2 * value for value in max(rows, key=sum)]
        judge.that(isinstance(got, list | tuple | bytes | bytearray), f"it gives {kind(got)}")
        judge.equal(list(got), right, given=f"rows {rows[:3]} ...")
        judge.that(arena.most > 1, "nothing was taken from the arena")
        judge.equal(arena.used, 1, given="bytes taken afterwards; 1 was taken before")


# ---- 15.13: a planner ----------------------------------------------------------------------------

OVER = Fraction(105, 100)


def clash(lives: Sequence[Life], offsets: Sequence[int]) -> tuple[int, int] | None:
    """Two temps that lie in the same bytes at the same time."""
    for i, j in itertools.combinations(range(len(lives)), 2):
        (n, a, b), (m, c, d) = lives[i], lives[j]
        together = a <= d and c <= b
        if together and offsets[i] < offsets[j] + m and offsets[j] < offsets[i] + n:
            return i, j
    return None


def plans() -> dict[str, list[Life]]:
    draw = random.Random(3)
    found: dict[str, list[Life]] = {
        "no temps": [],
        "one": [(128, 0, 3)],
        "the second begins where the first ends": [(64, 0, 1), (64, 1, 2)],
        "the second begins after the first": [(64, 0, 1), (64, 2, 3)],
        "not in the order of their steps": [(64, 4, 5), (192, 0, 2), (64, 1, 4)],
    }
    for turn in range(6):
        lives = []
        for _ in range(7):
            first = draw.randrange(10)
            lives.append((64 * draw.randint(1, 6), first, first + draw.randrange(6)))
        found[f"seven temps, {turn}"] = lives
    return found


@exercise(
    "15.13",
    "A planner of memory",
    answer="plan",
    minutes=20,
    hints=(
        "Place one temp after the other, each in the lowest gap in which it overlaps nobody who is"
        " alive at the same time. Then ask in which order to place them.",
        "For one temp: go through those already placed that live at the same time, by rising"
        " offset, and keep `at`, where the next gap begins. If the gap up to the next one is wide"
        " enough, take it; else at = max(at, its end).",
        "Largest first: order = sorted(range(len(lives)), key=lambda i: -lives[i][0]). Two live at"
        " the same time if first <= other's last and other's first <= last.",
    ),
    without=("tutor",),
    seconds=5,
    why_ours="From the largest down, each into the first gap that fits: what is hard to place comes"
    " first, and the small ones fill what is left. tutor's own planner is the same idea.",
)
def check_15_13(judge: Judge, plan: Any) -> None:
    """An offset for each temp: none overlaps another that lives at the same time; and at most 1.05
    times the live bytes, on ten real graphs."""
    for given, lives in [*plans().items(), *GRAPHS.items()]:
        got = judge.call(plan, list(lives), given=given)
        judge.that(isinstance(got, list | tuple), f"it gives {kind(got)}; a list is asked for")
        judge.equal(len(got), len(lives), given=f"{given}: how many offsets")
        good = all(type(at) is int and at >= 0 for at in got)
        judge.that(good, "an offset is an int, 0 or more", given=given)
        judge.picture(drawn(lives, got, given))
        if pair := clash(lives, got):
            rows = " and ".join(f"{lives[i]} at {got[i]}" for i in pair)
            judge.that(False, f"{rows} overlap, at a step at which both live", given=given)
        if given in GRAPHS:
            peak, least = max(at + n for at, (n, _, _) in zip(got, lives, strict=True)), \
                live_bytes(lives)  # fmt: skip
            judge.that(peak <= OVER * least, f"{peak:,} bytes, {peak / least:.3f} times the"
                       f" {least:,} that are live; 1.05 is allowed", given=given)  # fmt: skip


# ---- 15.14 and 15.15: joules ---------------------------------------------------------------------

# Picojoules, of Mark Horowitz, "Computing's energy problem", ISSCC 2014: a chip of 45 nm, at 0.9 V.
# A cache or the memory is asked for 64 bits at a time.
PICOJOULES = {"add": 0.9, "multiply": 3.7, "L1": 20.0, "L2": 100.0, "memory": 1300.0}
WORD = 8  # bytes


def joules_of(counts: dict[str, float]) -> float:
    per = {what: cost if what in ("add", "multiply") else cost / WORD
           for what, cost in PICOJOULES.items()}  # fmt: skip
    return math.fsum(1e-12 * per[what] * count for what, count in counts.items())


@exercise(
    "15.14",
    "Joules, from counts",
    answer="joules",
    minutes=8,
    hints=(
        "Each count times what one of it costs, all added up. Two of them are operations, three are"
        " bytes; the table's costs of these are for how many bytes?",
        "A picojoule is 1e-12 joules. A byte of L1 costs an eighth of what the table says for 64"
        " bits.",
        'per = PICOJOULES[what], divided by 8 where what is neither "add" nor "multiply"; the sum'
        " of 1e-12 * per * count over counts.items().",
    ),
    why_ours="It is a sum of products, and the units are all of it: picojoules, and 8 bytes.",
)
def check_15_14(judge: Judge, joules: Any) -> None:
    """The joules of counted operations and bytes, by Horowitz's table."""
    for counts in (
        {"add": 1e12},
        {"multiply": 2e12, "add": 0.0},
        {"memory": 8e12},
        {"L1": 8e9, "L2": 4e9},
        {"add": 5e9, "multiply": 5e9, "L1": 4e9, "L2": 1e9, "memory": 25e7},
        {},
    ):
        got = number(judge, judge.call(joules, counts))
        bits = {what: n * (8 if what in ("L1", "L2", "memory") else 1)
                for what, n in counts.items()}  # fmt: skip
        judge.close(got, joules_of(counts), rtol=1e-9, atol=1e-15, mistakes={
            "the table's costs taken for those of one byte": partial(joules_of, bits),
            "in picojoules": 1e12 * joules_of(counts),
            "without what the memory costs": partial(
                joules_of, {what: n for what, n in counts.items() if what != "memory"}),
        })  # fmt: skip


Modes = dict[str, tuple[float, float]]  # steps a second, watts


def window_joules(mode: tuple[float, float], work: float, idle: float, deadline: float) -> float:
    busy = work / mode[0]
    return busy * mode[1] + (deadline - busy) * idle


@exercise(
    "15.15",
    "Race to sleep",
    answer="cheapest",
    minutes=10,
    hints=(
        "Count all joules until the deadline: those while it works, and those while it waits for"
        " the deadline to come.",
        "busy = work / speed seconds at the mode's watts, and deadline - busy seconds at `idle`"
        " watts. A mode whose busy is longer than the deadline does not count.",
        "costs = {name: busy * watts + (deadline - busy) * idle for the modes with busy <="
        " deadline}; ValueError if it is empty; min(costs, key=costs.get).",
    ),
    why_ours="Idle watts decide: where waiting is nearly as dear as working, be quick and sleep;"
    " where it costs nothing, be slow.",
)
def check_15_15(judge: Judge, cheapest: Any) -> None:
    """The mode that needs the fewest joules up to the deadline, among those that are in time."""
    modes: Modes = {"slow": (50.0, 5.0), "middle": (100.0, 7.0), "fast": (200.0, 20.0)}
    other: Modes = {"only": (10.0, 5.0)}
    odd: Modes = {"fast": (400.0, 24.0), "wasteful": (100.0, 25.0), "slow": (80.0, 6.0)}
    for known in (modes, other, odd):
        for work, idle, deadline in ((100.0, 0.0, 4.0), (100.0, 3.0, 4.0), (100.0, 4.5, 4.0),
                                     (100.0, 0.5, 1.0), (50.0, 2.5, 8.0), (20.0, 1.0, 2.0),
                                     (190.0, 2.0, 2.0)):  # fmt: skip
            in_time = {name: window_joules(mode, work, idle, deadline)
                       for name, mode in known.items() if work / mode[0] <= deadline}  # fmt: skip
            if not in_time:
                judge.raises(ValueError, cheapest, work, known, idle, deadline)
                continue
            got = judge.call(cheapest, work, known, idle, deadline)
            judge.that(got in known, f"it gives {got!r}: that is no mode")
            needs = ", ".join(f"{name} {cost:.4g} J" for name, cost in in_time.items())
            judge.that(got in in_time, f"{got} is not done in time; {needs}")
            least = min(in_time.values())
            judge.that(in_time[got] <= least + 1e-9, f"it gives {got}; {needs}")


# ---- 15.16: why times scatter --------------------------------------------------------------------


@exercise(
    "15.16",
    "Name the cause",
    answer="causes",
    minutes=8,
    hints=(
        "First look whether what disturbs comes at regular times, at times of its own, or once.",
        "Regular: pages that are touched anew. Irregular, and each of another height: somebody"
        " else. A step up and a step down again, with a peak at each: moved.",
        "Two change slowly. One begins slow and becomes fast: the clock rises. The other begins"
        " fast and becomes slow.",
    ),
    why_ours="Each cause has a form of its own in time. A mean and a deviation would have thrown it"
    " away: five recordings, and about the same spread.",
)
def check_15_16(judge: Judge, causes: Any) -> None:
    """The cause of each of the five recordings."""
    judge.equal(type(causes), dict, given="the type of causes")
    judge.equal(sorted(map(str, causes)), sorted(LETTERS), given="its keys")
    words = ", ".join(sorted(CAUSES))
    for letter, cause in LETTERS.items():
        said = causes[letter]
        judge.that(said in CAUSES, f"{letter} is {said!r}; the causes are {words}")
        judge.that(said == cause, f"{letter} is not {said}: look at when its times are long")


# ---- challenges ----------------------------------------------------------------------------------


@exercise(
    "15.s1",
    "Ten updates, and n is 2",
    answer="worst",
    minutes=15,
    hints=(
        "n is as small as it can be if the very last store stores a very small number. When was"
        " that number loaded?",
        "Thread 0 loads 0 and stops. Thread 1 does four of its five rounds. Then thread 0 stores 1."
        " What should thread 1 do now, before thread 0 goes on?",
        "Thread 1 loads the 1 and stops. Thread 0 does all the rest of its rounds, and only then"
        " thread 1 stores 2.",
    ),
    why_ours="It is not 5, and not 1: each thread's last load comes after at least one store, its"
    " own or the other's.",
)
def check_15_s1(judge: Judge, worst: Any) -> None:
    """An order after which two threads that add 1 five times each have ended, and n is 2."""
    start: Order = ()
    moment = follow(judge, Moment([rounds(add_one, 5)] * 2, {"n": 0}), worst or start)
    judge.that(moment.ended, f"{30 - len(worst)} of the 30 steps are missing")
    n = moment.memory["n"]
    judge.that(n == 2, f"n is {n} at the end; it can be 2")


@exercise(
    "15.s2",
    "Without a lock, without a swap",
    answer="guarded",
    minutes=20,
    hints=(
        "Two flags are not enough: both may raise theirs at the same time. What if each of them"
        " also says that the *other* may go first?",
        "Raise your flag, then give the turn away. Wait as long as the other's flag is up and the"
        " turn is the other's.",
        'yield "store", f"flag{me}", 1; yield "store", "turn", 1 - me; while (yield "load",'
        ' f"flag{1 - me}") and (yield "load", "turn") == 1 - me: pass. Add. Lower your flag.',
    ),
    why_ours="Peterson's, of 1981. Real processors delay stores, and then it fails: it needs a"
    " fence between the store of the turn and the first load.",
)
def check_15_s2(judge: Judge, guarded: Any) -> None:
    """guarded(me) adds 1 to n, by load, add and store only, right in every order of two threads."""
    memory = {"n": 0, "flag0": 0, "flag1": 0, "turn": 0}
    for counts in ((1, 0), (0, 1), (1, 1), (1, 2), (2, 1)):
        threads: list[Any] = [
            rounds(_plain(judge, partial(guarded, me)), count) for me, count in enumerate(counts)
        ]
        safe(judge, threads, memory, sum(counts))


def _plain(judge: Judge, thread: Callable[[], Any]) -> Callable[[], Any]:
    """The same thread, which must neither lock nor swap."""

    def steps() -> Iterator[Any]:
        made = thread()
        judge.that(hasattr(made, "send"), "guarded has no `yield`")
        answer = None
        while True:
            try:
                wanted = made.send(answer)
            except StopIteration:
                return
            what = wanted[0] if isinstance(wanted, tuple) and wanted else wanted
            if what not in ("load", "add", "store"):
                judge.fail({"found": f"yield {wanted!r}: load, add and store are all there is"})
            answer = yield wanted

    return steps


# ---- questions -----------------------------------------------------------------------------------

question(
    "15.q1",
    "Two threads of four steps each. How many orders are there?",
    right=70,
    why="8! / (4! 4!): choose which four of the eight steps are thread 0's",
    tempting={
        16: "that is 2 to the 4th; there are eight steps",
        256: "2 to the 8th counts orders in which one thread takes all eight steps",
        40320: "8!: but the steps of one thread stay in their order",
        24: "4! orders of what? The steps of a thread are not exchanged",
    },
)
question(
    "15.q2",
    "A tenth of a program's time is serial. How many times as fast does it get at most, with as"
    " many cores as you like?",
    right=10,
    why="the serial tenth remains: 1 / 0.1",
    tempting={
        9: "nine tenths shrink to nothing, but what is left is a tenth: 10 times",
        90: "90 % of it is what becomes faster; how many times as fast is another question",
    },
)
question(
    "15.q3",
    "Four threads each count in a number of their own, and it is slower than with one thread. What"
    " do you look for first?",
    choices={
        "a": "a lock that is missing",
        "b": "whether the four numbers are in one cache line",
        "c": "an Amdahl fraction of more than a half",
    },
    right="b",
    why="nothing is shared but the line: false sharing, and padding ends it",
    tempting={
        "a": "then the result would be wrong; nobody else writes to these numbers",
        "c": "a serial part keeps it from becoming faster; it does not make it slower than one",
    },
)
question(
    "15.q4",
    "After reset(), an old view of the arena's memory is read. What happens?",
    choices={
        "a": "an error is raised",
        "b": "it reads zeros",
        "c": "it reads what is there: the old numbers, until somebody else takes the place",
    },
    right="c",
    why="nothing is checked, and a test that looks at once sees nothing wrong",
    tempting={
        "a": "who should raise it? The memory is there, only its owner is another",
        "b": "reset moves one number; it clears nothing, or it would not be so cheap",
    },
)
question(
    "15.q5",
    "Moving eight bytes from memory costs 1,300 pJ, an addition 0.9 pJ. How many float32 additions"
    " cost about as much as moving one float32?",
    right=722,
    why="4 bytes cost 650 pJ, and 650 / 0.9 is about 722",
    tempting={
        1444: "that is what eight bytes cost, which are two float32",
        650: "those are the picojoules; an addition costs 0.9 of them",
        361: "two bytes are a float16",
    },
)
