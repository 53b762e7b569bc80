"""Right answers to the exercises of chapter 13, written otherwise than ours."""

RIGHT = {
    "13.1": {
        "lists, and numbers of the time": """
class CacheModel:
    def __init__(self, size, line=64, ways=8):
        self.size_of_line, self.places = line, ways
        self.count = size // line // ways
        self.used = {}
        self.hits = self.misses = self.now = 0

    def touch(self, address):
        self.now += 1
        n = address // self.size_of_line
        there = n in self.used
        if not there:
            mates = [m for m in self.used if m % self.count == n % self.count]
            if len(mates) >= self.places:
                self.used.pop(min(mates, key=self.used.get))
        self.used[n] = self.now
        self.hits, self.misses = self.hits + there, self.misses + (not there)
        return there
""",
        "lists": """
class CacheModel:
    def __init__(self, size, line=64, ways=8):
        self.line, self.ways = line, ways
        self.sets = [[] for _ in range(size // (line * ways))]
        self.hits = 0
        self.misses = 0

    def touch(self, address):
        number = address // self.line
        places = self.sets[number % len(self.sets)]
        if number in places:
            places.remove(number)
            places.append(number)
            self.hits += 1
            return True
        if len(places) == self.ways:
            places.pop(0)
        places.append(number)
        self.misses += 1
        return False
""",
    },
    "13.2": {
        "two cases": """
def by_hand(rows, columns, order, line=64, lines=64):
    in_a_line = line // 4
    if order == "columns" and rows > lines:
        return rows * columns, (in_a_line - 1) / in_a_line
    return rows * (columns // in_a_line), 0.0
""",
    },
    "13.3": {
        "strips of 16 columns of out": """
def transpose_tiled(a, out, rows, columns, down, out_down):
    for top in range(0, rows, 16):
        for left in range(0, columns, 16):
            for j in range(left, min(left + 16, columns)):
                for i in range(top, min(top + 16, rows)):
                    x = a[i * down + j]
                    out[j * out_down + i] = x
""",
        "strips: sixteen rows, column by column": """
def transpose_tiled(a, out, rows, columns, down, out_down):
    for top in range(0, rows, 16):
        bottom = min(top + 16, rows)
        for j in range(columns):
            for i in range(top, bottom):
                out[j * out_down + i] = a[i * down + j]
""",
        "tiles of 32": """
def transpose_tiled(a, out, rows, columns, down, out_down):
    for top in range(0, rows, 32):
        for left in range(0, columns, 32):
            for i in range(top, min(top + 32, rows)):
                for j in range(left, min(left + 32, columns)):
                    out[j * out_down + i] = a[i * down + j]
""",
        "sixteen numbers in hands": """
def transpose_tiled(a, out, rows, columns, down, out_down):
    for top in range(0, rows, 16):
        for left in range(0, columns, 16):
            for i in range(top, min(top + 16, rows)):
                places = range(left, min(left + 16, columns))
                numbers = [a[i * down + j] for j in places]
                for j, x in zip(places, numbers):
                    out[j * out_down + i] = x
""",
    },
    "13.4": {
        "strips of sixteen columns": """
def add_transposed(a, out, n, down):
    for left in range(0, n, 16):
        for i in range(n):
            for j in range(left, min(left + 16, n)):
                out[i * down + j] = a[j * down + i] + a[i * down + j]
""",
        "tile by tile": """
def add_transposed(a, out, n, down):
    for top in range(0, n, 16):
        for left in range(0, n, 16):
            for i in range(top, min(top + 16, n)):
                for j in range(left, min(left + 16, n)):
                    out[i * down + j] = a[j * down + i] + a[i * down + j]
""",
        "both places of a pair at once": """
def add_transposed(a, out, n, down):
    for top in range(0, n, 16):
        for left in range(top, n, 16):
            for i in range(top, min(top + 16, n)):
                for j in range(left, min(left + 16, n)):
                    out[i * down + j] = a[j * down + i] + a[i * down + j]
            for j in range(left, min(left + 16, n)):
                for i in range(top, min(top + 16, n)):
                    out[j * down + i] = a[i * down + j] + a[j * down + i]
""",
    },
    "13.5": {
        "blocks with a number": """
def faults(events, keep, page=4096):
    block_of, pages, pools, total = {}, [], [], 0
    sizes = []
    for kind, name, value in events:
        if kind == "new":
            fitting = [b for b in pools if sizes[b] == value]
            if fitting:
                block_of[name] = fitting[-1]
                pools.remove(fitting[-1])
            else:
                block_of[name] = len(sizes)
                sizes.append(value)
        if kind == "touch":
            where = (block_of[name], value // page)
            if where not in pages:
                pages.append(where)
                total += 1
        if kind == "free" and keep:
            pools.append(block_of[name])
    return total
""",
    },
    "13.6": {
        "slices, and the chains side by side": """
def add_up(numbers, add, ways):
    chains = [numbers[k::ways] for k in range(min(ways, len(numbers)))]
    totals = [chain[0] for chain in chains]
    for place in range(1, len(chains[0])):
        for k, chain in enumerate(chains):
            if place < len(chain):
                totals[k] = add(totals[k], chain[place])
    total = totals[0]
    for other in totals[1:]:
        total = add(total, other)
    return total
""",
        "chain after chain": """
import functools


def add_up(numbers, add, ways):
    chains = [numbers[k::ways] for k in range(ways) if k < len(numbers)]
    return functools.reduce(add, [functools.reduce(add, chain) for chain in chains])
""",
    },
    "13.7": {
        "whole vectors, and the rest one by one": """
def add_lanes(unit, out, x, y, n):
    i = 0
    while i + 8 <= n:
        unit.store(out, i, unit.add(unit.load(x, i), unit.load(y, i)))
        i += 8
    while i < n:
        out[i] = x[i] + y[i]
        i += 1
""",
        "from the end": """
def add_lanes(unit, out, x, y, n):
    first = n % 8
    for i in range(first):
        out[i] = x[i] + y[i]
    for i in range(first, n, 8):
        v = unit.load(x, i)
        w = unit.load(y, i)
        unit.store(out, i, unit.add(v, w))
""",
        "the tail is loaded before anything is written": """
def add_lanes(unit, out, x, y, n):
    whole, rest = divmod(n, 8)
    tail = None
    if rest:
        tail = unit.add(unit.load(x, 8 * whole, rest), unit.load(y, 8 * whole, rest))
    for k in range(whole):
        unit.store(out, 8 * k, unit.add(unit.load(x, 8 * k), unit.load(y, 8 * k)))
    if tail:
        unit.store(out, 8 * whole, tail, rest)
""",
    },
    "13.8": {
        "by their texts": """
def changed(before, after):
    return [x for x in HALVES if repr(before(x)) != repr(after(x))]
""",
        "by bits of its own": """
def changed(before, after):
    def bits(x):
        x = float(x)
        return b"nan" if x != x else struct.pack("d", x)

    found = []
    for x in HALVES:
        if bits(before(x)) != bits(after(x)):
            found.append(x)
    return found
""",
    },
    "13.9": {
        "other numbers, and lists": """
witnesses = {
    "(a + b) - a is b": [2048, 1],
    "(a + b) + c is a + (b + c)": [60000.0, 60000.0, -60000.0],
    "a / b is a * (1 / b)": (5.0, 3.0),
    "a * b + a * c is a * (b + c)": (300.0, 300.0, -299.0),
    "0 - a is -a": [0],
    "not a >= b is a < b": (1.0, math.nan),
}
""",
    },
    "13.10": {
        "by chance": """
def agrees(kernel):
    rng = random.Random(1)
    pool = [0.0, -0.0, math.nan, math.inf, -math.inf, *range(-20, 20)]
    for trial in range(300):
        n = rng.randrange(75)
        x, y = Row(rng.choices(pool, k=n)), Row(rng.choices(pool, k=n))
        out = [Row([0.125] * n), x, y][trial % 3]
        right = [larger(p, q) for p, q in zip(x.numbers, y.numbers)]
        try:
            kernel(Lanes(), out, x, y, n)
        except Exception:
            return False
        if any(not same(p, q) for p, q in zip(out.numbers, right)):
            return False
    return True
""",
    },
    "13.11": {
        "a loop that remembers the best": """
def choose(builds, flags, wish=None):
    best = None
    for name, needs in builds:
        runs = all(flag in flags for flag in needs)
        if wish == name and runs:
            return name
        if runs:
            best = name
    if wish is not None:
        raise ValueError(f"no build {wish!r} for {sorted(flags)}")
    return best
""",
    },
    "13.s1": {
        "a stack": """
def transpose_anywhere(a, out, rows, columns, down, out_down):
    waiting = [(0, rows, 0, columns)]
    while waiting:
        top, bottom, left, right = waiting.pop()
        high, wide = bottom - top, right - left
        if high * wide == 1:
            out[left * out_down + top] = a[top * down + left]
        elif high > wide:
            waiting += [(top + high // 2, bottom, left, right), (top, top + high // 2, left, right)]
        else:
            middle = left + wide // 2
            waiting += [(top, bottom, middle, right), (top, bottom, left, middle)]
""",
    },
    "13.s2": {
        "the sets first": """
def geometry(make):
    def evicts(addresses):
        touch = make()
        touch(0)
        for address in addresses:
            touch(address)
        return not touch(0)

    line = next(2**k for k in range(20) if first_miss(make, 2**k))
    lines = next(n for n in range(1, 5000) if evicts([k * line for k in range(1, n + 1)]))
    ways = next(n for n in range(1, 500) if evicts([k * line * lines for k in range(1, n + 1)]))
    return (line, lines // ways, ways)


def first_miss(make, distance):
    touch = make()
    touch(0)
    return not touch(distance)
""",
    },
}
