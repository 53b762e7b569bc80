"""Right answers to the exercises of chapter 11, written otherwise than ours."""

RIGHT = {
    "11.1": {
        "a Counter, and no table": """
from collections import Counter
from math import log

def pair_loss(train, test, count):
    pairs, firsts = Counter(zip(train, train[1:])), Counter(train[:-1])
    total = 0.0
    for a, b in zip(test, test[1:]):
        total -= log((pairs[a, b] + 1) / (firsts[a] + count))
    return total / (len(test) - 1)
""",
    },
    "11.2": {
        "an Op of its own, which adds up rows on the way back": """
import random

class Take(Op):
    def forward(self, w):
        return rows(w, self.params["ids"])

    def backward(self, g):
        (w,) = self.inputs
        return (one_hot(self.params["ids"], w.shape[0]).T @ g,)

class Embedding:
    def __init__(self, count, width):
        self.width = width
        self.w = Tensor(
            [[random.gauss(0, 1) / width**0.5 for _ in range(width)] for _ in range(count)],
            requires_grad=True,
        )

    def __call__(self, ids):
        if not isinstance(ids, list):
            ids = ids.tolist()
        flat, shape = flatten(ids)
        return Take(self.w, ids=flat).apply().reshape(*shape, self.width)
""",
        "list by list": """
import math
import random

class Embedding:
    def __init__(self, count, width):
        numbers = [random.gauss(0, width**-0.5) for _ in range(count * width)]
        self.w = Tensor(Buffer(numbers), (count, width), requires_grad=True)

    def __call__(self, ids):
        if hasattr(ids, "values"):
            shape, flat = ids.shape, list(ids.values())
        else:
            flat, shape = flatten(ids)
        hot = Tensor([[float(i == k) for k in range(self.w.shape[0])] for i in flat])
        return (hot @ self.w).reshape(*shape, -1)
""",
        "row by row into a table of ones and zeros": """
import random


class Embedding:
    def __init__(self, count, width):
        self.count, self.width = count, width
        rows = [[random.gauss(0, 1) / width**0.5 for _ in range(width)] for _ in range(count)]
        self.w = Tensor(rows, requires_grad=True)

    def __call__(self, ids):
        if hasattr(ids, "buf"):
            ids = ids.tolist()
        flat, shape = flatten(ids)
        table = Tensor([[1.0 if c == i else 0.0 for c in range(self.count)] for i in flat])
        return (table @ self.w).reshape(*shape, self.width)
""",
    },
    "11.3": {
        "one table at a time, by nested lists": """
def matmul(out, x, y):
    def of(a, b):
        if a and isinstance(a[0][0], list):
            return [number for p, q in zip(a, b) for number in of(p, q)]
        return [sum(p * q for p, q in zip(row, c)) for row in a for c in zip(*b)]

    out.fill(of(x.tolist(), y.tolist()))
""",
    },
    "11.4": {
        "the sizes first": """
class MatMul(Op):
    kernel = "matmul"

    def prepare(self, x, y):
        if len(x.shape) < 2 or len(y.shape) < 2:
            raise ValueError(f"two axes at least: {x.shape} and {y.shape}")
        m, k = x.shape[-2:]
        other, n = y.shape[-2:]
        if k != other:
            raise ValueError(f"{x.shape} and {y.shape} do not fit")
        lead = tuple(broadcast_shapes(x.shape[:-2], y.shape[:-2]))
        x, y = alike([x, y])
        return lead + (m, n), [expand(x, lead + (m, k)), expand(y, lead + (k, n))]

    def backward(self, g):
        x, y = self.inputs
        gx = gy = None
        if x.requires_grad:
            gx = fit(MatMul(g, y.T).apply(), x)
        if y.requires_grad:
            gy = fit(MatMul(x.T, g).apply(), y)
        return gx, gy
""",
    },
    "11.5": {
        "by way of log_softmax, as two axes": """
def softmax(x):
    return log_softmax(x.reshape(-1, x.shape[-1])).exp().reshape(*x.shape)
""",
        "the shift is not detached": """
def softmax(x):
    last = len(x.shape) - 1
    x = x - x.max(last).reshape(*x.shape[:-1], 1)
    powers = x.exp()
    return powers * powers.sum(last).reshape(*x.shape[:-1], 1) ** -1.0
""",
        "the axis put back by hand": """
def softmax(x):
    shape = list(x.shape)
    shape[-1] = 1
    top = x.detach().max(len(x.shape) - 1).reshape(*shape)
    powers = (x - top).exp()
    sums = powers.sum(len(x.shape) - 1).reshape(*shape)
    return powers / sums
""",
    },
    "11.6": {
        "queries are divided first": """
def listening(q, k, mask=None):
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores + mask
    return softmax(scores)
""",
        "half of the scale on either side": """
def listening(q, k, mask=None):
    half = k.shape[-1] ** -0.25
    scores = (q * half) @ (k * half).T
    if mask is None:
        return softmax(scores)
    return softmax(mask + scores)
""",
        "keys are divided first": """
def listening(q, k, mask=None):
    scale = q.shape[-1] ** -0.5
    scores = q @ (k * scale).transpose(-2, -1)
    if mask is not None:
        scores = mask + scores
    return softmax(scores)
""",
    },
    "11.7": {
        "by attention": """
class Head:
    def __init__(self, width, size):
        self.q = Linear(width, size)
        self.k = Linear(width, size)
        self.v = Linear(width, size)

    def listens(self, x, mask=None):
        return listening(q=self.q(x), k=self.k(x), mask=mask)

    def __call__(self, x, mask=None):
        return attention(self.q(x), self.k(x), self.v(x), mask)
""",
    },
    "11.8": {
        "a loop over heads, whose rows are put side by side by a product": """
class MultiHead:
    def __init__(self, width, heads):
        self.q, self.k = Linear(width, width), Linear(width, width)
        self.v, self.out = Linear(width, width), Linear(width, width)
        self.count = heads

    def columns(self, x):
        n, places, width = x.shape
        return x.reshape(n, places, self.count, -1).transpose(2, 1)

    def listens(self, x, mask=None):
        return listening(self.columns(self.q(x)), self.columns(self.k(x)), mask)

    def __call__(self, x, mask=None):
        n, places, width = x.shape
        q, k, v = (self.columns(layer(x)) for layer in (self.q, self.k, self.v))
        said = attention(q, k, v, mask)
        size, total = width // self.count, self.out.b
        for h in range(self.count):
            total = total + said[:, h] @ self.out.w[h * size : (h + 1) * size]
        return total
""",
        "heads split by a function, and a cache of shapes in the object": """
class MultiHead:
    def __init__(self, width, heads):
        self.q = Linear(width, width)
        self.k = Linear(width, width)
        self.v = Linear(width, width)
        self.out = Linear(width, width)
        self.heads, self.size = heads, width // heads

    def by_head(self, layer, x):
        n, places = x.shape[:2]
        return layer(x).reshape(n, places, self.heads, self.size).permute(0, 2, 1, 3)

    def listens(self, x, mask=None):
        return listening(self.by_head(self.q, x), self.by_head(self.k, x), mask)

    def __call__(self, x, mask=None):
        found = (self.listens(x, mask) @ self.by_head(self.v, x)).permute(0, 2, 1, 3)
        return self.out(found.reshape(x.shape[0], x.shape[1], self.heads * self.size))
""",
    },
    "11.9": {
        "bools, and the change is another one": """
import random

def hears(layer, places, width):
    begin = [[random.uniform(-1, 1) for _ in range(width)] for _ in range(places)]
    first = layer(Tensor([begin])).tolist()[0]
    table = [[False] * places for _ in range(places)]
    for j in range(places):
        rows = [list(row) for row in begin]
        rows[j] = [random.uniform(-1, 1) for _ in range(width)]
        said = layer(Tensor([rows])).tolist()[0]
        for i in range(places):
            table[i][j] = any(p != q for p, q in zip(said[i], first[i]))
    return table
""",
    },
    "11.10": {"in another order": 'causes = {"D": 2, "C": 5, "B": 4, "A": 3}'},
    "11.11": {
        "made out of Mean, with narrower queries": """
class Reader(Mean):
    def __init__(self, count, context):
        super().__init__(count, context, 64, 272)
        self.ask, self.show = Linear(64, 32), Linear(64, 32)

    def gathered(self, x):
        rows = self.first_norm(x)
        weights = listening(self.ask(rows), self.show(rows), causal(x.shape[1]))
        return x + self.out(weights @ self.v(rows))
""",
        "without norms or residual paths": """
class Reader(Module):
    def __init__(self, count, context):
        self.letters, self.places = Embedding(count, 32), Places(context, 32)
        self.head, self.mlp = Head(32, 48), MLP(80, 200, count)
        self.side = Linear(32, 80)
        self.wide = Linear(48, 80)

    def __call__(self, ids):
        x = self.letters(ids) + self.places(len(ids[0]))
        heard = self.head(x, causal(len(ids[0])))
        return self.mlp((self.wide(heard) + self.side(x)).relu())
""",
    },
    "11.12": {
        "a loop of its own": """
random.seed(2)
trained = Reader(len(letters), CONTEXT)
optimizer = AdamW(trained.parameters(), 0.004)
for step in range(STEPS):
    optimizer.lr = 0.004 * warmup(step, STEPS // 10 + 1, STEPS)
    starts = [random.randrange(len(train_ids) - CONTEXT) for _ in range(BATCH)]
    here, after = passages_of(train_ids, starts)
    surprise(trained(here), after).backward()
    optimizer.step()
""",
    },
    "11.s1": {
        "over two axes": """
class Softmax(Op):
    def forward(self, x):
        return softmax(x)

    def backward(self, g):
        p = softmax(self.inputs[0])
        both = p * g
        return (both - p * both.sum(-1).reshape(*p.shape[:-1], 1),)
""",
        "p is kept in the object": """
class Softmax(Op):
    def forward(self, x):
        self.p = softmax(x.detach())
        return self.p * 1.0

    def backward(self, g):
        weighted = self.p * g
        sums = weighted.sum(-1).reshape(*weighted.shape[:-1], 1)
        return [weighted - self.p * sums]
""",
    },
    "11.s2": {
        "the largest first, in a walk of its own": """
def in_parts(q, k, v, size):
    starts = range(0, k.shape[0], size)
    scale = q.shape[-1] ** -0.5
    tops = [(q @ k[s : s + size].T * scale).max(1).tolist() for s in starts]
    top = Tensor([[max(column)] for column in zip(*tops)], dtype=q.buf.dtype)
    above = below = 0.0
    for s in starts:
        powers = (q @ k[s : s + size].T * scale - top).exp()
        above = above + powers @ v[s : s + size]
        below = below + powers.sum(1).reshape(-1, 1)
    return above / below
""",
        "the scores go through twice: first the largest, then the sums": """
def in_parts(q, k, v, size):
    scale = q.shape[-1] ** -0.5
    begins = range(0, k.shape[0], size)
    tops = [[max(row) for row in (q @ k[at : at + size].T * scale).tolist()] for at in begins]
    top = Tensor([[max(column)] for column in zip(*tops)], dtype=q.buf.dtype)
    sums, mixed = 0.0, 0.0
    for at in begins:
        powers = (q @ k[at : at + size].T * scale - top).exp()
        sums = sums + powers.sum(-1).reshape(-1, 1)
        mixed = mixed + powers @ v[at : at + size]
    return mixed / sums
""",
    },
}
