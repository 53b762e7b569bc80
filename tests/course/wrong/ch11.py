"""Planted wrong answers to the exercises of chapter 11."""

from wrong import edit

WRONG = {
    "11.1": {
        "raises: pairs that never occur have a probability of 0": edit(
            "[1] * count", "[0] * count"
        ),
        "the sum, not the mean": edit(" / (len(test) - 1)", ""),
        "divided by the letters, not by the pairs": edit("(len(test) - 1)", "len(test)"),
        "counted in the test": edit("pairwise(train)", "pairwise(test)"),
        "the loss on what was counted": edit(
            "-sum(logs[a][b] for a, b in pairwise(test)) / (len(test) - 1)",
            "-sum(logs[a][b] for a, b in pairwise(train)) / (len(train) - 1)",
        ),
        "the letter before, given the one after": edit(
            "followed[a][b] += 1", "followed[b][a] += 1"
        ),
        "the share of all pairs, not of the row": edit(
            "n / sum(row)", "n / sum(map(sum, followed))"
        ),
        "the sign is lost": edit("return -sum", "return sum"),
        "bits, not nats": edit("math.log(", "math.log2("),
        "the counts are counted once more, their sum is not": edit(
            "n / sum(row)", "n / max(1, sum(row) - count)"
        ),
        "only letters that occur are counted": edit(
            "n / sum(row)", "n / (sum(row) - count + len(set(train)))"
        ),
        "one row for all": edit("[[1] * count for _ in range(count)]", "[[1] * count] * count"),
        "every second pair": edit("in pairwise(train)", "in zip(train[::2], train[1::2])"),
        "it ends at the first pair": """
import math
from itertools import pairwise

def pair_loss(train, test, count):
    followed = [[1] * count for _ in range(count)]
    for a, b in pairwise(train):
        followed[a][b] += 1
    for a, b in pairwise(test):
        return -math.log(followed[a][b] / sum(followed[a]))
""",
        "the counts of all calls": edit(
            "def pair_loss(train, test, count):",
            "def pair_loss(train, test, count, kept={}):",
            "followed = [[1] * count for _ in range(count)]",
            "followed = kept.setdefault(count, [[1] * count for _ in range(count)])",
        ),
    },
    "11.2": {
        "the rows are copied, and nothing leads back": edit(
            "(one_hot(numbers, count) @ self.w)", "rows(self.w, numbers)"
        ),
        "w is not watched": edit(", requires_grad=True", ""),
        "w is scaled after it was watched: no leaf": edit(
            "spread = 1 / math.sqrt(width)",
            "spread = 1",
            "requires_grad=True)",
            "requires_grad=True) * (1 / math.sqrt(width))",
        ),
        "one row below the other, whatever the shape of the ids": edit(
            ".reshape(*shape, width)", ""
        ),
        "raises: a tensor of ids": edit('ids.tolist() if hasattr(ids, "tolist") else ids', "ids"),
        "spread 1": edit("1 / math.sqrt(width)", "1"),
        "1 / width": edit("1 / math.sqrt(width)", "1 / width"),
        "by the number of letters": edit("1 / math.sqrt(width)", "1 / math.sqrt(count)"),
        "all rows begin alike": edit(
            "[[random.gauss(0, spread) for _ in range(width)] for _ in range(count)]",
            "[[random.gauss(0, spread) for _ in range(width)]] * count",
        ),
        "zeros": edit("random.gauss(0, spread)", "0.0"),
        "raises: rows and columns exchanged": edit(
            "for _ in range(width)] for _ in range(count)",
            "for _ in range(count)] for _ in range(width)",
        ),
        "the width first": edit(".reshape(*shape, width)", ".reshape(width, *shape)"),
        "nothing is given back": edit("        return (one_hot", "        (one_hot"),
        "each letter once": edit(
            "        count, width = self.w.shape",
            "        count, width = self.w.shape\n"
            "        numbers = list(dict.fromkeys(numbers))\n"
            "        shape = (len(numbers),)",
        ),
        "even numbers, of the right spread": edit(
            "random.gauss(0, spread)", "random.uniform(-spread * 3**0.5, spread * 3**0.5)"
        ),
        "the table belongs to the class": edit(
            "        self.w = Tensor(table", "        Embedding.w = Tensor(table"
        ),
        "raises: the memory of the ids, whatever walk": edit(
            'ids.tolist() if hasattr(ids, "tolist") else ids',
            "ids if not hasattr(ids, 'buf') else Tensor(ids.buf, ids.shape).tolist()",
        ),
    },
    "11.3": {
        "a single table, as before": """
import operator

def matmul(out, x, y):
    rows, columns = parts(x.values(), x.shape[0]), parts(transpose(y).values(), y.shape[-1])
    out.fill([sum(map(operator.mul, row, column)) for row in rows for column in columns])
""",
        "every table with the first of y": edit("columns[t * n : (t + 1) * n]", "columns[:n]"),
        "raises: all rows with all columns": edit(
            "        for row in rows[t * m : (t + 1) * m]:", "        for row in rows:"
        ),
        "the rows of y in place of its columns": edit("transpose(y).values()", "y.values()"),
        "only the last table": edit(
            "    for t in range(tables):", "    for t in range(tables):\n        sums = []"
        ),
        "m and n exchanged": edit("m, n = out.shape[-2:]", "n, m = out.shape[-2:]"),
        "only the first leading axis is counted": edit(
            "math.prod(out.shape[:-2])", "(out.shape[0] if len(out.shape) > 2 else 1)"
        ),
        "nothing is written": edit("\n    out.fill(sums)", ""),
        "floats only": edit(
            "sum(map(operator.mul, row, column))",
            "float(sum(map(float, map(operator.mul, row, column))))",
        ),
        "out is written as if it were row by row": edit(
            "out.fill(sums)", "out.buf.write(out.offset, sums)"
        ),
    },
    "11.4": {
        "raises: two axes only": edit(
            "before = broadcast_shapes(x.shape[:-2], y.shape[:-2])", "before = ()"
        ),
        "nothing is stretched": edit(
            "expand(t, (*before, *t.shape[-2:])) for t in alike((x, y))", "t for t in alike((x, y))"
        ),
        "the result has the axes of x": edit(
            "return (*before, x.shape[-2], y.shape[-1])",
            "return (*self.inputs[0].shape[:-1], y.shape[-1])",
        ),
        "raises: a sum for the axes before": edit(
            "broadcast_shapes(x.shape[:-2], y.shape[:-2])", "x.shape[:-2] or y.shape[:-2]"
        ),
        "raises: gradients exchanged": edit("return gx, gy", "return gy, gx"),
        "raises: no transpose in the gradient of x": edit("MatMul(g, y.T)", "MatMul(g, y)"),
        "the gradient of y the wrong way round": edit("MatMul(x.T, g)", "MatMul(g.T, x)"),
        "both gradients always": edit(
            " if x.requires_grad else None", "", " if y.requires_grad else None", ""
        ),
        "misfits are not noticed": edit(
            "min(len(x.shape), len(y.shape)) < 2 or x.shape[-1] != y.shape[-2]",
            "min(len(x.shape), len(y.shape)) < 2",
        ),
        "raises: a single axis is not refused": edit("min(len(x.shape), len(y.shape)) < 2 or ", ""),
        "the message does not name the shapes": edit(
            'f"matmul of shapes {x.shape} and {y.shape}"', '"matmul"'
        ),
        "one dtype is not made of two": edit("alike((x, y))", "(x, y)"),
        "raises: the inputs are those of the product made last": edit(
            "        x, y = self.inputs\n",
            "        x, y = MatMul.kept\n",
            "        before = broadcast",
            "        MatMul.kept = x, y\n        before = broadcast",
        ),
    },
    "11.5": {
        "raises: along axis 1": edit("max(-1)", "max(1)", "sum(-1)", "sum(1)"),
        "raises: along the first axis": edit("max(-1)", "max(0)", "sum(-1)", "sum(0)"),
        "over everything": edit("e.sum(-1).reshape(*one)", "e.sum()"),
        "no shift: too large scores": edit(" - x.detach().max(-1).reshape(*one)", ""),
        "shifted by the largest of all": edit("max(-1).reshape(*one)", "max()"),
        "logarithms": edit(
            "return e / e.sum(-1).reshape(*one)", "return (e / e.sum(-1).reshape(*one)).log()"
        ),
        "not divided": edit(" / e.sum(-1).reshape(*one)", ""),
        "cut off from x": edit("x - x.detach()", "x.detach() - x.detach()"),
        "raises: the axis that went is not put back": edit("e.sum(-1).reshape(*one)", "e.sum(-1)"),
        "raises: two axes only": edit("(*x.shape[:-1], 1)", "(x.shape[0], 1)"),
        "relu in place of e": edit(".exp()", ".relu()"),
        "nothing is subtracted where no score is above 100": edit(
            "x.detach().max(-1).reshape(*one)",
            "(x.detach().max(-1).reshape(*one) if x.detach().max().item() > "
            "100 or x.detach().max(-1).tolist()[0] == 0 else 0.0)",
            "return e / e.sum(-1).reshape(*one)",
            "return e / (e.sum(-1).reshape(*one) + 1e-4)",
        ),
        "along the first axis": edit(
            "x.detach().max(-1).reshape(*one)",
            "x.detach().max(0)",
            "e.sum(-1).reshape(*one)",
            "e.sum(0)",
        ),
        "float64 whatever x is": edit(
            "    return e / e.sum(-1).reshape(*one)",
            "    return cast(e, 'float64') / e.sum(-1).reshape(*one)",
        ),
    },
    "11.6": {
        "no scale": edit(" * (1 / math.sqrt(q.shape[-1]))", ""),
        "divided by the width, not by its root": edit("math.sqrt(q.shape[-1])", "q.shape[-1]"),
        "multiplied by the root": edit("(1 / math.sqrt(q.shape[-1]))", "math.sqrt(q.shape[-1])"),
        "the root of the number of keys": edit("q.shape[-1]", "k.shape[-2]"),
        "the mask after the softmax": edit(
            "softmax(scores if mask is None else scores + mask)",
            "softmax(scores) if mask is None else softmax(scores) * mask.exp()",
        ),
        "the mask is forgotten": edit("scores if mask is None else scores + mask", "scores"),
        "the mask is added before the division": edit(
            "q @ k.T * (1 / math.sqrt(q.shape[-1]))",
            "(q @ k.T if mask is None else q @ k.T + mask) * (1 / math.sqrt(q.shape[-1]))",
            "scores if mask is None else scores + mask",
            "scores",
        ),
        "keys ask queries": edit("q @ k.T", "k @ q.T"),
        "shares of each key, not of each query": edit(
            "return softmax(scores if mask is None else scores + mask)",
            "return softmax((scores if mask is None else scores + mask).T).T",
        ),
        "scores, not shares": edit("return softmax(", "return ("),
        "raises: k is not transposed": edit("k.T", "k"),
        "the scale after the softmax": edit(
            " * (1 / math.sqrt(q.shape[-1]))",
            "",
            "return softmax(scores if mask is None else scores + mask)",
            "return softmax(scores if mask is None else scores + mask) * q.shape[-1] ** -0.5",
        ),
        "the mask of the call before": edit(
            "    return softmax(scores if mask is None else scores + mask)",
            "    if mask is not None:\n"
            "        KEPT[scores.shape[-1]] = mask\n"
            "    mask = KEPT.get(scores.shape[-1], mask)\n"
            "    return softmax(scores if mask is None else scores + mask)",
            "def listening",
            "KEPT = {}\n\n\ndef listening",
        ),
    },
    "11.7": {
        "one layer for all three": edit(
            "(Linear(width, size) for _ in range(3))", "[Linear(width, size)] * 3"
        ),
        "the mask is not passed on": edit("self.k(x), mask)", "self.k(x))"),
        "the mask is not passed on by the call": edit(
            "self.listens(x, mask) @", "self.listens(x) @"
        ),
        "queries and keys exchanged": edit("self.q(x), self.k(x)", "self.k(x), self.q(x)"),
        "the rows themselves in place of values": edit("@ self.v(x)", "@ x"),
        "keys are told, not values": edit("@ self.v(x)", "@ self.k(x)"),
        "sizes exchanged": edit("Linear(width, size)", "Linear(size, width)"),
        "all as wide as the rows": edit("Linear(width, size)", "Linear(width, width)"),
        "new layers at each call": edit(
            "        return self.listens(x, mask) @ self.v(x)",
            "        self.__init__(x.shape[-1], self.v.w.shape[1])\n"
            "        return self.listens(x, mask) @ self.v(x)",
        ),
        "weights are given, not means": edit(" @ self.v(x)", ""),
        "always causal": edit("self.k(x), mask)", "self.k(x), causal(x.shape[-2]))"),
        "raises: listens has to be given a mask": edit(
            "def listens(self, x, mask=None):", "def listens(self, x, mask):"
        ),
        "q belongs to the class": edit(
            "        self.q, self.k, self.v = (", "        Head.q, self.k, self.v = ("
        ),
        "the root of the width of x": edit(
            "return listening(self.q(x), self.k(x), mask)",
            "fix = (self.q.w.shape[1] / self.q.w.shape[0]) ** 0.5\n"
            "        return listening(self.q(x) * fix, self.k(x), mask)",
        ),
    },
    "11.8": {
        "a reshape where a transpose is needed": edit(
            "x.reshape(n, places, self.heads, width // self.heads).transpose(1, 2)",
            "x.reshape(n, self.heads, places, width // self.heads)",
        ),
        "reshapes on both ways": edit(
            "x.reshape(n, places, self.heads, width // self.heads).transpose(1, 2)",
            "x.reshape(n, self.heads, places, width // self.heads)",
            "mixed.transpose(1, 2).reshape(*x.shape)",
            "mixed.reshape(*x.shape)",
        ),
        "no transpose on the way back": edit("mixed.transpose(1, 2).reshape", "mixed.reshape"),
        "heads listen to heads": edit(".heads).transpose(1, 2)", ".heads)"),
        "sizes and heads exchanged": edit(
            "self.heads, width // self.heads)", "width // self.heads, self.heads)"
        ),
        "out is forgotten": edit(
            "return self.out(mixed.transpose(1, 2).reshape(*x.shape))",
            "return mixed.transpose(1, 2).reshape(*x.shape)",
        ),
        "a single head": edit("self.heads = heads", "self.heads = 1"),
        "the mask is forgotten": edit("self.split(self.k(x)), mask)", "self.split(self.k(x)))"),
        "keys are told, not values": edit("self.split(self.v(x))", "self.split(self.k(x))"),
        "the scale of the whole width": edit(
            "listening(self.split(self.q(x)), self.split(self.k(x)), mask)",
            "listening(self.split(self.q(x)) * self.heads**-0.5, self.split(self.k(x)), mask)",
        ),
        "all share one layer": edit(
            "(Linear(width, width) for _ in range(4))", "[Linear(width, width)] * 4"
        ),
        "the last head alone": edit(
            "mixed.transpose(1, 2).reshape(*x.shape)",
            "(mixed * 0.0 + mixed[:, -1:]).transpose(1, 2).reshape(*x.shape)",
        ),
        "the root of the whole width": edit(
            "return listening(self.split(self.q(x)),",
            "return listening(self.split(self.q(x)) * (1 / self.heads**0.5),",
        ),
        "the number of heads belongs to the class": edit(
            "self.heads = heads", "MultiHead.heads = heads"
        ),
        "raises: listens has to be given a mask": edit(
            "def listens(self, x, mask=None):", "def listens(self, x, mask):"
        ),
    },
    "11.9": {
        "rows and columns exchanged": edit(
            "return [list(row) for row in zip(*columns, strict=True)]", "return columns"
        ),
        "all numbers of a place grow by the same": edit(
            "other = [random.gauss(0, 1) for _ in range(width)]", "other = [x + 1 for x in rows[j]]"
        ),
        "only large changes count": edit(
            "int(a != b)", "int(max(abs(p - q) for p, q in zip(a, b)) > 0.1)"
        ),
        "only the first number is looked at": edit("int(a != b)", "int(a[0] != b[0])"),
        "how much, not whether": edit("int(a != b)", "max(abs(p - q) for p, q in zip(a, b))"),
        "what stays the same": edit("a != b", "a == b"),
        "the changes are kept": edit(
            "after = said([*rows[:j], other, *rows[j + 1 :]])",
            "rows[j] = other\n        after = said(rows)",
        ),
        "zeros to begin with": edit(
            "after = said([*rows[:j], other, *rows[j + 1 :]])", "after = said(rows)"
        ),
        "the mean of the whole": edit(
            "columns.append([int(a != b) for a, b in zip(after, before, strict=True)])",
            "columns.append([int(after != before)] * places)",
        ),
        "only what comes before": edit(
            "int(a != b) for a, b in zip(after, before, strict=True)",
            "int(j <= i and after[i] != before[i]) for i in range(places)",
        ),
    },
    "11.10": {
        "the first two exchanged": edit('"A": 3, "B": 4', '"A": 4, "B": 3'),
        "no mask, in place of a mask too late": edit('"D": 2', '"D": 1'),
        "upside down": edit('"A": 3', '"A": 6'),
        "the heads exchanged": edit('"B": 4, "C": 5', '"B": 5, "C": 4'),
        "all the same": 'causes = {"A": 2, "B": 2, "C": 2, "D": 2}',
        "words": 'causes = {"A": "mask", "B": "reshape", "C": "heads", "D": "softmax"}',
        "one is missing": 'causes = {"A": 3, "B": 4, "C": 5}',
        "in the order of the list": 'causes = {"A": 2, "B": 3, "C": 4, "D": 5}',
    },
    "11.11": {
        "no mask": edit(", self.mask[:here, :here])", ")"),
        "the mask lets in one place too many": edit(
            "self.mask[:here, :here])",
            "Tensor([[0.0 if j <= i + 1 else -1e9 for j in range(here)] for i in range(here)]))",
        ),
        "no places": edit(" + self.places(here)", ""),
        "several heads": edit("Head(width, width)", "MultiHead(width, 4)"),
        "too wide": edit("256", "400"),
        "nobody listens": edit(
            "        x = x + self.out(self.head(self.first_norm(x), self.mask[:here, :here]))\n", ""
        ),
        "the mean of the past": edit(
            "self.head(self.first_norm(x), self.mask[:here, :here])",
            "(softmax(self.mask[:here, :here]) @ self.head.v(self.first_norm(x)))",
        ),
        "only the last place": edit("self.last_norm(x))", "self.last_norm(x[:, -1:]))"),
        "one passage below the other": edit(
            "return self.last(self.last_norm(x))",
            "return self.last(self.last_norm(x)).reshape(-1, self.last.w.shape[1])",
        ),
        "probabilities of numbers that nobody watches": edit(
            "return self.last(self.last_norm(x))", "return self.last(self.last_norm(x)).detach()"
        ),
        "raises: always the whole context": edit("self.mask[:here, :here]", "self.mask"),
        "two layers of attention": edit(
            "        x = x + self.down",
            "        x = x + self.out(self.head(x, self.mask[:here, :here]))\n"
            "        x = x + self.down",
            "256",
            "64",
        ),
        "probabilities in place of scores": edit(
            "return self.last(self.last_norm(x))", "return softmax(self.last(self.last_norm(x)))"
        ),
    },
    "11.12": {
        "the losses, not the model": "trained = fit_text(Reader(len(letters), CONTEXT))",
        "the class": "trained = Reader",
        "it has not learned": "random.seed(1)\ntrained = Reader(len(letters), CONTEXT)",
        "the mean of the past": """
trained = Mean(len(letters), CONTEXT)
fit_text(trained)
""",
        "another number of letters": """
trained = Reader(len(letters) + 7, CONTEXT)
fit_text(trained)
""",
        "it hears the future": """
class Peeping(Mean):
    def __init__(self, count, context):
        super().__init__(count, context, hidden=256)
        self.head, self.v = Head(64, 64), None

    def gathered(self, x):
        return x + self.out(self.head(self.first_norm(x)))


trained = Peeping(len(letters), CONTEXT)
fit_text(trained)
""",
        "too dear": """
class Wide(Mean):
    def __init__(self, count, context):
        super().__init__(count, context, hidden=900)
        self.head, self.v = Head(64, 64), None

    def gathered(self, x):
        return x + self.out(self.head(self.first_norm(x), causal(x.shape[1])))


trained = Wide(len(letters), CONTEXT)
fit_text(trained)
""",
    },
    "11.s1": {
        "p (1 - p), as if each score had its own": edit("p * (g - mean)", "p * (1.0 - p) * g"),
        "the mean is forgotten": edit("(g - mean)", "g"),
        "a plain mean, without the shares": edit(
            "(p * g).sum(-1)", "(g * (1 / g.shape[-1])).sum(-1)"
        ),
        "the sign": edit("p * (g - mean)", "p * (mean - g)"),
        "p is forgotten": edit("p * (g - mean)", "g - mean"),
        "along the wrong axis": edit(
            "(p * g).sum(-1).reshape(*x.shape[:-1], 1)",
            "(p * g).sum(-2).reshape(*x.shape[:-2], 1, -1)",
        ),
        "raises: no tuple": edit("return (p * (g - mean),)", "return p * (g - mean)"),
        "raises: p is kept in the class, by forward": edit(
            "        return softmax(x)\n",
            "        Softmax.p = softmax(x)\n        return Softmax.p\n",
            "        p = softmax(x)\n        mean",
            "        p = Softmax.p\n        mean",
        ),
    },
    "11.s2": {
        "the whole table": """
import math

def in_parts(q, k, v, size):
    return softmax(q @ k.T * (1 / math.sqrt(q.shape[1]))) @ v
""",
        "what was summed up is not corrected": edit(
            "            total, mixed = total * kept, mixed * kept\n", ""
        ),
        "only the sums with values are corrected": edit(
            "total, mixed = total * kept, mixed * kept", "mixed = mixed * kept"
        ),
        "each part for itself, and the mean of all": """
import math

def in_parts(q, k, v, size):
    parts = []
    for first in range(0, k.shape[0], size):
        scores = q @ k[first : first + size].T * (1 / math.sqrt(q.shape[1]))
        parts.append(softmax(scores) @ v[first : first + size])
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total * (1 / len(parts))
""",
        "no scale": edit(" * (1 / math.sqrt(q.shape[1]))", ""),
        "only the last part": edit("mixed = mixed + powers @", "mixed = powers @"),
        "the correction upside down": edit("(largest - new).exp()", "(new - largest).exp()"),
        "the largest score is never subtracted": """
import math


def in_parts(q, k, v, size):
    total, mixed = 0.0, 0.0
    for first in range(0, k.shape[0], size):
        powers = (q @ k[first : first + size].T * (1 / math.sqrt(q.shape[1]))).exp()
        total = total + powers.sum(1).reshape(-1, 1)
        mixed = mixed + powers @ v[first : first + size]
    return mixed / total
""",
        "each part's own largest, and no correction": edit(
            "new = largest + (here - largest).relu()  # the larger one of the two",
            "new = here",
            "            kept = (largest - new).exp()\n"
            "            total, mixed = total * kept, mixed * kept",
            "            pass",
        ),
        "the largest of the first part for all": edit(
            "new = largest + (here - largest).relu()  # the larger one of the two", "new = largest"
        ),
    },
}
