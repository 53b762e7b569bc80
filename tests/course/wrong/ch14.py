"""Planted wrong answers to the exercises of chapter 14."""

from wrong import edit

WRONG = {
    "14.1": {
        "the three loops as they were": """
def ikj(rows, depth, columns):
    for i in rows:
        for j in columns:
            yield "load", "sum", "C", i, j
            for k in depth:
                yield "load", "a", "A", i, k
                yield "load", "b", "B", k, j
                yield "fma", "sum", "a", "b"
            yield "store", "sum", "C", i, j
""",
        "k, i, j: down a column of A": edit(
            "    for i in rows:\n        for k in depth:",
            "    for k in depth:\n        for i in rows:",
        ),
        "a is loaded for every sum": edit(
            '            yield "load", "a", "A", i, k\n            for j in columns:\n',
            '            for j in columns:\n                yield "load", "a", "A", i, k\n',
        ),
        "what was in C is lost": edit('yield "load", "sum", "C", i, j', 'yield "zero", "sum"'),
        "the sum goes on along the row": edit(
            '            for j in columns:\n                yield "load", "sum", "C", i, j\n',
            '            yield "load", "sum", "C", i, columns[0]\n            for j in columns:\n',
        ),
        "the transpose of A": edit('"A", i, k', '"A", k, i'),
        "the transpose of B": edit('"B", k, j', '"B", j, k'),
        "nothing is stored": edit('\n                yield "store", "sum", "C", i, j', ""),
        "stored once for each row": edit(
            '                yield "store", "sum", "C", i, j',
            '            yield "store", "sum", "C", i, j',
        ),
        "always from 0 on": edit("for k in depth", "for k in range(len(depth))"),
        "a function, which returns a step": """
def ikj(rows, depth, columns):
    for i in rows:
        for k in depth:
            return "load", "a", "A", i, k
""",
        "raises: the names of the matrices without quotes": edit('"A", i, k', "A, i, k"),
    },
    "14.2": {
        "B is loaded for every row": """
def tile(rows, depth, columns):
    for i in rows:
        for j in columns:
            yield "load", (i, j), "C", i, j
    for k in depth:
        for i in rows:
            yield "spread", "a", "A", i, k
            for j in columns:
                yield "load", "b", "B", k, j
                yield "fma", (i, j), "a", "b"
    for i in rows:
        for j in columns:
            yield "store", (i, j), "C", i, j
""",
        "A is loaded for every column": edit(
            '            yield "spread", "a", "A", i, k\n            for j in columns:\n',
            '            for j in columns:\n                yield "spread", "a", "A", i, k\n',
        ),
        "a new name at each step, so that sums are spilled": edit(
            '("b", j), "B", k, j', '("b", k, j), "B", k, j', '"a", ("b", j)', '"a", ("b", k, j)'
        ),
        "a register for every number of A": edit(
            '"spread", "a", "A"', '"spread", ("a", i), "A"', '(i, j), "a", (', '(i, j), ("a", i), ('
        ),
        "what was in C is lost": edit('"load", (i, j), "C", i, j', '"zero", (i, j)'),
        "stored at every step of the depth": edit(
            '                yield "fma", (i, j), "a", ("b", j)\n',
            '                yield "fma", (i, j), "a", ("b", j)\n'
            '                yield "store", (i, j), "C", i, j\n',
        ),
        "one register for the sums of a row": edit(
            '"load", (i, j), "C"',
            '"load", i, "C"',
            '"fma", (i, j)',
            '"fma", i',
            '"store", (i, j)',
            '"store", i',
        ),
        "A is loaded like B": edit('"spread"', '"load"'),
        "B is spread like A": edit('"load", ("b", j)', '"spread", ("b", j)'),
        "nothing is stored": edit(
            '            yield "store", (i, j), "C", i, j', "            pass"
        ),
        "the columns are counted from 0": edit('"B", k, j', '"B", k, j - columns[0]'),
        "the sums from memory, at each step": """
def tile(rows, depth, columns):
    yield from ikj(rows, depth, columns)
""",
    },
    "14.3": {
        "the number of A needs no register": edit("+ vectors + 1", "+ vectors"),
        "only the sums": edit("rows * vectors + vectors + 1", "rows * vectors"),
        "a column of A is held": edit("rows * vectors + vectors", "rows * vectors + rows"),
        "as many sums as possible": edit(
            "min(shapes, key=lambda shape: (shape[0] + shape[1]) / (shape[0] * shape[1]))",
            "max(shapes, key=lambda shape: shape[0] * shape[1])",
        ),
        "the fewest loads, not for each fma": edit(" / (shape[0] * shape[1])", ""),
        "squares only": edit("if rows * vectors", "if rows == vectors and rows * vectors"),
        "that of 16 registers": "def best_tile(registers):\n    return 4, 3",
        "exchanged": edit("(rows, vectors)\n", "(vectors, rows)\n"),
        "a list": edit(
            "return min(", "return list(min(", "(shape[0] * shape[1]))", "(shape[0] * shape[1])))"
        ),
        "twice as many registers": edit("<= registers ", "<= 2 * registers "),
    },
    "14.4": {
        "the edges are left out": edit("range(0, n, size)]", "range(0, n - n % size, size)]"),
        "raises: the last tile is as large as the others": edit(
            "min(start + size, n)", "start + size"
        ),
        "only rows and columns are cut": edit("for depth in pieces:", "for depth in [range(n)]:"),
        "only the depth is cut": edit(
            "for rows in pieces:",
            "for rows in [range(n)]:",
            "for columns in pieces:",
            "for columns in [range(n)]:",
        ),
        "every size-th, not size neighbours": edit(
            "range(start, min(start + size, n)) for start in range(0, n, size)",
            "range(start, n, size) for start in range(min(size, n))",
        ),
        "always tiles of 8": edit(
            "min(start + size, n)", "min(start + 8, n)", "range(0, n, size)", "range(0, n, 8)"
        ),
        "no tiles": "def tiled(n, size):\n    yield from ikj(range(n), range(n), range(n))",
        "tiles overlap by one": edit("min(start + size, n)", "min(start + size + 1, n)"),
        "columns and depth exchanged": edit(
            "ikj(rows, depth, columns)", "ikj(rows, columns, rows)"
        ),
        "the diagonal alone": edit(
            "            for depth in pieces:\n                yield",
            "            for depth in [columns]:\n                yield",
        ),
        "the tiles are made, and nobody runs them": edit(
            "yield from ikj(rows, depth, columns)", "ikj(rows, depth, columns)\n    yield from ()"
        ),
    },
    "14.5": {
        "panels lie on top of each other": edit("panel * depth * width + ", ""),
        "down the columns of a panel": edit("k * width + column", "column * depth + k"),
        "a panel is one row": edit("panel * depth * width", "panel * width"),
        "as in B, for a B as wide as a panel": edit(
            "panel * depth * width + k * width + column", "k * width + j"
        ),
        "rows of B as long as the depth": edit(
            "panel * depth * width + k * width + column", "k * depth + j"
        ),
        "counted from 1": edit("+ column", "+ column + 1"),
        "a panel as deep as wide": edit("panel * depth * width", "panel * width * width"),
        "a float": edit("divmod(j, width)", "j // width, j / width % 1 * width"),
        "panels from the right": edit("width + column", "width + width - 1 - column"),
        "a row more for each panel": edit("panel * depth", "panel * (depth + 1)"),
    },
    "14.6": {
        "round numbers": "sizes = [(8, 4, 12), (16, 8, 18), (4, 4, 6)]",
        "one odd size": "sizes = [(5, 3, 7)]",
        "all odd, and all larger than a tile": "sizes = [(5, 3, 19), (7, 5, 13), (9, 1, 7)]",
        "none fits": "sizes = [(5, 3, 19), (1, 1, 1), (3, 3, 5)]",
        "two panels at most": "sizes = [(5, 3, 11), (8, 4, 12), (1, 1, 1)]",
        "an even depth": "sizes = [(5, 2, 19), (8, 4, 12), (1, 2, 1)]",
        "one edge at a time": "sizes = [(5, 3, 18), (8, 3, 19), (4, 1, 7)]",
        "everything up to 9": (
            "sizes = [(m, k, n) for m in range(1, 9) for k in (1, 2, 3) for n in range(1, 20)]"
        ),
        "too much work": "sizes = [(63, 31, 65), (8, 4, 12), (1, 1, 1)]",
        "numbers, not sizes": "sizes = [5, 3, 19]",
        "one size, not in a list": "sizes = (5, 3, 19)",
        "no columns": "sizes = [(5, 3, 0), (1, 1, 1)]",
        "floats": "sizes = [(5.0, 3.0, 19.0), (8, 4, 12), (1, 1, 1)]",
    },
    "14.7": {
        "numbers that are exact": "witness = [1.0, 2.0, 3.0, 4.0]",
        "a tenth, two, three and four": "witness = [0.1, 0.2, 0.3, 0.4]",
        "two of the orders agree": "witness = [1e16, 1.0, -1e16, 1.0]",
        "not apart enough": "witness = [2.0**50, 1.0 / 8, -(2.0**50), 1.0 / 16]",
        "infinite": "witness = [1e308, 1e308, -1e308, -1e308]",
        "nan": "witness = [float('nan'), 1.0, 2.0, 3.0]",
        "three numbers": "witness = [2.0**53, 1.0, -(2.0**53)]",
        "five numbers": "witness = [2.0**53, 1.0, -(2.0**53), 0.5, 0.0]",
        "small beside large, but nothing cancels": "witness = [2.0**53, 1.0, 2.0**53, 0.5]",
        "a number": "witness = 0.1",
    },
    "14.8": {
        "a multiply-add is one operation": edit("2 * n**3", "n**3"),
        "no bytes, but numbers": edit("4 * numbers", "numbers"),
        "float64": edit("return operations, 4", "return operations, 8"),
        "an addition reads one table": edit(
            '"add": (square, 3 * square)', '"add": (square, 2 * square)'
        ),
        "one filter": edit("2 * 25 * 8 * places", "2 * 25 * places"),
        "n - 5 places": edit("(n - 4)", "(n - 5)"),
        "a border": edit("(n - 4) ** 2", "n**2"),
        "the filters are forgotten": edit(" + 8 * 25", ""),
        "the windows are written out": edit("square + 8 * 25", "25 * places + 8 * 25"),
        "softmax reads three times": edit("(5 * square, 2 * square)", "(5 * square, 4 * square)"),
        "scores never leave the cache": edit("4 * n * 64 + 4 * square", "4 * n * 64"),
        "one product of two": edit("2 * 2 * square * 64", "2 * square * 64"),
        "no softmax within": edit(" * 64 + 5 * square", " * 64"),
        "each number of the product reads a row and a column": edit(
            "2 * n**3, 3 * square", "2 * n**3, 2 * n**3 + square"
        ),
        "exchanged": edit("return operations, 4 * numbers", "return 4 * numbers, operations"),
        "floats": edit("return operations,", "return float(operations),"),
    },
    "14.9": {
        "the higher roof": edit("by_memory < peak", "by_memory > peak"),
        "bytes for each operation": edit("operations / moved", "moved / operations"),
        "always the peak": edit("if by_memory < peak", "if not peak"),
        "names exchanged": edit('"memory")', '"compute")', '(peak, "compute")', '(peak, "memory")'),
        "seconds": edit(
            "by_memory = operations / moved * bandwidth", "by_memory = moved / bandwidth"
        ),
        "the sum of both": "def bound(operations, moved, peak, bandwidth):\n"
        "    a, b = operations / moved * bandwidth, peak\n"
        "    return 1 / (1 / a + 1 / b), 'memory' if a < b else 'compute'",
        "only the rate": edit(
            'return (by_memory, "memory") if by_memory < peak else (peak, "compute")',
            "return min(by_memory, peak)",
        ),
        "whole numbers only": edit("operations / moved", "operations // moved"),
        "by the intensity alone": edit("if by_memory < peak", "if operations < moved"),
    },
    "14.10": {
        "what is not stated is the same": edit("mine[fault] is None or ", ""),
        "only mine is stated": edit(
            "mine[fault] is None or mine[fault] != theirs[fault]",
            "mine[fault] is None or None is not theirs[fault] != mine[fault]",
        ),
        "only their first call counts": edit(
            'mine["warmed"] and theirs["warmed"]', 'theirs["warmed"]'
        ),
        "either was warmed": edit('mine["warmed"] and', 'mine["warmed"] or'),
        "more than 15": edit("< 15", "<= 15"),
        "the larger number of times counts": edit("if min(len(", "if max(len("),
        "together 15": edit(
            'min(len(mine["seconds"]), len(theirs["seconds"]))',
            'len(mine["seconds"]) + len(theirs["seconds"])',
        ),
        "only a machine that gets slower": edit(
            "max(before, after) > 1.15 * min(before, after)", "after > 1.15 * before"
        ),
        "15 % of the larger": edit(
            "max(before, after) > 1.15 * min(before, after)",
            "min(before, after) < 0.85 * max(before, after)",
        ),
        "15 hundredths of a second": edit(
            "max(before, after) > 1.15 * min(before, after)", "abs(before - after) > 0.15"
        ),
        "the mean": edit(
            'min(theirs["seconds"]) < claim["factor"] * min(mine["seconds"])',
            'sum(theirs["seconds"]) / len(theirs["seconds"])'
            ' < claim["factor"] * sum(mine["seconds"]) / len(mine["seconds"])',
        ),
        "the first times": edit(
            'min(theirs["seconds"]) <',
            'theirs["seconds"][0] <',
            '* min(mine["seconds"])',
            '* mine["seconds"][0]',
        ),
        "faster is enough": edit('claim["factor"] * ', ""),
        "exactly the factor is too little": edit(
            'min(theirs["seconds"]) <', 'min(theirs["seconds"]) <='
        ),
        "n^3 operations": edit("2 * side", "side"),
        "the peak of mine alone": edit("for side in (mine, theirs)", "for side in (mine,)"),
        "the peak in billions": edit('> claim["peak"]', '> claim["peak"] * 1e9'),
        "the first fault alone": edit("    return found", "    return set(sorted(found)[:1])"),
        "a list": edit("    return found", "    return sorted(found)"),
        "yes or no": edit("    return found", "    return not found"),
        "other names": edit('found.add("few")', 'found.add("repetitions")'),
        "kept from claim to claim": edit(
            "    found = set()\n",
            "    found = KEPT\n",
            "def objections",
            "KEPT = set()\n\n\ndef objections",
        ),
    },
    "14.11": {
        "a copy of the windows": edit(
            "    return signal",
            "    return contiguous(signal",
            ", signal.offset) @",
            ", signal.offset)) @",
        ),
        "a product for each row": """
def slid(signal, filters):
    count, channels = signal.shape
    size = filters.shape[0] // channels
    rows = []
    for i in range(count - size + 1):
        window = signal.over((1, size * channels), (channels, 1), signal.offset + i * channels)
        rows += (window @ filters).tolist()
    return Tensor(rows, dtype="float64")
""",
        "the offset is forgotten": edit("signal.offset", "0"),
        "windows begin at every number": edit("(channels, 1), s", "(1, 1), s"),
        "windows that do not overlap": edit(
            "shape = count - size + 1",
            "shape = count // size",
            "(channels, 1), s",
            "(size * channels, 1), s",
        ),
        "one too few": edit("count - size + 1", "count - size"),
        "by Python": """
def slid(signal, filters):
    count, channels = signal.shape
    size = filters.shape[0] // channels
    x, w = signal.tolist(), filters.tolist()
    windows = [sum(x[i : i + size], []) for i in range(count - size + 1)]
    return Tensor(
        [[sum(a * row[o] for a, row in zip(win, w)) for o in range(len(w[0]))] for win in windows],
        dtype="float64",
    )
""",
        "windows from Python": """
def slid(signal, filters):
    count, channels = signal.shape
    size = filters.shape[0] // channels
    x = signal.tolist()
    windows = [sum(x[i : i + size], []) for i in range(count - size + 1)]
    return Tensor(windows, dtype="float64") @ filters
""",
        "nested lists": edit(
            "    return signal", "    return (signal", "@ filters", "@ filters).tolist()"
        ),
        "raises: rows and columns of the filters exchanged": edit("@ filters", "@ filters.T"),
        "the windows backward": edit(
            "(channels, 1), signal.offset)",
            "(-channels, 1), signal.offset + (count - size) * channels)",
        ),
    },
    "14.12": {
        "a product for each head": """
def all_heads(q, k, heads):
    places, width = q.shape
    size = width // heads
    found = []
    for h in range(heads):
        asked = q.over((places, size), (width, 1), q.offset + h * size)
        offered = k.over((size, places), (1, width), k.offset + h * size)
        found.append((asked @ offered).tolist())
    return Tensor(found, dtype="float64")
""",
        "heads by a reshape alone": edit(
            "(heads, places, size), (size, width, 1)",
            "(heads, places, size), (places * size, size, 1)",
            "(heads, size, places), (size, 1, width)",
            "(heads, size, places), (places * size, 1, size)",
        ),
        "neighbours belong to different heads": edit(
            "(size, width, 1)", "(1, width, heads)", "(size, 1, width)", "(1, heads, width)"
        ),
        "raises: the keys are not turned": edit(
            "(heads, size, places), (size, 1, width)", "(heads, places, size), (size, width, 1)"
        ),
        "queries and keys exchanged": edit(
            "    places, width = q.shape", "    q, k = k, q\n    places, width = q.shape"
        ),
        "the offset is forgotten": edit("q.offset", "0", "k.offset", "0"),
        "queries alone": edit("offered = k.over", "offered = q.over"),
        "one head": edit("size = width // heads", "heads, size = 1, width"),
        "places first": edit(
            "(heads, places, size), (size, width, 1)",
            "(places, heads, size), (width, size, 1)",
            "(heads, size, places), (size, 1, width)",
            "(places, size, heads), (width, 1, size)",
        ),
        "copied": edit("return asked @ offered", "return contiguous(asked) @ contiguous(offered)"),
        "scaled": edit("return asked @ offered", "return (asked @ offered) * (1 / size**0.5)"),
    },
    "14.s1": {
        "tiles of 8": "def fewer(n):\n    yield from tiled(n, 8)",
        "no tiles": "def fewer(n):\n    yield from ikj(range(n), range(n), range(n))",
        "a depth of 8": edit(
            "range(0, n, 4)", "range(0, n, 8)", "min(first + 4, n)", "min(first + 8, n)"
        ),
        "right for multiples alone": edit("range(0, n, 4)", "range(0, n - n % 4, 4)"),
        "raises: beyond the edge": edit("min(top + 12, n)", "top + 12"),
    },
    "14.s2": {
        "register tiles alone": "def both(n):\n    yield from by_tiles(n, 4, 3)",
        "cache tiles alone": "def both(n):\n    yield from tiled(n, 8)",
        "a depth of 4, so that sums are loaded too often": edit(
            "pieces(everything, 16)", "pieces(everything, 4)"
        ),
        "3 x 4, which spills": edit(
            "pieces(wide, 6)", "pieces(wide, 8)", "pieces(high, 4)", "pieces(high, 3)"
        ),
        "every column begins a register": edit("columns[::2]", "columns"),
    },
}
