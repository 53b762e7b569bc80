"""Right answers to the exercises of chapter 14, written otherwise than ours."""

RIGHT = {
    "14.1": {
        "a list of steps": """
def ikj(rows, depth, columns):
    steps = []
    for i in rows:
        for k in depth:
            steps.append(("load", "x", "A", i, k))
            for j in columns:
                steps += [("load", "y", "B", k, j), ("load", "z", "C", i, j)]
                steps += [("fma", "z", "x", "y"), ("store", "z", "C", i, j)]
    return steps
""",
        "a generator expression over rows": """
def along(i, k, columns):
    yield "load", 0, "A", i, k
    for j in columns:
        yield "load", 1, "C", i, j
        yield "load", 2, "B", k, j
        yield "fma", 1, 0, 2
        yield "store", 1, "C", i, j


def ikj(rows, depth, columns):
    return (step for i in rows for k in depth for step in along(i, k, columns))
""",
    },
    "14.2": {
        "each sum's register is a number": """
def tile(rows, depth, columns):
    places = [(i, j) for i in rows for j in columns]
    for n, (i, j) in enumerate(places):
        yield "load", n, "C", i, j
    for k in depth:
        for j in columns:
            yield "load", f"b{j}", "B", k, j
        for n, (i, j) in enumerate(places):
            if j == columns[0]:
                yield "spread", "a", "A", i, k
            yield "fma", n, "a", f"b{j}"
    for n, (i, j) in enumerate(places):
        yield "store", n, "C", i, j
""",
        "sums that are loaded when they are first needed": """
def tile(rows, depth, columns):
    first = True
    for k in depth:
        for j in columns:
            yield "load", ("b", j), "B", k, j
        for i in rows:
            yield "spread", "a", "A", i, k
            for j in columns:
                if first:
                    yield "load", ("c", i, j), "C", i, j
                yield "fma", ("c", i, j), "a", ("b", j)
        first = False
    yield from (("store", ("c", i, j), "C", i, j) for i in rows for j in columns)
""",
    },
    "14.3": {
        "loops, and the best so far": """
def best_tile(registers):
    best, found = float("inf"), None
    for vectors in range(1, registers):
        rows = (registers - 1 - vectors) // vectors  # as many as fit
        if rows > 0 and 1 / rows + 1 / vectors < best:
            best, found = 1 / rows + 1 / vectors, (rows, vectors)
    return found
""",
    },
    "14.4": {
        "three loops over starts, in another order": """
def tiled(n, size):
    for k in range(0, n, size):
        for i in range(0, n, size):
            for j in range(0, n, size):
                yield from ikj(*(range(x, n)[:size] for x in (i, k, j)))
""",
        "with sums in registers inside": """
def tiled(n, size):
    whole = range(n)
    for i in whole[::size]:
        for j in whole[::size]:
            for k in whole[::size]:
                yield from ijk(whole[i : i + size], whole[k : k + size], whole[j : j + size])
""",
    },
    "14.5": {
        "strides of chapter 2": """
def packed_at(k, j, depth, width):
    index = (j // width, k, j % width)
    return sum(i * s for i, s in zip(index, strides_for((1, depth, width))))
""",
        "rows from the last to the first": """
def packed_at(k, j, depth, width):
    start = j // width * width * depth
    return start + (depth - 1 - k) * width + j % width
""",
    },
    "14.6": {
        "four small ones": "sizes = ((9, 1, 13), [4, 2, 6], (1, 2, 3), (3, 5, 2))",
    },
    "14.7": {
        "whole numbers, the large ones first and third": "witness = (2**53, 1, -(2**53), 0.5)",
        "other powers": "witness = [2.0**60, 2.0**7, -(2.0**60), 2.0**6]",
    },
    "14.8": {
        "one function for each": """
def work(name, n):
    def add():
        return n**2, 12 * n**2

    def product():
        return 2 * n * n * n, 12 * n**2

    def convolution():
        out = 8 * (n - 4) * (n - 4)
        return out * 25 * 2, 4 * (n**2 + 8 * 5 * 5 + out)

    def softmax():
        return 5 * n**2, 8 * n**2

    def attention():
        return n**2 * (4 * 64 + 5), 4 * n * (4 * n + 4 * 64)

    return locals()[name]()
""",
    },
    "14.9": {
        "by times": """
def bound(operations, moved, peak, bandwidth):
    times = {"memory": moved / bandwidth, "compute": operations / peak}
    longest = max(times, key=times.get)
    return operations / times[longest], longest
""",
    },
    "14.10": {
        "rules in a dict": """
def objections(claim):
    a, b = claim["mine"], claim["theirs"]
    best = [min(side["seconds"]) for side in (a, b)]
    slow, fast = sorted(claim["probes"], reverse=True)
    rules = {
        "dtype": a["dtype"] is None or a["dtype"] != b["dtype"],
        "threads": None in (a["threads"], b["threads"]) or a["threads"] != b["threads"],
        "n": a["n"] != b["n"] or a["n"] is None,
        "warm-up": not all(side["warmed"] for side in (a, b)),
        "few": any(len(side["seconds"]) < 15 for side in (a, b)),
        "noise": slow / fast > 1.15,
        "factor": best[0] * claim["factor"] > best[1],
        "peak": any(2 * s["n"] ** 3 > claim["peak"] * t for s, t in zip((a, b), best)),
    }
    return frozenset(rule for rule, broken in rules.items() if broken)
""",
    },
    "14.11": {
        "a Tensor made by hand": """
def slid(signal, filters):
    width = signal.shape[1]
    windows = Tensor(
        signal.buf,
        (signal.shape[0] - filters.shape[0] // width + 1, filters.shape[0]),
        (signal.strides[0], signal.strides[1]),
        signal.offset,
    )
    return MatMul(windows, filters).apply()
""",
    },
    "14.12": {
        "reshape and transpose": """
def all_heads(q, k, heads):
    places, width = q.shape
    q, k = (t.reshape(places, heads, width // heads) for t in (q, k))
    return q.permute(1, 0, 2) @ k.permute(1, 2, 0)
""",
    },
    "14.s1": {
        "starts in one loop": """
def fewer(n):
    whole = range(n)
    starts = [(i, j, k) for i in whole[::12] for j in whole[::8] for k in whole[::4]]
    for i, j, k in starts:
        yield from ikj(whole[i : i + 12], whole[k : k + 4], whole[j : j + 8])
""",
    },
    "14.s2": {
        "another order, and other sizes": """
def both(n):
    whole = range(n)
    for k in whole[::24]:
        for j in whole[::12]:
            for i in whole[::4]:
                for left in range(j, min(j + 12, n), 6):
                    yield from tile(whole[i : i + 4], whole[k : k + 24], range(left, left + 6, 2))
""",
    },
}
