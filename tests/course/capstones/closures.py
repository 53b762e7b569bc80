"""A library in another style than ours: rows of Python numbers, a closure for each derivative."""

import math
import random


class Tensor:
    def __init__(self, data, requires_grad=False, behind=()):
        flat = not isinstance(data, list)
        self.rows = [[data]] if flat else data if isinstance(data[0], list) else [data]
        self.shape = () if flat else (len(data), *([len(data[0])] if self.rows is data else []))
        self.behind, self.grad, self.undo = behind, None, lambda g: None

    def tolist(self):
        return (
            self.rows if len(self.shape) == 2 else self.rows[0] if self.shape else self.rows[0][0]
        )

    def at(self, i, j):
        return i % len(self.rows), j % len(self.rows[0])

    def get(self, i, j):
        i, j = self.at(i, j)
        return self.rows[i][j]

    def receive(self, i, j, share):
        i, j = self.at(i, j)
        if self.grad is None:
            self.grad = made([[0.0] * len(row) for row in self.rows], self.shape)
        self.grad.rows[i][j] += share

    def pairs(self, other, f, slopes):
        other = other if isinstance(other, Tensor) else Tensor(float(other))
        m, n = (max(len(x), len(y)) for x, y in
                ((self.rows, other.rows), (self.rows[0], other.rows[0])))  # fmt: skip
        rows = [[f(self.get(i, j), other.get(i, j)) for j in range(n)] for i in range(m)]
        out = made(rows, max(self.shape, other.shape, key=len), (self, other))

        def undo(g):
            for i in range(m):
                for j in range(n):
                    shares = slopes(self.get(i, j), other.get(i, j))
                    for t, slope in zip((self, other), shares, strict=True):
                        t.receive(i, j, g.rows[i][j] * slope)

        out.undo = undo
        return out

    def __add__(self, other):
        return self.pairs(other, lambda x, y: x + y, lambda x, y: (1, 1))

    def __mul__(self, other):
        return self.pairs(other, lambda x, y: x * y, lambda x, y: (y, x))

    def relu(self):
        return self.pairs(0, lambda x, _: max(x, 0.0), lambda x, _: (float(x > 0), 0))

    def exp(self):
        return self.pairs(0, lambda x, _: math.exp(x), lambda x, _: (math.exp(x), 0))

    def log(self):
        return self.pairs(0, lambda x, _: math.log(x), lambda x, _: (1 / x, 0))

    def sum(self):
        out = made([[math.fsum(x for row in self.rows for x in row)]], (), (self,))

        def undo(g):
            for i, row in enumerate(self.rows):
                for j in range(len(row)):
                    self.receive(i, j, g.rows[0][0])

        out.undo = undo
        return out

    def __matmul__(self, other):
        columns = list(zip(*other.rows, strict=True))
        rows = [[sum(map(float.__mul__, row, c)) for c in columns] for row in self.rows]
        out = made(rows, (len(rows), len(columns)), (self, other))

        def undo(g):
            for i, row in enumerate(self.rows):
                for k, x in enumerate(row):
                    if x or len(row) < 100:  # most pixels are 0, and pixels need no gradient
                        w = other.rows[k]
                        self.receive(i, k, sum(map(float.__mul__, g.rows[i], w)))
                        for j, share in enumerate(g.rows[i]):
                            other.receive(k, j, x * share)

        out.undo = undo
        return out

    def backward(self):
        order = []

        def visit(t):
            if t not in order:
                for before in t.behind:
                    visit(before)
                order.append(t)

        visit(self)
        self.receive(0, 0, 1.0)
        for t in reversed(order):
            if t.grad is not None:
                t.undo(t.grad)


def made(rows, shape, behind=()):
    out = Tensor(rows, behind=behind)
    out.shape = tuple(shape)
    return out


def learn(images, labels):
    def batch(images, chosen):
        return Tensor([[p / 255 for p in images[784 * i : 784 * i + 784]] for i in chosen])

    def read(images):
        rows = (batch(images, range(len(images) // 784)) @ w + b).rows
        return [row.index(max(row)) for row in rows]

    w = Tensor([[random.uniform(-0.01, 0.01) for _ in range(10)] for _ in range(784)])
    b = Tensor([0.0] * 10)
    for start in range(0, len(labels), 20):
        chosen = range(start, min(start + 20, len(labels)))
        scores = batch(images, chosen) @ w + b
        for row, i in zip(scores.rows, chosen, strict=True):
            powers = [math.exp(s - max(row)) for s in row]
            row[:] = [p / sum(powers) - (c == labels[i]) for c, p in enumerate(powers)]
        w.grad = b.grad = None
        (scores * made(scores.rows, scores.shape)).sum().backward()
        for p in (w, b):
            for row, slopes in zip(p.rows, p.grad.rows, strict=True):
                row[:] = [x - 0.02 * g for x, g in zip(row, slopes, strict=True)]
    return read
