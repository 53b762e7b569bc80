"""Planted wrong answers to the exercises of chapter 16."""

from wrong import edit

WRONG = {
    "16.1": {
        "stays on after an error": """
def recorded(f, *inputs):
    notes, execute = [], Op.execute

    def noting(op):
        before = len(notes)
        out = execute(op)
        if len(notes) == before:
            notes.append((op, out))
        return out

    Op.execute = staticmethod(noting)
    result = f(*inputs)
    Op.execute = staticmethod(execute)
    return result, notes
""",
        "never put back": edit(
            "    finally:\n        Op.execute = staticmethod(execute)", "    finally:\n        pass"
        ),
        "composites are noted beside their parts": edit("if len(notes) == before:", "if True:"),
        "only what runs outermost": """
def recorded(f, *inputs):
    notes, execute, depth = [], Op.execute, []

    def noting(op):
        depth.append(op)
        out = execute(op)
        depth.pop()
        if not depth:
            notes.append((op, out))
        return out

    Op.execute = staticmethod(noting)
    try:
        return f(*inputs), notes
    finally:
        Op.execute = staticmethod(execute)
""",
        "raises: the engine is left out": edit(
            "out = execute(op)", "out = op.forward(*op.inputs)"
        ),
        "put back to the engine's own, whatever was there": edit(
            "    finally:\n        Op.execute = staticmethod(execute)",
            "    finally:\n        Op.execute = staticmethod(engine.run)",
        ),
        "only ops with a kernel: views are lost": edit(
            "if len(notes) == before:", 'if len(notes) == before and hasattr(op, "kernel"):'
        ),
        "notes before it runs, so parts come after the whole": """
def recorded(f, *inputs):
    notes, execute = [], Op.execute

    def noting(op):
        place = len(notes)
        notes.append(None)
        notes[place] = (op, execute(op))
        return notes[place][1]

    Op.execute = staticmethod(noting)
    try:
        return f(*inputs), notes
    finally:
        Op.execute = staticmethod(execute)
""",
        "one list for all calls": edit(
            "    notes, execute = [], Op.execute",
            "    notes, execute = recorded.__dict__.setdefault('all', []), Op.execute",
        ),
        "the notes alone": edit("return f(*inputs), notes", "f(*inputs)\n        return notes"),
        "backwards": edit("return f(*inputs), notes", "return f(*inputs), notes[::-1]"),
        "swallows the error": edit(
            "    finally:", "    except KeyError:\n        return None, notes\n    finally:"
        ),
    },
    "16.2": {
        "always": "def together(made, line):\n    return made.rows == line.rows",
        "never": "def together(made, line):\n    answer = False\n    return answer",
        "two without rows": edit("made.rows is None or ", ""),
        "reductions over axis 0 are forgotten": edit(
            'made.op in REDUCTIONS and 0 in made.params["axis"]', "made.op is None"
        ),
        "no reduction at all": edit(' and 0 in made.params["axis"]', ""),
        "only if axis 0 is the only one": edit(
            '0 in made.params["axis"]', 'made.params["axis"] == (0,)'
        ),
        "asks whether the line reduces, not what it reads": edit(
            'made.op in REDUCTIONS and 0 in made.params["axis"]',
            'line.op in REDUCTIONS and 0 in line.params["axis"]',
        ),
        "sizes are compared: a square fools it": edit(
            "line.op not in ELEMENTWISE or len(made.shape) == len(line.shape)",
            "not made.shape or made.shape[0] == made.rows",
        ),
        "aligned at the left": edit(
            "return line.op not in ELEMENTWISE or len(made.shape) == len(line.shape)",
            "return made.shape[:1] == line.shape[:1]",
        ),
        "equal shapes only": edit(
            "len(made.shape) == len(line.shape)", "made.shape == line.shape"
        ),
        "reshape, too, must keep the count of axes": edit("line.op not in ELEMENTWISE or ", ""),
        "a number": edit(
            "return line.op not in ELEMENTWISE or len(made.shape) == len(line.shape)",
            "return int(line.op not in ELEMENTWISE or len(made.shape) == len(line.shape))",
        ),
    },
    "16.3": {
        "a kernel for each line": """
def fuse(lines):
    return [[line] for line in lines if line.op not in FREE]
""",
        "all in one": "def fuse(lines):\n    return [[x for x in lines if x.op not in FREE]]",
        "by rows alone": """
def fuse(lines):
    kernels = {}
    for line in lines:
        if line.op not in FREE:
            kernels.setdefault(line.rows, []).append(line)
    return list(kernels.values())
""",
        "only the last kernel is looked at": edit(
            "range(first, at)", "range(max(first, at - 1), at)"
        ),
        "a sum over axis 0 is used in its own loop": edit("0 if joins else 1", "0"),
        "one kernel too late": edit("0 if joins else 1", "1"),
        "products share a kernel": edit("if line.rows is not None:", "if True:"),
        "inputs are calculated": edit("if line.op in FREE:", 'if line.op == "constant":'),
        "what it uses may come later": edit(
            "first = max(first, place[other.name] + (0 if joins else 1))",
            "first = min(first, place[other.name])",
        ),
        "only the first input is asked": edit(
            "if other.name in line.inputs and", "if other.name == line.inputs[0] and"
        ),
        "put in front: the order within a kernel": edit(
            "kernels[at].append(line)", "kernels[at].insert(0, line)"
        ),
        "names, not lines": edit("kernels[at].append(line)", "kernels[at].append(line.name)",
                                 "kernels[k][0].rows", "next(x.rows for x in lines if x.name == "
                                 "kernels[k][0])"),
        "the last line is lost": edit("for line in lines:\n", "for line in lines[:-1]:\n"),
        "an empty kernel at the end": edit("return kernels", "return kernels + [[]]"),
    },
    "16.4": {
        "as if nothing were fused": """
def traffic(kernels, lines, results):
    sizes = {line.name: math.prod(line.shape) for line in lines}
    return sum(sizes[n] for kernel in kernels for line in kernel
               for n in {line.name, *line.inputs})
""",
        "every use counts": edit(
            "read = {name for line in kernel for name in line.inputs} - made",
            "uses = [n for line in kernel for n in line.inputs if n not in made]\n"
            "        count += sum(map(sizes.get, uses)) - sum(map(sizes.get, set(uses)))\n"
            "        read = set(uses)",
        ),
        "results are not written": edit("(elsewhere | set(results))", "elsewhere"),
        "only results are written": edit("(elsewhere | set(results))", "set(results)"),
        "all that is made is written": edit("made & (elsewhere | set(results))", "made"),
        "nothing is read": edit("read | written", "written"),
        "reads what it makes itself": edit(" for name in line.inputs} - made",
                                           " for name in line.inputs}"),
        "an array is read once for the whole program": edit(
            "    count = 0\n", "    count, seen = 0, set()\n",
            "in line.inputs} - made", "in line.inputs} - made - seen\n        seen |= read",
        ),
        "bytes": edit("return count", "return 4 * count"),
        "arrays, not numbers": edit("sum(sizes[name] for name in read | written)",
                                    "len(read | written)"),
        "the first size only": edit("math.prod(line.shape)", "(line.shape or (1,))[0]"),
        "constants are free": edit(
            "in line.inputs} - made",
            'in line.inputs} - made - {x.name for x in lines if x.op == "constant"}',
        ),
    },
    "16.5": {
        "a name may stand for two things": edit(
            "return same(found.setdefault(pattern, term), term)",
            "found[pattern] = term\n            return True",
        ),
        "minus zero is zero": edit(
            "return a == b and math.copysign(1, a) == math.copysign(1, b)", "return a == b"
        ),
        "minus zero, where a name occurs twice": edit(
            "return same(found.setdefault(pattern, term), term)",
            "return found.setdefault(pattern, term) == term",
        ),
        "longer terms fit": edit(
            "return len(pattern) == len(term) and all(map(fits, pattern, term))",
            "return all(map(fits, pattern, term))",
        ),
        "only the top": edit("all(map(fits, pattern, term))",
                             "pattern[0] == term[0] and all(found.setdefault(p, t) == t"
                             " for p, t in zip(pattern[1:], term[1:]))"),
        "True and False": edit("return found if fits(pattern, term) else None",
                               "return fits(pattern, term)"),
        "a dict where nothing fits": edit("found if fits(pattern, term) else None",
                                          "found if fits(pattern, term) else {}"),
        "None where there is no name": edit("found if fits(pattern, term) else None",
                                            "(found or None) if fits(pattern, term) else None"),
        "found is shared by all calls": edit(
            "    found = {}\n", '    found = matched.__dict__.setdefault("found", {})\n'
        ),
        "names without the question mark": edit(
            "return found if fits(pattern, term) else None",
            "return {k[1:]: v for k, v in found.items()} if fits(pattern, term) else None",
        ),
        "every text in a pattern is a name": edit(
            'isinstance(pattern, str) and pattern.startswith("?")', "isinstance(pattern, str)"
        ),
        "the op may differ": edit(
            "return len(pattern) == len(term) and all(map(fits, pattern, term))",
            "return len(pattern) == len(term) and all(map(fits, pattern[1:], term[1:]))",
        ),
    },
    "16.6": {
        "all of them": 'keeping = "ABCDEFGHIJK"',
        "as in mathematics, without log of exp": 'keeping = "ABCDEFGHIJ"',
        "zero plus x": 'keeping = "ABEFIJ"',
        "a tenth, too": 'keeping = "AEFGIJ"',
        "only those without numbers": 'keeping = "EJ"',
        "a quarter is not trusted": 'keeping = "AEIJ"',
        "sums in another order": 'keeping = "AEFHIJ"',
        "times zero": 'keeping = "ADEFIJ"',
        "small letters": 'keeping = "aefij"',
        "how many": "keeping = 5",
    },
    "16.7": {
        "everything, registers too": edit(
            "if last > k or line.name in results:", "if True:"
        ),
        "results may go": """
def lives(kernels, results):
    found = {}
    for k, kernel in enumerate(kernels):
        for line in kernel:
            uses = [j for j, other in enumerate(kernels) for o in other if line.name in o.inputs]
            last = max(uses, default=k)
            if last > k or line.name in results:
                found[line.name] = (4 * math.prod(line.shape), k, last)
    return found
""",
        "results are forgotten": edit("if last > k or line.name in results:", "if last > k:"),
        "one kernel too long": edit("k, last)\n", "k, last + 1)\n"),
        "begins one too late": edit("math.prod(line.shape), k, last)",
                                    "math.prod(line.shape), k + 1, last)"),
        "the first use, not the last": edit("last = max(uses, default=k)",
                                            "last = min(uses, default=k)"),
        "numbers, not bytes": edit("4 * math.prod(line.shape)", "math.prod(line.shape)"),
        "float64": edit("4 * math", "8 * math"),
        "how long, not until when": edit("k, last)\n", "k, last - k)\n"),
        "all live to the end": edit("last = max(uses, default=k)",
                                    "last = len(kernels) - 1 if uses else k"),
        "a list": edit("return found", "return list(found.values())"),
        "the place in the program, not the kernel": edit(
            "for k, kernel in enumerate(kernels):\n        for line in kernel:",
            "for kernel in kernels:\n        for k, line in enumerate(kernel):",
        ),
    },
    "16.8": {
        "every name is an array": edit(
            'name if name in made or name not in arrays else f"{name}[i]"', 'f"{name}[i]"'
        ),
        "no name is an array": edit(
            'name if name in made or name not in arrays else f"{name}[i]"', "name"
        ),
        "numbers are arrays, too": edit("name in made or name not in arrays", "name in made"),
        "relu the other way round: nan becomes 0": edit(
            'f"{x} < 0 ? 0 : {x}"', 'f"{x} > 0 ? {x} : 0"'
        ),
        "relu loses the minus of zero": edit(
            'f"{x} < 0 ? 0 : {x}"', 'f"{x} <= 0 ? 0 : {x}"'
        ),
        "functions of another precision": edit('f"exp({x})"', 'f"expf({x})"'),
        "Python's power": edit('f"pow({x}, {y})"', 'f"{x} ** {y}"'),
        "operands exchanged": edit('f"pow({x}, {y})"', 'f"pow({y}, {x})"'),
        "nothing is stored": edit(
            ' + [f"{name}_out[i] = {name};" for name in results]', ""
        ),
        "only the last is stored": edit(
            'for name in results]', "for name in [line.name]]"
        ),
        "stored under its own name": edit('f"{name}_out[i] = {name};"', 'f"{name}[i] = {name};"'),
        "no semicolon": edit('(*words)};")', '(*words)}")'),
        "kept in double: one expression for all": """
def c_body(kernel, arrays, results):
    texts = {"add": "({} + {})", "mul": "({} * {})", "neg": "(-{})", "exp": "exp({})",
             "log": "log({})", "pow": "pow({}, {})"}
    words = {name: f"{name}[i]" for name in arrays}
    statements = []
    for line in kernel:
        ins = [words.get(name, name) for name in line.inputs]
        if line.op == "relu":
            statements.append(f"float {line.name} = {ins[0]} < 0 ? 0 : {ins[0]};")
            words[line.name] = line.name
        else:
            words[line.name] = texts[line.op].format(*ins)
    return statements + [f"{name}_out[i] = {words[name]};" for name in results]
""",
        "a whole loop": edit(
            "    return statements + ",
            '    statements = ["for (long i = 0; i < n; i++) {"] + statements\n'
            "    return statements + ",
        ),
        "one text": edit("return statements + [f", "return ' '.join(statements + [f",
                         "for name in results]", "for name in results])"),
        "raises: only sums and products": edit(
            '    "neg": lambda x: f"-{x}",\n    "exp": lambda x: f"exp({x})",\n', "",
            '    "log": lambda x: f"log({x})",\n    "relu": lambda x: f"{x} < 0 ? 0 : {x}",\n', "",
        ),
    },
    "16.9": {
        "f itself": """
class Jit:
    def __init__(self, f):
        self.f = f

    def __call__(self, *inputs):
        return self.f(*inputs)
""",
        "one program for all": edit(
            "key = tuple((t.shape, t.buf.dtype) for t in inputs)", "key = None"
        ),
        "the dtype is forgotten": edit("(t.shape, t.buf.dtype) for", "t.shape for"),
        "the shape is forgotten": edit("(t.shape, t.buf.dtype) for", "t.buf.dtype for"),
        "as many numbers, another shape": edit("(t.shape, t.buf", "(t.numel(), t.buf"),
        "only the first input": edit("for t in inputs)", "for t in inputs[:1])"),
        "in any order": edit(
            "tuple((t.shape, t.buf.dtype) for t in inputs)",
            "frozenset((t.shape, t.buf.dtype) for t in inputs)",
        ),
        "recorded again at every call": edit(
            "known = self.programs.setdefault(key, [])", "known = []"
        ),
        "guards are not looked at": edit(
            "traced(self.f, *inputs)", "traced(self.f, *inputs)._replace(guards=[])"
        ),
        "only the last program is kept": edit(
            "known.append(traced(self.f, *inputs))", "known[:] = [traced(self.f, *inputs)]"
        ),
        "gives None where a guard fails": edit(
            "            if result is not None:\n                return result",
            "            return result",
        ),
        "only the first program is tried": edit("program in known:", "program in known[:1]:"),
        "programs are kept in the class": edit(
            "    def __init__(self, f):\n        self.f, self.programs = f, {}",
            "    programs = {}\n\n    def __init__(self, f):\n        self.f = f",
        ),
        "f runs when it is recorded, and once more": edit(
            "return replayed(known[-1], inputs)", "return self.f(*inputs)"
        ),
        "results are remembered": """
class Jit:
    def __init__(self, f):
        self.f, self.results = f, {}

    def __call__(self, *inputs):
        key = tuple((t.shape, t.buf.dtype) for t in inputs)
        if key not in self.results:
            self.results[key] = self.f(*inputs)
        return self.results[key]
""",
        "one memory for all results": """
class Jit:
    def __init__(self, f):
        self.f, self.programs, self.out = f, {}, {}

    def __call__(self, *inputs):
        key = tuple((t.shape, t.buf.dtype) for t in inputs)
        known = self.programs.setdefault(key, [])
        result = None
        for program in known:
            result = replayed(program, inputs)
            if result is not None:
                break
        if result is None:
            known.append(traced(self.f, *inputs))
            result = replayed(known[-1], inputs)
        out = self.out.setdefault(key, result)
        out.fill(result.values())
        return out
""",
    },
    "16.10": {
        "trusts": 'def tells(make):\n    answer = "right"\n    return answer',
        "two calls are enough": edit("for i in range(6):", "for i in range(2):"),
        "looks at each result at once": edit(
            "        results.append(jitted(x))\n",
            "        results.append(Tensor(jitted(x).tolist()))\n",
        ),
        "only the last result is looked at": edit(
            "if [result.tolist() for result in results] != wanted:",
            "if results[-1].tolist() != wanted[-1]:",
        ),
        "the weight changes before the third call": edit(
            "for i in range(6):", "for i in range(0):"
        ),
        "the weight is another object, and f never sees it": edit(
            "weight.fill([5.0, 7.0])", "weight = Tensor([5.0, 7.0])"
        ),
        "always the same count of numbers": edit(
            "        Tensor([[1.0, 2.0, 3.0, 4.0]]),\n", "",
            "        Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),\n", "",
        ),
        "one dtype": edit(
            '        Tensor([[0.1, 0.7], [3.0, 4.0], [5.0, 6.0]], dtype="float64"),\n', ""
        ),
        "the dtype is not compared, and the numbers are halves": edit(
            "[[0.1, 0.7], [3.0", "[[0.5, 0.25], [3.0",
            "(got.tolist(), got.buf.dtype) != (right.tolist(), right.buf.dtype)",
            "got.tolist() != right.tolist()",
        ),
        "one decision": edit("return -y if (y.sum() > 0).item() else y * 3.0", "return y"),
        "one side only": edit(
            "([1.0, 2.0], [20.0, 1.0], [-5.0, 1.0], [-90.0, 11.0])", "([1.0, 2.0], [3.0, 1.0])"
        ),
        "each side once": edit(
            "    for _ in range(3):\n        for numbers",
            "    for _ in range(1):\n        for numbers",
            "([1.0, 2.0], [20.0, 1.0], [-5.0, 1.0], [-90.0, 11.0])", "([1.0, 2.0], [20.0, 1.0])",
        ),
        "compares with what it expects, not with f": edit(
            "if jitted(x).tolist() != branching(x).tolist():",
            "if jitted(x).tolist() != [-2.0, -3.0]:",
        ),
        "a decision that no jit can see": edit(
            "(x.max() > 10).item()", "x.shape[0] > 10", "(y.sum() > 0).item()", "y.shape[0] > 0"
        ),
        "stale and alias are mixed up": edit(
            '        return "alias"', '        return "stale"',
            '        return "stale"\n\n', '        return "alias"\n\n',
        ),
        "a sentence": edit('return "right"', 'return "nothing is wrong"'),
    },
    "16.11": {
        "finds nothing": "def verify(lines, results):\n    return [None] * 0",
        "finds something everywhere": 'def verify(lines, results):\n    return ["wrong"]',
        "raises: as soon as a name is missing": edit(
            'wrong.append(f"{line.name} uses {missing[0]}, which is not made before it")',
            "raise KeyError(missing[0])",
        ),
        "order is not looked at": edit(
            "shapes, wrong = {}, []", "shapes, wrong = {x.name: x.shape for x in lines}, []",
            "if line.name in shapes:", "if [x.name for x in lines].count(line.name) > 1:",
        ),
        "a name may be made twice": edit(
            "        if line.name in shapes:\n", "        if line.name is None:\n",
        ),
        "results are not looked at": edit(
            ' + [f"nothing makes {name}" for name in results if name not in shapes]', ""
        ),
        "shapes are not looked at": edit(
            "elif line.op not in FREE and (fault := _unfit(", "elif [] and (fault := _unfit("
        ),
        "operands are not counted": edit(
            "if len(shapes) != counts.get(line.op, 1):", "if not shapes:"
        ),
        "raises: broadcasting is not caught": edit(
            "        except ValueError as error:\n            return str(error)",
            "        except KeyError as error:\n            return str(error)",
        ),
        "products are not looked at": edit(
            'elif line.op == "matmul":', 'elif line.op == "matmul":\n        return\n    elif []:'
        ),
        "a reshape may lose numbers": edit(
            'return None if sizes[0] == sizes[1] else f"{sizes[0]} numbers as {sizes[1]}"',
            "return None",
        ),
        "only the first fault counts, and it is a text": edit(
            "return wrong + [f\"nothing makes {name}\" for name in results if name not in shapes]",
            'return (wrong or [""])[0]',
        ),
        "elementwise lines have the shape of the first input": edit(
            "wanted = reduce(broadcast_shapes, shapes)", "wanted = shapes[0]"
        ),
        "names of an earlier call are remembered": edit(
            "    shapes, wrong = {}, []",
            '    shapes, wrong = verify.__dict__.setdefault("shapes", {}), []',
        ),
        "expand is no op": edit(
            "    if line.op in ELEMENTWISE:", '    if line.op in ELEMENTWISE and line.op != "neg":'
        ),
    },
    "16.12": {
        "the start": "def tuned(cost, sizes, start):\n    return start",
        "every tile": """
def tuned(cost, sizes, start):
    return min(((a, b, c) for a in sizes for b in sizes for c in sizes), key=cost)
""",
        "one axis after the other": """
def tuned(cost, sizes, start):
    best, least = start, cost(start)
    moved = True
    while moved:
        moved = False
        for axis in range(3):
            for size in sizes:
                tile = (*best[:axis], size, *best[axis + 1 :])
                if (now := cost(tile)) < least:
                    best, least, moved = tile, now, True
    return best
""",
        "the one that is best for the cache of the text": """
def tuned(cost, sizes, start):
    return (16, 4, 8)
""",
        "the largest cost": edit("return min(known", "return max(known"),
        "cubes only": """
def tuned(cost, sizes, start):
    return min(((s, s, s) for s in sizes), key=cost)
""",
        "the largest tiles": """
def tuned(cost, sizes, start):
    return (sizes[-1],) * 3
""",
        "asks again and again": edit(" and t not in known]", "]", "[: 60 - len(known)]", ""),
        "raises: a list is no tile": edit("known = {start: cost(start)}",
                                          "known = {start: cost(list(start))}"),
        "stops after the first round": edit("while beam:", "for _ in range(1):"),
        "what it costs": edit("return min(known, key=known.get)", "return min(known.values())"),
        "the last one asked": edit("return min(known, key=known.get)", "return list(known)[-1]"),
    },
    "16.s1": {
        "nothing": "def once(lines, results):\n    return list(lines), list(results)",
        "inputs are not translated": edit(
            "inputs = tuple(now.get(name, name) for name in line.inputs)", "inputs = line.inputs"
        ),
        "params are forgotten": edit("key = line.op, inputs, repr(line.params)",
                                     "key = line.op, inputs, line.shape"),
        "results are not translated": edit("[now.get(name, name) for name in results]",
                                           "list(results)"),
        "operands in any order": edit(", inputs, repr", ", tuple(sorted(inputs)), repr"),
        "inputs are merged": edit("if line.op not in FREE and key in known:", "if key in known:"),
        "only the op": edit("key = line.op, inputs, repr(line.params)", "key = line.op"),
    },
    "16.s2": {
        "two walks": """
def one_pass(numbers):
    top = max(numbers)
    return top, sum(math.exp(x - top) for x in numbers)
""",
        "not brought to the new largest": edit("total = total * math.exp(largest - x) + 1.0",
                                               "total = total + 1.0"),
        "the wrong way": edit(
            "math.exp(largest - x) + 1.0", "math.exp(min(x - largest, 9.0)) + 1.0"
        ),
        "the largest itself is not counted": edit("math.exp(largest - x) + 1.0",
                                                  "math.exp(largest - x)"),
        "begins at 0": edit("largest, total = -math.inf, 0.0", "largest, total = 0.0, 0.0"),
        "raises: e to the x": """
def one_pass(numbers):
    top, total = -math.inf, 0.0
    for x in numbers:
        top, total = max(top, x), total + math.exp(x)
    return top, total / math.exp(top)
""",
        "minus infinity makes a nan": edit("elif x > -math.inf:", "else:"),
    },
}  # fmt: skip
