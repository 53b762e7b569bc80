"""Right answers to the exercises of chapter 15, written otherwise than ours."""

RIGHT = {
    "15.1": {
        "by turns": "lost = [0, 1, 0, 1, 0, 1]",
        "a tuple, and the other one first": "lost = (1, 0, 0, 0, 1, 1)",
    },
    "15.2": {
        "a lock": """
def add_safely():
    yield "lock", "m"
    value = yield "load", "n"
    value = yield "add", value, 1
    yield "store", "n", value
    yield "unlock", "m"
""",
        "a lock, in one line": """
def add_safely():
    yield ("lock", "of n")
    yield ("store", "n", (yield ("add", (yield ("load", "n")), 1)))
    yield ("unlock", "of n")
""",
        "swaps until it did": """
def add_safely():
    done = False
    while not done:
        n = yield "load", "n"
        done = yield "swap", "n", n, n + 1
""",
    },
    "15.3": {
        "level by level": """
def stuck(machine):
    level, seen = {machine.state: ([], machine)}, set()
    while level:
        for order, now in level.values():
            if not now.ended and not now.ready():
                return order
        seen |= set(level)
        after = {}
        for order, now in level.values():
            for i in now.ready():
                then = now.step(i)
                if then.state not in seen:
                    after[then.state] = (order + [i], then)
        level = after
""",
        "longer and longer, in depth": """
def stuck(machine):
    from collections import deque

    queue, seen = deque([(machine, [])]), [machine.state]
    known = set(seen)
    while queue:
        now, order = queue.popleft()
        moves = [(i, now.step(i)) for i in now.ready()]
        if not moves and not now.ended:
            return tuple(order)
        for i, then in moves:
            if then.state in known:
                continue
            known.add(then.state)
            queue.append((then, [*order, i]))
    return None
""",
    },
    "15.4": {
        "the smaller name first": """
def transfer(source, target, amount):
    first, second = min(source, target), max(source, target)
    yield "lock", first + "!"
    if first != second:
        yield "lock", second + "!"
    for place, more in ((source, -amount), (target, amount)):
        value = yield "load", place
        yield "store", place, value + more
    if first != second:
        yield "unlock", second + "!"
    yield "unlock", first + "!"
""",
        "no locks: swaps": """
def transfer(source, target, amount):
    for place, change in ((source, -amount), (target, amount)):
        while True:
            old = yield "load", place
            if (yield "swap", place, old, old + change):
                break
""",
    },
    "15.5": {
        "a set of pairs": """
def invalidations(accesses, line):
    have, count = set(), 0
    for core, address, what in accesses:
        here = address // line
        if what == "write":
            others = {pair for pair in have if pair[1] == here and pair[0] != core}
            count += len(others)
            have -= others
        have.add((core, here))
    return count
""",
    },
    "15.6": {
        "math.ceil": """
import math


def places(count, itemsize, line):
    lines = math.ceil(itemsize / line)
    return [line * lines * i for i in range(count)]
""",
        "one after the other, a tuple": """
def places(count, itemsize, line):
    found, at = [], 0
    while len(found) < count:
        found.append(at)
        at += itemsize
        while at % line:
            at += 1
    return tuple(found)
""",
    },
    "15.7": {
        "a search": """
def serial_fraction(points):
    alone = [t for n, t in points if n == 1][0]

    def error(s):
        return sum((t / alone - s - (1 - s) / n) ** 2 for n, t in points)

    low, high = -4.0, 4.0
    for _ in range(200):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if error(a) < error(b) else (a, high)
    slope = (error(1.0) - error(-1.0)) / 2
    curve = (error(1.0) + error(-1.0)) / 2 - error(0.0)
    return -slope / (2 * curve)
""",
    },
    "15.8": {
        "rates": """
def speedup(operations, nbytes, n, machine):
    def rate(n):
        moved = min(n * machine["bytes"], machine["all bytes"]) / nbytes
        computed = n * machine["operations"] / operations if operations else float("inf")
        return min(moved, computed)

    return rate(n) / rate(1)
""",
    },
    "15.9": {
        "a heap of finishing times": """
def assign(costs, speeds):
    loads = [0] * len(speeds)
    parts = [[] for _ in speeds]
    for cost in reversed(sorted(costs)):
        ends = [((load + cost) / speed, -speed, i)
                for i, (load, speed) in enumerate(zip(loads, speeds))]
        i = min(ends)[2]
        loads[i] += cost
        parts[i] += [cost]
    return parts
""",
    },
    "15.10": {
        "blocks of 100, fsum, and a tree": """
import math


def total(numbers, pool):
    def part(a):
        return lambda: math.fsum(numbers[a : a + 100])

    sums = pool.run([part(a) for a in range(0, len(numbers), 100)])
    while len(sums) > 1:
        sums = [sum(sums[i : i + 2]) for i in range(0, len(sums), 2)]
    return sums[0] if sums else 0.0
""",
        "every sixteenth number": """
def total(numbers, pool):
    def job(k):
        def add():
            found = 0.0
            for i in range(k, len(numbers), 16):
                found += numbers[i]
            return found

        return add

    found = 0.0
    for part in pool.run([job(k) for k in range(16)]):
        found += part
    return found
""",
    },
    "15.11": {
        "what is taken is kept as a rounded end": """
class Arena:
    def __init__(self, memory):
        self.memory = memory
        self.end = 0

    def take(self, nbytes):
        after = self.end + nbytes
        if after > len(self.memory):
            raise MemoryError("full")
        block = self.memory[self.end : after]
        self.end = (after + 63) // 64 * 64
        return block

    def mark(self):
        return self.end

    def reset(self, mark):
        if self.end < mark:
            raise ValueError("an old mark")
        self.end = mark
""",
    },
    "15.12": {
        "a place that lasts": """
def brightest(arena, rows):
    outside = arena.mark()
    kept = arena.take(len(rows[0]))
    best = -1
    for row in rows:
        mark = arena.mark()
        doubled = arena.take(len(row))
        for i, value in enumerate(row):
            doubled[i] = 2 * value
        if sum(doubled) > best:
            best = sum(doubled)
            kept[:] = doubled
        arena.reset(mark)
    found = list(kept)
    arena.reset(outside)
    return found
""",
        "a list is kept": """
def brightest(arena, rows):
    best, most = [], -1
    for row in rows:
        mark = arena.mark()
        place = arena.take(len(row))
        place[:] = bytes(2 * value for value in row)
        if sum(place) > most:
            best, most = list(place), sum(place)
        arena.reset(mark)
    return best
""",
    },
    "15.13": {
        "every offset is tried": """
def plan(lives):
    where = {}
    for i in sorted(range(len(lives)), key=lambda i: (-lives[i][0], lives[i][1])):
        size, first, last = lives[i]
        others = [
            (where[j], where[j] + lives[j][0])
            for j in where
            if lives[j][1] <= last and lives[j][2] >= first
        ]
        for at in sorted({0, *(end for _, end in others)}):
            if all(at + size <= begin or end <= at for begin, end in others):
                where[i] = at
                break
    return [where[i] for i in range(len(lives))]
""",
    },
    "15.14": {
        "in words of eight bytes": """
def joules(counts):
    pico = 0
    for what in counts:
        many = counts[what]
        if what in ("L1", "L2", "memory"):
            many /= 8
        pico += many * PICOJOULES[what]
    return pico / 10**12
""",
    },
    "15.15": {
        "a loop with a best so far": """
def cheapest(work, modes, idle, deadline):
    best = None
    for name in modes:
        speed, watts = modes[name]
        if speed * deadline < work:
            continue
        cost = deadline * idle + work / speed * (watts - idle)
        if best is None or cost < best[0]:
            best = (cost, name)
    if best is None:
        raise ValueError("too late")
    return best[1]
""",
    },
    "15.16": {
        "by zip": """
words = ("process", "heat", "faults", "frequency", "migration")
causes = dict(zip("ABCDE", words))
""",
    },
    "15.s1": {
        "thread 1 first": "worst = [1] + 12 * [0] + [1, 1] + [0] + 12 * [1] + [0, 0]",
    },
    "15.s2": {
        "Dekker": """
def guarded(me):
    other = 1 - me
    yield "store", f"flag{me}", 1
    while (yield "load", f"flag{other}"):
        if (yield "load", "turn") != me:
            yield "store", f"flag{me}", 0
            while (yield "load", "turn") != me:
                pass
            yield "store", f"flag{me}", 1
    yield "store", "n", (yield "load", "n") + 1
    yield "store", "turn", other
    yield "store", f"flag{me}", 0
""",
    },
}
