"""Planted wrong answers to the exercises of chapter 15."""

from wrong import edit

WRONG = {
    "15.1": {
        "one after the other": "lost = [0, 0, 0, 1, 1, 1]",
        "not stored yet": "lost = [0, 1, 1, 1]",
        "loses, and takes longer": "lost = [0, 0, 0, 0, 1, 1, 1, 0, 0]",
        "all eighteen steps": "lost = [0, 1] * 9",
        "a thread that there is not": "lost = [1, 2, 2, 2, 1, 1]",
        "names of steps": 'lost = ["load", "load", "add", "add", "store", "store"]',
        "more steps than a thread has": "lost = [0] * 10",
        "a text": 'lost = "011100"',
    },
    "15.2": {
        "as it was": """
def add_safely():
    value = yield "load", "n"
    value = yield "add", value, 1
    yield "store", "n", value
""",
        "locked too late": """
def add_safely():
    value = yield "load", "n"
    yield "lock", "m"
    value = yield "add", value, 1
    yield "store", "n", value
    yield "unlock", "m"
""",
        "unlocked too early": """
def add_safely():
    yield "lock", "m"
    value = yield "load", "n"
    value = yield "add", value, 1
    yield "unlock", "m"
    yield "store", "n", value
""",
        "never unlocked": """
def add_safely():
    yield "lock", "m"
    value = yield "load", "n"
    value = yield "add", value, 1
    yield "store", "n", value
""",
        "looks whether it is free, and then takes it": """
def add_safely():
    yield "lock", "look"
    yield "unlock", "look"
    value = yield "load", "n"
    value = yield "add", value, 1
    yield "store", "n", value
""",
        "tries once": edit("    while True:\n        old", "    for _ in range(1):\n        old"),
        "gives up after a second try": edit("while True", "for _ in range(2)"),
        "the old value is loaded once": edit(
            '    while True:\n        old = yield "load", "n"\n',
            '    old = yield "load", "n"\n    while True:\n',
        ),
        "looks at n again just before it stores": """
def add_safely():
    while True:
        old = yield "load", "n"
        new = yield "add", old, 1
        if (yield "load", "n") == old:
            yield "store", "n", new
            return
""",
        "starts from 0": edit('yield "swap", "n", old, new', 'yield "swap", "n", old, 1'),
        "adds it twice": edit('"add", old, 1', '"add", old, 2'),
        "a lock for each thread": """
def add_safely():
    mine = object()
    yield "lock", id(mine)
    value = yield "load", "n"
    value = yield "add", value, 1
    yield "store", "n", value
    yield "unlock", id(mine)
""",
        "no thread": "def add_safely():\n    return 1",
        "a step that there is not": edit('"swap", "n", old, new', '"compare", "n", old'),
    },
    "15.3": {
        "never one": "def stuck(moment):\n    order = None\n    return order",
        "always the two of the text": "def stuck(moment):\n    return (0, 1)",
        "the end is taken for a deadlock": edit("if not ready and not now.ended:", "if not ready:"),
        "in depth first": edit(
            "for order, now in waiting:", "while waiting:\n        order, now = waiting.pop()"
        ),
        "only the first thread that is ready": edit("for i in ready:", "for i in ready[:1]:"),
        "one thread waits, and is taken for all": edit(
            "if not ready and not now.ended:", "if len(ready) < len(now.threads) and not now.ended:"
        ),
        "every order, each state again and again": edit("if then.state not in seen:", "if True:"),
        "only memory is looked at": edit(
            "{moment.state}",
            "{str(moment.memory)}",
            "if then.state not in seen:",
            "if str(then.memory) not in seen:",
            "seen.add(then.state)",
            "seen.add(str(then.memory))",
        ),
        "one state too few in the order": edit("return order", "return order[:-1]"),
        "the machine, not the order": edit("return order", "return now"),
        "states of an earlier call are left out": edit(
            "def stuck(moment):",
            "SEEN = set()\n\n\ndef stuck(moment):",
            "{moment.state}",
            "SEEN",
        ),
        "no further than four steps": edit(
            "if then.state not in seen:", "if len(order) < 4 and then.state not in seen:"
        ),
    },
    "15.4": {
        "as it was": """
def transfer(source, target, amount):
    yield "lock", f"lock of {source}"
    yield "lock", f"lock of {target}"
    old = yield "load", source
    new = yield "add", old, -amount
    yield "store", source, new
    old = yield "load", target
    new = yield "add", old, amount
    yield "store", target, new
    yield "unlock", f"lock of {target}"
    yield "unlock", f"lock of {source}"
""",
        "one lock for the whole bank": edit(
            '    for place in sorted({source, target}):\n        yield "lock", f"lock of {place}"',
            '    yield "lock", "bank"',
            '    for place in {source, target}:\n        yield "unlock", f"lock of {place}"',
            '    yield "unlock", "bank"',
        ),
        "sorted, and the same account locked twice": edit(
            "sorted({source, target})", "sorted([source, target])"
        ),
        "a set has no order of its own": edit(
            "for place in sorted({source, target})",
            "for place in ([source] if source == target else [target, source])",
        ),
        "one after the other, each with its own lock, by the wrong name": edit(
            'yield "lock", f"lock of {place}"', 'yield "lock", f"lock of {source}"'
        ),
        "no lock at all": """
def transfer(source, target, amount):
    old = yield "load", source
    yield "store", source, (yield "add", old, -amount)
    old = yield "load", target
    yield "store", target, (yield "add", old, amount)
""",
        "given back before the second account": edit(
            '    old = yield "load", target\n',
            '    for place in {source, target}:\n        yield "unlock", f"lock of {place}"\n'
            '    old = yield "load", target\n',
            '    yield "store", target, new\n    for place in {source, target}:\n'
            '        yield "unlock", f"lock of {place}"',
            '    yield "store", target, new',
        ),
        "both loaded before either is stored": edit(
            '    old = yield "load", source\n',
            '    old, other = (yield "load", source), (yield "load", target)\n',
            '    old = yield "load", target\n    new = yield "add", old, amount',
            '    new = yield "add", other, amount',
        ),
        "only one is given back": edit(
            'for place in {source, target}:\n        yield "unlock"',
            'for place in [source]:\n        yield "unlock"',
        ),
        "the wrong way": edit(
            '"add", old, -amount',
            '"add", old, amount',
            'new = yield "add", old, amount\n    yield "store", target',
            'new = yield "add", old, -amount\n    yield "store", target',
        ),
        "to oneself does nothing, and the rest is as it was": """
def transfer(source, target, amount):
    if source == target:
        return
    yield "lock", f"lock of {source}"
    yield "lock", f"lock of {target}"
    old = yield "load", source
    yield "store", source, (yield "add", old, -amount)
    old = yield "load", target
    yield "store", target, (yield "add", old, amount)
    yield "unlock", f"lock of {target}"
    yield "unlock", f"lock of {source}"
""",
    },
    "15.5": {
        "by address, not by line": edit("address // line", "address"),
        "the writes": edit("count += len(cores - {core})", "count += 1"),
        "one, however many others have it": edit(
            "count += len(cores - {core})", "count += bool(cores - {core})"
        ),
        "its own copy counts, too": edit("len(cores - {core})", "len(cores)"),
        "reads throw away, too": edit('if what == "write":', "if True:"),
        "nobody's copy is thrown away": edit("            cores.clear()\n", ""),
        "the writer has none afterwards": edit(
            "        cores.add(core)", '        if what == "read":\n            cores.add(core)'
        ),
        "always 64 bytes": edit("address // line", "address // 64"),
        "one line for all": edit("address // line", "0"),
        "a write whenever the core is another than before": """
def invalidations(accesses, line):
    last, count = {}, 0
    for core, address, what in accesses:
        if what == "write":
            count += last.get(address // line, core) != core
        last[address // line] = core
    return count
""",
        "lines of an earlier call": edit(
            "def invalidations(accesses, line):",
            "COPIES = {}\n\n\ndef invalidations(accesses, line):",
            "copies, count = {}, 0",
            "copies, count = COPIES, 0",
        ),
        "for each update": edit("return count", "return count / max(len(accesses), 1)"),
    },
    "15.6": {
        "side by side": edit("-(-itemsize // line) * line", "itemsize"),
        "a line, however long a counter is": edit("-(-itemsize // line) * line", "line"),
        "a line more than its length": edit("-(-itemsize // line) * line", "itemsize + line"),
        "rounded down": edit("-(-itemsize // line) * line", "itemsize // line * line"),
        "a line more than necessary": edit(
            "-(-itemsize // line) * line", "(itemsize // line + 1) * line"
        ),
        "always 64": edit("-(-itemsize // line) * line", "-(-itemsize // 64) * 64"),
        "one counter less": edit("range(count)", "range(count - 1)"),
        "from the second line on": edit("[i * stride", "[(i + 1) * stride"),
        "floats": edit("-(-itemsize // line) * line", "(itemsize + line - 1) // line * line / 1"),
    },
    "15.7": {
        "the mean of what each says": """
def serial_fraction(points):
    alone = dict(points)[1]
    each = [(t / alone - 1 / n) / (1 - 1 / n) for n, t in points if n > 1]
    return sum(each) / len(each)
""",
        "the last point alone": """
def serial_fraction(points):
    alone = dict(points)[1]
    n, t = points[-1]
    return (t / alone - 1 / n) / (1 - 1 / n) if n > 1 else 0.0
""",
        "the first is taken for one thread": edit("dict(points)[1]", "points[0][1]"),
        "the parallel share": edit("return top / bottom", "return 1 - top / bottom"),
        "not divided by the time of one thread": edit("time / alone", "time"),
        "upside down": edit("return top / bottom", "return bottom / top"),
        "the slope of y on x the other way": edit("bottom += x * x", "bottom += y * y"),
        "the fit to the speedups": edit(
            "x, y = 1 - 1 / n, time / alone - 1 / n", "x, y = 1 - 1 / n, alone / time - 1 / n"
        ),
        "n and 1 / n exchanged": edit("1 - 1 / n, time", "1 - n, time"),
        "in percent": edit("return top / bottom", "return 100 * top / bottom"),
        "never below the fit of two": edit("return top / bottom", "return max(points)[1] / alone"),
    },
    "15.8": {
        "the memory grows with the cores": edit(
            'min(n * machine["bytes"], machine["all bytes"])', '(n * machine["bytes"])'
        ),
        "all the memory for one core": edit(
            'min(n * machine["bytes"], machine["all bytes"])', 'machine["all bytes"]'
        ),
        "one after the other": edit("max(computing, moving)", "computing + moving"),
        "the shorter one": edit("max(computing, moving)", "min(computing, moving)"),
        "upside down": edit("return time(1) / time(n)", "return time(n) / time(1)"),
        "computing does not grow": edit('(n * machine["operations"])', 'machine["operations"]'),
        "the time": edit("return time(1) / time(n)", "return time(n)"),
        "the larger of the two limits": edit("min(n *", "max(n *"),
        "n, unless it moves more than it computes": """
def speedup(operations, nbytes, n, machine):
    return n if operations > nbytes else min(n, machine["all bytes"] / machine["bytes"])
""",
        "always the ordinary machine": """
def speedup(operations, nbytes, n, machine):
    def time(n):
        return max(operations / (n * 16e9), nbytes / min(n * 10e9, 20e9))

    return time(1) / time(n)
""",
    },
    "15.9": {
        "as many for each": """
def assign(costs, speeds):
    many = -(-len(costs) // len(speeds))
    return [costs[i * many : (i + 1) * many] for i in range(len(speeds))]
""",
        "dealt like cards": """
def assign(costs, speeds):
    return [costs[i :: len(speeds)] for i in range(len(speeds))]
""",
        "stolen, in the order they come": """
def assign(costs, speeds):
    parts, busy = [[] for _ in speeds], [0.0] * len(speeds)
    for cost in costs:
        i = busy.index(min(busy))
        parts[i].append(cost)
        busy[i] += cost / speeds[i]
    return parts
""",
        "largest first, to whoever is free first": edit(
            "key=lambda i: busy[i] + cost / speeds[i]", "key=lambda i: busy[i]"
        ),
        "in the order they come": edit("sorted(costs, reverse=True)", "costs"),
        "smallest first": edit("sorted(costs, reverse=True)", "sorted(costs)"),
        "speeds are forgotten": edit(
            "busy[i] + cost / speeds[i]",
            "busy[i] + cost",
            "busy[first] += cost / speeds[first]",
            "busy[first] += cost",
        ),
        "all for the fastest": """
def assign(costs, speeds):
    parts = [[] for _ in speeds]
    parts[speeds.index(max(speeds))] = list(costs)
    return parts
""",
        "times in place of tasks": edit(
            "parts[first].append(cost)", "parts[first].append(cost / speeds[first])"
        ),
        "a task is missing": edit(
            "sorted(costs, reverse=True)", "sorted(costs, reverse=True)[:-1]"
        ),
        "the time, not the division": edit("return parts", "return max(busy)"),
        "the costs are sorted in place": edit(
            "    for cost in sorted(costs, reverse=True):",
            "    costs.sort(reverse=True)\n    for cost in costs:",
        ),
        "one list is shared by all": edit("[[] for _ in speeds]", "[[]] * len(speeds)"),
    },
    "15.10": {
        "a part for each thread": """
def total(numbers, pool):
    size = max(1, -(-len(numbers) // pool.threads))
    starts = range(0, len(numbers), size)
    return sum(pool.run([lambda a=a: sum(numbers[a : a + size], 0.0) for a in starts]), 0.0)
""",
        "one job": """
def total(numbers, pool):
    return sum(pool.run([lambda: sum(numbers, 0.0)]), 0.0)
""",
        "no job": """
def total(numbers, pool):
    return sum(numbers, 0.0)
""",
        "added up as they come": """
def total(numbers, pool):
    found = [0.0]

    def job(start):
        def add():
            found[0] += sum(numbers[start : start + 64], 0.0)

        return add

    pool.run([job(start) for start in range(0, len(numbers), 64)])
    return found[0]
""",
        "all see the last start": """
def total(numbers, pool):
    jobs = [lambda: sum(numbers[start : start + 64], 0.0) for start in range(0, len(numbers), 64)]
    return sum(pool.run(jobs), 0.0)
""",
        "blocks that are too long": edit("BLOCK = 64", "BLOCK = 256"),
        "what is left over is forgotten": edit(
            "range(0, len(numbers), BLOCK)", "range(0, len(numbers) - BLOCK + 1, BLOCK)"
        ),
        "blocks overlap": edit("start + BLOCK]", "start + BLOCK + 1]"),
        "blocks that depend on the threads": edit(
            "    def job",
            "    size = 32 * pool.threads\n\n    def job",
            "numbers[start : start + BLOCK]",
            "numbers[start : start + size]",
            "range(0, len(numbers), BLOCK)",
            "range(0, len(numbers), size)",
        ),
        "an int where there is nothing": edit(
            "sum(pool.run([job(start) for start in range(0, len(numbers), BLOCK)]), 0.0)",
            "sum(pool.run([job(start) for start in range(0, len(numbers), BLOCK)]))",
        ),
        "the mean": edit("BLOCK)]), 0.0)", "BLOCK)]), 0.0) / max(len(numbers), 1)"),
        "rounded until it is the same": """
def total(numbers, pool):
    size = max(1, min(142, -(-len(numbers) // pool.threads)))
    starts = range(0, len(numbers), size)
    return round(sum(pool.run([lambda a=a: sum(numbers[a : a + size]) for a in starts]), 0.0), 3)
""",
    },
    "15.11": {
        "from any byte on": edit("-(-self.used // 64) * 64", "self.used"),
        "the length is rounded, and the start is not": edit(
            "start = -(-self.used // 64) * 64",
            "start = self.used",
            "self.used = start + nbytes",
            "self.used = start + (nbytes // 64 + 1) * 64",
        ),
        "never full": edit("if start + nbytes > len(self.memory):", "if start > len(self.memory):"),
        "raises: full one byte too early": edit("if start + nbytes >", "if start + nbytes >="),
        "raises: taken before it is asked whether it fits": edit(
            "        start = -(-self.used // 64) * 64\n",
            "        start = -(-self.used // 64) * 64\n        self.used = start + nbytes\n",
        ),
        "reset to the beginning": edit("        self.used = mark", "        self.used = 0"),
        "any mark is taken": edit("if mark > self.used:", "if mark < 0:"),
        "raises: the current place is no mark": edit(
            "if mark > self.used:", "if mark >= self.used:"
        ),
        "one mark only": edit(
            "        return self.used\n\n    def reset",
            "        self.kept = self.used\n        return self.used\n\n    def reset",
            "        self.used = mark",
            "        self.used = self.kept",
        ),
        "nothing is given back": edit("        self.used = mark", "        pass"),
        "where it is belongs to the class": edit(
            "self.memory, self.used = memory, 0",
            "self.memory, Arena.used = memory, 0",
            "        self.used = start + nbytes\n        return self.memory[start : self.used]",
            "        Arena.used = start + nbytes\n        return self.memory[start : Arena.used]",
            "        self.used = mark",
            "        Arena.used = mark",
        ),
        "a copy": edit(
            "return self.memory[start : self.used]",
            "return bytearray(self.memory[start : self.used])",
        ),
        "offsets": edit("return self.memory[start : self.used]", "return start"),
        "whole pages": edit("-(-self.used // 64) * 64", "-(-self.used // 4096) * 4096"),
        "a ValueError where it is full": edit("raise MemoryError", "raise ValueError"),
    },
    "15.12": {
        "raises: no reset at all": edit(
            "        arena.reset(mark)\n", "", "best = bytes(doubled)", "best = doubled"
        ),
        "raises: a copy, and no reset": edit("        arena.reset(mark)\n", ""),
        "another view": edit("best = bytes(doubled)", "best = memoryview(doubled)"),
        "a slice of it": edit("best = bytes(doubled)", "best = doubled[:]"),
        "copied too late": edit(
            "            best = bytes(doubled)\n        arena.reset(mark)\n",
            "            best = doubled\n        arena.reset(mark)\n        best = bytes(best)\n",
        ),
        "the smallest": edit("sum(doubled) > sum(best)", "sum(doubled) < sum(best)"),
        "the last of them": edit("if not best or sum(doubled) > sum(best):", "if True:"),
        "not doubled": edit("2 * value", "value"),
        "without the arena": """
def brightest(arena, rows):
    return [2 * value for value in max(rows, key=sum)]
""",
        "reset to the beginning": edit("arena.reset(mark)", "arena.reset(0)"),
        "raises: the mark is set after the row": edit(
            "        mark = arena.mark()\n        doubled = arena.take(len(row))\n",
            "        doubled = arena.take(len(row))\n        mark = arena.mark()\n",
        ),
    },
    "15.13": {
        "one behind the other": """
def plan(lives):
    offsets, end = [], 0
    for nbytes, first, last in lives:
        offsets.append(end)
        end += nbytes
    return offsets
""",
        "by steps": edit("key=lambda i: -lives[i][0]", "key=lambda i: lives[i][1]"),
        "the longest-lived first": edit(
            "key=lambda i: -lives[i][0]", "key=lambda i: lives[i][1] - lives[i][2]"
        ),
        "smallest first": edit("key=lambda i: -lives[i][0]", "key=lambda i: lives[i][0]"),
        "the last step is free already": edit(
            "other_first <= last and first <= other_last",
            "other_first < last and first < other_last",
        ),
        "all at 0": "def plan(lives):\n    return [0] * len(lives)",
        "in the order of their sizes": edit("    return offsets", "    return sorted(offsets)"),
        "every gap will do": edit("if begin - at >= nbytes:", "if begin > at:"),
        "the gap ends at the last one looked at": edit("at = max(at, end)", "at = end"),
        "the placed are not in order": edit("in sorted(placed)", "in placed"),
        "no gap is looked for": edit(
            "                if begin - at >= nbytes:\n                    break\n", ""
        ),
        "a place for each size": """
def plan(lives):
    offsets, free, end, live = [0] * len(lives), {}, 0, []
    for i in sorted(range(len(lives)), key=lambda i: lives[i][1]):
        nbytes, first, last = lives[i]
        for entry in [entry for entry in live if entry[1] < first]:
            live.remove(entry)
            free.setdefault(entry[0], []).append(entry[2])
        if free.get(nbytes):
            offsets[i] = free[nbytes].pop()
        else:
            offsets[i], end = end, end + nbytes
        live.append((nbytes, last, offsets[i]))
    return offsets
""",
        "the lives are sorted in place": edit(
            "    offsets, placed =", "    lives.sort(reverse=True)\n    offsets, placed ="
        ),
        "below 0": edit("        offsets[i] = at\n", "        offsets[i] = -at\n"),
    },
    "15.14": {
        "bytes for words": edit(
            'PICOJOULES[what] if what in ("add", "multiply") else PICOJOULES[what] / 8',
            "PICOJOULES[what]",
        ),
        "operations by the eighth, too": edit(
            'PICOJOULES[what] if what in ("add", "multiply") else PICOJOULES[what] / 8',
            "PICOJOULES[what] / 8",
        ),
        "bits for bytes": edit("/ 8", "/ 64"),
        "in picojoules": edit("1e-12 * per", "per"),
        "nanojoules": edit("1e-12", "1e-9"),
        "the last one": edit("found += ", "found = "),
        "operations alone": edit(
            "    for what, count in counts.items():\n",
            "    for what, count in counts.items():\n"
            '        if what not in ("add", "multiply"):\n'
            "            continue\n",
        ),
        "raises: all of them have to be there": """
def joules(counts):
    c = counts
    return 1e-12 * (
        0.9 * c["add"] + 3.7 * c["multiply"]
        + (20 * c["L1"] + 100 * c["L2"] + 1300 * c["memory"]) / 8
    )
""",
        "the dearest": """
def joules(counts):
    def cost(what):
        per = PICOJOULES[what] if what in ("add", "multiply") else PICOJOULES[what] / 8
        return 1e-12 * per * counts[what]

    return max(map(cost, counts), default=0.0)
""",
    },
    "15.15": {
        "waiting costs nothing": edit(" + (deadline - busy) * idle", ""),
        "waiting until for ever": edit("(deadline - busy) * idle", "deadline * idle"),
        "the least watts": edit(
            "min(costs, key=costs.get)", "min(costs, key=lambda n: modes[n][1])"
        ),
        "the fastest": edit("min(costs, key=costs.get)", "max(costs, key=lambda n: modes[n][0])"),
        "the deadline is forgotten": edit(
            "        if busy <= deadline:\n            costs", "        costs"
        ),
        "the dearest": edit("min(costs, key=costs.get)", "max(costs, key=costs.get)"),
        "the joules": edit("min(costs, key=costs.get)", "min(costs.values())"),
        "just in time is too late": edit("busy <= deadline", "busy < deadline"),
        "None where none is in time": edit(
            '        raise ValueError("no mode is done in time")', "        return None"
        ),
        "raises: nothing to choose from": edit(
            '    if not costs:\n        raise ValueError("no mode is done in time")\n',
            "",
            "min(costs, key=costs.get)",
            "sorted(costs, key=costs.get)[0]",
        ),
        "watts per step": edit("busy * watts + (deadline - busy) * idle", "watts / speed + idle"),
    },
    "15.16": {
        "all the same": 'causes = dict.fromkeys("ABCDE", "process")',
        "in the order of the text": 'causes = {"A": "frequency", "B": "migration", "C": "faults",'
        ' "D": "process", "E": "heat"}',
        "the two slow ones exchanged": edit(
            '"B": "heat"', '"B": "frequency"', '"D": "frequency"', '"D": "heat"'
        ),
        "peaks exchanged": edit(
            '"A": "process"', '"A": "faults"', '"C": "faults"', '"C": "process"'
        ),
        "moved is taken for hot": edit(
            '"B": "heat"', '"B": "migration"', '"E": "migration"', '"E": "heat"'
        ),
        "one is missing": edit(', "E": "migration"', ""),
        "another word": edit('"B": "heat"', '"B": "thermal"'),
        "a list": 'causes = ["process", "heat", "faults", "frequency", "migration"]',
    },
    "15.s1": {
        "by turns": "worst = [0, 1] * 15",
        "one after the other": "worst = [0] * 15 + [1] * 15",
        "leaves five": "worst = [0, 1, 0, 1, 0, 1] * 5",
        "steps are missing": edit(" + [1, 1]", ""),
        "one round too early": edit(
            "4 * [1, 1, 1]", "3 * [1, 1, 1]", "+ [1, 1]", "+ [1, 1] + [1, 1, 1]"
        ),
    },
    "15.s2": {
        "flags alone": edit(
            '        if (yield "load", "turn") == me:\n            break\n', "        pass\n"
        ),
        "the turn alone": """
def guarded(me):
    while (yield "load", "turn") != me:
        pass
    value = yield "load", "n"
    value = yield "add", value, 1
    yield "store", "n", value
    yield "store", "turn", 1 - me
""",
        "takes the turn itself": edit('"store", "turn", other', '"store", "turn", me'),
        "the flag is never lowered": edit(
            '    yield "store", "n", value\n    yield "store", f"flag{me}", 0',
            '    yield "store", "n", value',
        ),
        "the flag is raised after the look": edit(
            '    yield "store", f"flag{me}", 1\n',
            "",
            '    value = yield "load", "n"\n',
            '    yield "store", f"flag{me}", 1\n    value = yield "load", "n"\n',
        ),
        "the turn is given away first": edit(
            '    yield "store", f"flag{me}", 1\n    yield "store", "turn", other\n',
            '    yield "store", "turn", other\n    yield "store", f"flag{me}", 1\n',
        ),
        "no waiting": """
def guarded(me):
    value = yield "load", "n"
    value = yield "add", value, 1
    yield "store", "n", value
""",
        "a lock": """
def guarded(me):
    yield "lock", "m"
    value = yield "load", "n"
    value = yield "add", value, 1
    yield "store", "n", value
    yield "unlock", "m"
""",
    },
}
