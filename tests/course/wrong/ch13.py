"""Planted wrong answers to the exercises of chapter 13."""

from wrong import edit

AGREES_TRY = (
    "    try:\n"
    "        kernel(Lanes(), out, x, y, n)\n"
    "    except OutsideError:\n"
    "        return False\n"
)

WRONG = {
    "13.1": {
        "the oldest goes, not the least recently used": edit(
            "            del lines[number]\n",
            "",
            "        lines[number] = True",
            "        lines.setdefault(number, True)",
        ),
        "one set for all": edit(
            "lines = self.sets[number % len(self.sets)]", "lines = self.sets[0]"
        ),
        "the set of the address, not of the line": edit(
            "self.sets[number % len", "self.sets[address % len"
        ),
        "each byte is a line": edit("number = address // self.line", "number = address"),
        "a line begins anywhere": edit(
            "address // self.line", "(address + self.line // 2) // self.line"
        ),
        "one place too many": edit("len(lines) == self.ways", "len(lines) > self.ways"),
        "the newest goes": edit("next(iter(lines))", "next(reversed(lines))"),
        "the ways are the sets": edit("range(size // (line * ways))", "range(ways)"),
        "nothing is ever thrown out": edit(
            "            if len(lines) == self.ways:\n"
            "                del lines[next(iter(lines))]\n",
            "",
        ),
        "hits are not counted": edit("            self.hits += 1\n", ""),
        "hits count accesses": edit(
            "        lines[number] = True",
            "        self.hits += not hit\n        lines[number] = True",
        ),
        "True for a miss": edit("return hit", "return not hit"),
        "one memory for all caches": edit(
            "        self.sets = [{} for _ in range(size // (line * ways))]",
            "        self.sets = CacheModel.__dict__.get('sets') or"
            " [{} for _ in range(size // (line * ways))]\n        CacheModel.sets = self.sets",
        ),
        "the sets are one": edit(
            "[{} for _ in range(size // (line * ways))]", "[{}] * (size // (line * ways))"
        ),
        "counts in the class": edit(
            "self.line, self.ways, self.hits, self.misses = line, ways, 0, 0",
            "self.line, self.ways = line, ways\n        CacheModel.hits = CacheModel.misses = 0",
            "            self.hits += 1",
            "            CacheModel.hits += 1",
            "            self.misses += 1",
            "            CacheModel.misses += 1",
        ),
        "always 64 bytes": edit("address // self.line", "address // 64"),
    },
    "13.2": {
        "rows only": edit(" or rows <= lines", ""),
        "down the columns all is missed": edit(
            'each_once = order == "rows" or rows <= lines', 'each_once = order == "rows"'
        ),
        "one row less": edit("rows <= lines", "rows < lines"),
        "one row more": edit("rows <= lines", "rows <= lines + 1"),
        "the columns have to fit": edit("rows <= lines", "columns <= lines"),
        "numbers of eight bytes": edit("numbers * 4 // line", "numbers * 8 // line"),
        "always 16 numbers in a line": edit("numbers * 4 // line", "numbers // 16"),
        "what is used, not wasted": edit(
            "1 - numbers * 4 / (misses * line)", "numbers * 4 / (misses * line)"
        ),
        "in percent": edit("1 - numbers * 4", "100 - 100 * numbers * 4"),
        "the constant of the text": edit(
            "1 - numbers * 4 / (misses * line)", "0.0 if each_once else 0.9375"
        ),
        "the other way round": edit('order == "rows"', 'order == "columns"'),
        "hits": edit("return misses,", "return numbers - misses,"),
        "the misses only": edit(
            "return misses, 1 - numbers * 4 / (misses * line)", "return misses"
        ),
        "the matrix has to fit": edit("rows <= lines", "numbers * 4 <= lines * line"),
    },
    "13.3": {
        "plain loops": """
def transpose_tiled(a, out, rows, columns, down, out_down):
    for i in range(rows):
        for j in range(columns):
            out[j * out_down + i] = a[i * down + j]
""",
        "plain loops, along the rows of out": """
def transpose_tiled(a, out, rows, columns, down, out_down):
    for j in range(columns):
        for i in range(rows):
            out[j * out_down + i] = a[i * down + j]
""",
        "everything into a list first": """
def transpose_tiled(a, out, rows, columns, down, out_down):
    numbers = [[a[i * down + j] for j in range(columns)] for i in range(rows)]
    for j in range(columns):
        for i in range(rows):
            out[j * out_down + i] = numbers[i][j]
""",
        "tile by tile into a list": """
def transpose_tiled(a, out, rows, columns, down, out_down):
    for top in range(0, rows, 16):
        for left in range(0, columns, 16):
            down_to, to = min(top + 16, rows), min(left + 16, columns)
            numbers = [[a[i * down + j] for j in range(left, to)] for i in range(top, down_to)]
            for j in range(left, to):
                for i in range(top, down_to):
                    out[j * out_down + i] = numbers[i - top][j - left]
""",
        "tiles of 8": edit("tile = 16", "tile = 8"),
        "tiles of 24, which end within a line": edit("tile = 16", "tile = 24"),
        "tiles of 4": edit("tile = 16", "tile = 4"),
        "raises: whole tiles only": edit("min(top + tile, rows)", "top + tile"),
        "the edge is left out": edit(
            "for top in range(0, rows, tile)", "for top in range(0, rows - tile + 1, tile)"
        ),
        "writes between the rows": edit(
            "min(top + tile, rows)",
            "min(top + tile, out_down)",
            "a[i * down + j]",
            "a[min(i, rows - 1) * down + j]",
        ),
        "not transposed": edit(
            "out[j * out_down + i] = a[i * down + j]",
            "out[i * min(out_down, down) % len(out) + j] = a[i * down + j]",
        ),
        "the strides exchanged": edit("j * out_down + i", "j * down % (len(out) - rows) + i"),
        "only squares": edit(
            "for left in range(0, columns, tile)", "for left in range(0, rows, tile)"
        ),
        "a is changed": edit(
            "= a[i * down + j]", "= a[i * down + j]\n                    a[i * down + j] = 0.0"
        ),
    },
    "13.4": {
        "plain loops": """
def add_transposed(a, out, n, down):
    for i in range(n):
        for j in range(n):
            out[i * down + j] = a[j * down + i] + a[i * down + j]
""",
        "a + a": edit("a[j * down + i] + a[i * down + j]", "a[i * down + j] + a[i * down + j]"),
        "a.T twice": edit("a[j * down + i] + a[i * down + j]", "a[j * down + i] + a[j * down + i]"),
        "the diagonal is left out": edit("range(0, top + 1, 16)", "range(0, top, 16)"),
        "the lower half only": edit(
            "            if left < top:\n                add_tile(left, top)", ""
        ),
        "tiles that are too large": edit(
            "min(top + 16, n)",
            "min(top + 80, n)",
            "min(left + 16, n)",
            "min(left + 80, n)",
            "range(0, n, 16)",
            "range(0, n, 80)",
            "range(0, top + 1, 16)",
            "range(0, top + 1, 80)",
        ),
        "tiles that are too small": edit(
            "min(top + 16, n)",
            "min(top + 2, n)",
            "min(left + 16, n)",
            "min(left + 2, n)",
            "range(0, n, 16)",
            "range(0, n, 2)",
            "range(0, top + 1, 16)",
            "range(0, top + 1, 2)",
        ),
        "raises: whole tiles": edit("min(top + 16, n)", "top + 16"),
        "a copy of the transpose first": """
def add_transposed(a, out, n, down):
    turned = [a[i * down + j] for j in range(n) for i in range(n)]
    for i in range(n):
        for j in range(n):
            out[i * down + j] = turned[i * n + j] + a[i * down + j]
""",
        "a transposed into out, and then added in place": """
def add_transposed(a, out, n, down):
    for i in range(n):
        for j in range(n):
            out[j * down + i] = a[i * down + j]
    for i in range(n):
        for j in range(n):
            out[i * down + j] = out[i * down + j] + a[i * down + j]
""",
        "down is n": edit(
            "out[i * down + j] = a[j * down + i] + a[i * down + j]",
            "out[i * n + j] = a[j * n + i] + a[i * n + j]",
        ),
        "raises: the gaps, too": edit("min(left + 16, n)", "left + 16"),
    },
    "13.5": {
        "every touch is a fault": edit(
            "            if number // page not in touched[name]:\n"
            "                touched[name].add(number // page)\n"
            "                count += 1",
            "            count += 1",
        ),
        "always 4096": edit(
            "number // page not in",
            "number // 4096 not in",
            "add(number // page)",
            "add(number // 4096)",
        ),
        "a pool, always": edit("elif keep:", "else:"),
        "never a pool": edit("elif keep:", "elif False:"),
        "any block will do": edit(
            "spare.setdefault(number, [])",
            "spare.setdefault(0, [])",
            "spare[size_of[name]]",
            "spare[0]",
        ),
        "the one that was freed first": edit("waiting.pop()", "waiting.pop(0)"),
        "the block is given twice": edit("waiting.pop()", "waiting[-1]"),
        "a pool whose pages are fresh": edit("waiting.pop() if waiting else set()", "set()"),
        "all pages at once, when asked": edit(
            "            touched[name] = waiting",
            "            count += 0 if waiting else -(-number // page)\n"
            "            touched[name] = waiting",
            "                count += 1",
            "                pass",
        ),
        "pages are counted over all blocks": edit(
            "touched[name] = waiting.pop() if waiting else set()",
            'touched[name] = touched.setdefault("all", set())',
        ),
        "rounded to the nearest page": edit(
            "if number // page not in touched[name]:\n"
            "                touched[name].add(number // page)",
            "if round(number / page) not in touched[name]:\n"
            "                touched[name].add(round(number / page))",
        ),
    },
    "13.6": {
        "one chain, whatever is asked": """
def add_up(numbers, add, ways):
    total = numbers[0]
    for number in numbers[1:]:
        total = add(total, number)
    return total
""",
        "the rest is left out": edit(
            "range(ways, len(numbers))", "range(ways, len(numbers) // ways * ways)"
        ),
        "only the first accumulator": edit(
            "    while len(totals) > 1:\n"
            "        pairs = [add(x, y) for x, y in zip(totals[::2], totals[1::2])]\n"
            "        totals = pairs + totals[len(totals) // 2 * 2 :]\n",
            "",
        ),
        "an odd one is lost": edit("pairs + totals[len(totals) // 2 * 2 :]", "pairs"),
        "raises: at least as many numbers as ways": """
def add_up(numbers, add, ways):
    totals = [numbers[k] for k in range(ways)]
    for i in range(ways, len(numbers)):
        totals[i % ways] = add(totals[i % ways], numbers[i])
    total = totals[0]
    for other in totals[1:]:
        total = add(total, other)
    return total
""",
        "a tree of all numbers: as many chains as there are": """
def add_up(numbers, add, ways):
    totals = list(numbers)
    while len(totals) > 1:
        totals = [add(totals[i], totals[i + 1]) for i in range(0, len(totals) - 1, 2)] + totals[
            len(totals) // 2 * 2 :
        ]
    return totals[0]
""",
        "blocks one after the other in one chain": """
def add_up(numbers, add, ways):
    size = -(-len(numbers) // ways)
    total = None
    for start in range(0, len(numbers), size):
        for number in numbers[start : start + size]:
            total = number if total is None else add(total, number)
    return total
""",
        "always eight": edit(
            "numbers[:ways]",
            "numbers[:8]",
            "range(ways,",
            "range(8,",
            "totals[i % ways] = add(totals[i % ways]",
            "totals[i % 8] = add(totals[i % 8]",
        ),
        "begins twice": edit("range(ways, len(numbers))", "range(len(numbers))"),
        "the value, not what is Known": edit("return totals[0]", "return totals[0].value"),
        "half as many": edit(
            "    totals = list", "    ways = max(1, ways // 2)\n    totals = list"
        ),
    },
    "13.7": {
        "raises: whole vectors, beyond the end": edit("min(8, n - i)", "8"),
        "the tail is left out": edit("range(0, n, 8)", "range(0, n - 7, 8)"),
        "raises: loads whole vectors": edit("unit.load(x, i, count)", "unit.load(x, i)"),
        "raises: stores whole vectors": edit(
            "unit.add(unit.load(x, i, count), unit.load(y, i, count)), count)",
            "unit.add(unit.load(x, i, count), unit.load(y, i, count)))",
        ),
        "the last vector once more": """
def add_lanes(unit, out, x, y, n):
    if n < 8:
        for i in range(n):
            out[i] = x[i] + y[i]
        return
    for i in range(0, n - 7, 8):
        unit.store(out, i, unit.add(unit.load(x, i), unit.load(y, i)))
    if n % 8:
        i = n - 8
        unit.store(out, i, unit.add(unit.load(x, i), unit.load(y, i)))
""",
        "one by one": """
def add_lanes(unit, out, x, y, n):
    for i in range(n):
        out[i] = x[i] + y[i]
""",
        "a vector for each number": """
def add_lanes(unit, out, x, y, n):
    for i in range(n):
        unit.store(out, i, unit.add(unit.load(x, i, 1), unit.load(y, i, 1)), 1)
""",
        "vectors of four": """
def add_lanes(unit, out, x, y, n):
    for i in range(0, n, 4):
        count = min(4, n - i)
        unit.store(out, i, unit.add(unit.load(x, i, count), unit.load(y, i, count)), count)
""",
        "uses out as scratch paper": """
def add_lanes(unit, out, x, y, n):
    for i in range(0, n, 8):
        count = min(8, n - i)
        unit.store(out, i, unit.load(y, i, count), count)
        unit.store(out, i, unit.add(unit.load(x, i, count), unit.load(out, i, count)), count)
""",
        "x twice": edit("unit.load(y, i, count)", "unit.load(x, i, count)"),
        "one too few in the tail": edit("min(8, n - i)", "min(8, n - i - 1 + (n % 8 == 0))"),
        "adds one by one, between vector loads": """
def add_lanes(unit, out, x, y, n):
    for i in range(0, n, 8):
        count = min(8, n - i)
        v, w = unit.load(x, i, count), unit.load(y, i, count)
        unit.store(out, i, [p + q for p, q in zip(v, w)], count)
""",
        "loses -0.0": edit(
            "unit.add(unit.load(x, i, count)", "unit.add([p + 0.0 for p in unit.load(x, i, count)]"
        ),
    },
    "13.8": {
        "by !=": edit("not same(before(x), after(x))", "before(x) != after(x)"),
        "by ==, with nan left out": edit(
            "if not same(before(x), after(x))",
            "if before(x) != after(x) and before(x) == before(x)",
        ),
        "positive numbers only": edit("for x in HALVES", "for x in HALVES[:32768]"),
        "no nan and no infinity": edit("for x in HALVES", "for x in HALVES if abs(x) <= 65504"),
        "those that stay": edit("if not same", "if same"),
        "how many": edit("return [x for", "return len([x for", "after(x))]", "after(x))])"),
        "the first one only": edit("after(x))]", "after(x))][:1]"),
        "each number once": edit(
            "return [x for x in", "return list({x for x in", "after(x))]", "after(x))})"
        ),
        "sorted": edit(
            "return [x for x in HALVES",
            "return sorted([x for x in HALVES",
            "after(x))]",
            "after(x))], key=abs, reverse=True)",
        ),
        "the results, not the numbers": edit("return [x for", "return [after(x) for"),
        "nearly the same is good enough": edit(
            "not same(before(x), after(x))",
            "not (same(before(x), after(x)) or abs(before(x) - after(x)) < 1e-6)",
        ),
    },
    "13.9": {
        "the first pair agrees": edit(
            '"(a + b) - a is b": (1024.0, 0.25)', '"(a + b) - a is b": (1.0, 2.0)'
        ),
        "the numbers are small": edit("(1.0, 2048.0, -2048.0)", "(1.0, 2.0, 3.0)"),
        "a power of two divides exactly": edit("(5.0, 3.0)", "(5.0, 4.0)"),
        "nothing overflows": edit("(256.0, 256.0, -256.0)", "(2.0, 256.0, -256.0)"),
        "any zero will do": edit('"0 - a is -a": (0.0,)', '"0 - a is -a": (-0.0,)'),
        "no nan": edit("(math.nan, 1.0)", "(1.0, 1.0)"),
        "infinity": edit("(1024.0, 0.25)", "(math.inf, 1.0)"),
        "nan everywhere": edit("(1.0, 2048.0, -2048.0)", "(math.nan, 1.0, 1.0)"),
        "too large for float16": edit("(256.0, 256.0, -256.0)", "(1e5, 1e5, -1e5)"),
        "no number of float16": edit("(1024.0, 0.25)", "(1024.0, 0.1)"),
        "no tuple": edit('"0 - a is -a": (0.0,)', '"0 - a is -a": 0.0'),
        "too many": edit("(5.0, 3.0)", "(5.0, 3.0, 1.0)"),
        "divided by zero": edit("(5.0, 3.0)", "(5.0, 0.0)"),
    },
    "13.10": {
        "no nan": edit("1.0, -2.0, math.nan,", "1.0, -2.0, 2.0,"),
        "no -0.0": edit("0.0, -0.0, math.inf", "0.0, 4.0, math.inf"),
        "compares by ==": edit("all(same(p, q) for", "all(p == q or p != p and q != q for"),
        "raises: no thought of the fences": edit(AGREES_TRY, "    kernel(Lanes(), out, x, y, n)\n"),
        "an access outside is forgiven": edit(
            "except OutsideError:\n        return False",
            "except OutsideError:\n        pass",
            "    found = ",
            "    found = wanted and ",
        ),
        "whole vectors only": edit("[*range(20), 31, 32, 33, 40, 64, 67]", "[8, 16, 24, 32, 64]"),
        "short rows only": edit("[*range(20), 31, 32, 33, 40, 64, 67]", "range(20)"),
        "long rows only": edit("[*range(20), 31, 32, 33, 40, 64, 67]", "[32, 64]"),
        "out is never an input": edit('("no", "x", "y")', '("no",)'),
        "room behind the rows, so that reads there go unnoticed": edit(
            "[*border, *numbers, 9.0]",
            "[*border, *numbers, *[9.0] * 16]",
            "row.part(start, n)",
            "row.part(start, n + 16)",
        ),
        "equal numbers": edit(
            "one = [values[i * turn % 11] for i in range(n)]", "one = [values[turn]] * n"
        ),
        "nothing is right": edit("    return True\n", "    return False\n"),
        "everything is right": "def agrees(kernel):\n    return kernel is not None",
        "one case": """
def agrees(kernel):
    x, y, out = Row([1.0, 5.0, -2.0]), Row([2.0, 4.0, -3.0]), Row([0.0] * 3)
    try:
        kernel(Lanes(), out, x, y, 3)
    except OutsideError:
        return False
    return list(out.numbers) == [2.0, 5.0, -2.0]
""",
        "what is right is worked out afterwards": edit(
            "    found = [rows",
            "    wanted = [larger(p, q) for p, q in zip(x.numbers, y.numbers)]\n    found = [rows",
        ),
        "by Python's max": edit("larger(p, q)", "max(p, q)"),
    },
    "13.11": {
        "the first that runs": edit("return runs[-1]", "return runs[0]"),
        "the last of all": edit("return runs[-1]", "return builds[-1][0]"),
        "one flag is enough": edit(
            "set(needs) <= set(flags)", "set(needs) & set(flags) or not needs"
        ),
        "until the first that does not run": """
def choose(builds, flags, wish=None):
    best = builds[0][0]
    for name, needs in builds:
        if not needs <= flags:
            break
        best = name
    if wish is None:
        return best
    if wish not in [name for name, needs in builds if needs <= flags]:
        raise ValueError(wish)
    return wish
""",
        "the flag of its name": edit("set(needs) <= set(flags)", "name in flags or not needs"),
        "the other way round": edit("set(needs) <= set(flags)", "set(needs) >= set(flags)"),
        "a wish is always granted": edit(
            "    if wish not in runs:\n"
            "        raise ValueError("
            "f\"{wish} does not run here; these do: {', '.join(runs)}\")\n",
            "",
        ),
        "the best in place of a wish": edit(
            "        raise ValueError(f\"{wish} does not run here; these do: {', '.join(runs)}\")",
            "        return runs[-1]",
        ),
        "the wish is not looked at": edit("if wish is None", "if wish is None or wish in runs"),
        "an empty wish is none": edit("if wish is None", "if not wish"),
        "most flags wins": edit(
            "return runs[-1]",
            "return max((b for b in builds if b[0] in runs), key=lambda b: len(b[1]))[0]",
        ),
        "None for a wish that does not run": edit(
            "        raise ValueError(f\"{wish} does not run here; these do: {', '.join(runs)}\")",
            "        return None",
        ),
        "only what is known": edit(
            "return runs[-1]",
            'return [n for n in ("scalar", "sse4", "avx2", "avx512") if n in runs][-1]',
        ),
    },
    "13.s1": {
        "tiles of 16": """
def transpose_anywhere(a, out, rows, columns, down, out_down):
    for top in range(0, rows, 16):
        for left in range(0, columns, 16):
            for i in range(top, min(top + 16, rows)):
                for j in range(left, min(left + 16, columns)):
                    out[j * out_down + i] = a[i * down + j]
""",
        "tiles of 64": """
def transpose_anywhere(a, out, rows, columns, down, out_down):
    for top in range(0, rows, 64):
        for left in range(0, columns, 64):
            for i in range(top, min(top + 64, rows)):
                for j in range(left, min(left + 64, columns)):
                    out[j * out_down + i] = a[i * down + j]
""",
        "only the rows are halved": edit("bottom - top >= right - left", "bottom - top > 1"),
        "rows and columns exchanged": edit(
            "out[left * out_down + top]", "out[top * out_down + left]"
        ),
        "the second half first, and the first is left out": edit(
            "            part(top, middle, left, right)\n", ""
        ),
        "plain loops": """
def transpose_anywhere(a, out, rows, columns, down, out_down):
    for i in range(rows):
        for j in range(columns):
            out[j * out_down + i] = a[i * down + j]
""",
        "parts of 32 are done plainly": """
def transpose_anywhere(a, out, rows, columns, down, out_down):
    def part(top, bottom, left, right):
        if bottom - top <= 32 and right - left <= 32:
            for i in range(top, bottom):
                for j in range(left, right):
                    out[j * out_down + i] = a[i * down + j]
        elif bottom - top >= right - left:
            part(top, (top + bottom) // 2, left, right)
            part((top + bottom) // 2, bottom, left, right)
        else:
            part(top, bottom, left, (left + right) // 2)
            part(top, bottom, (left + right) // 2, right)

    part(0, rows, 0, columns)
""",
    },
    "13.s2": {
        "lines of 64 bytes": edit(
            "    line = 1\n    while _still_there(make, [0], line):\n        line *= 2\n",
            "    line = 64\n",
        ),
        "one set": edit("capacity // ways, ways", "1, capacity"),
        "one line too few": edit(
            "    capacity = 1\n",
            "    capacity = 0\n",
            "range(capacity + 1)], 0",
            "range(capacity + 2)], 0",
        ),
        "the capacity, not the sets": edit("capacity // ways, ways", "capacity, ways"),
        "sets and ways exchanged": edit("capacity // ways, ways", "ways, capacity // ways"),
        "sets are a power of two": edit(
            "return line, capacity // ways, ways",
            "sets = 1\n"
            "    while sets * 2 * ways <= capacity:\n"
            "        sets *= 2\n"
            "    return line, sets, ways",
        ),
        "lines in a row for the ways": edit("k * line * capacity", "k * line"),
    },
}
