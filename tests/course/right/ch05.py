"""Right answers to the exercises of chapter 5, written otherwise than ours."""

RIGHT = {
    "05.1": {
        "whole numbers, and tuples": """
by_hand = (
    {"c": 1, "ab": 1, "b": -1.5, "a": -4},
    {"a": 0, "b": 0, "ab": 0, "c": 0},
)
""",
    },
    "05.2": {
        "b before a": 'order = ["y", "w", "v", "u", "b", "a"]',
        "a tuple": 'order = ("y", "w", "v", "u", "a", "b")',
    },
    "05.3": {
        "a square of a square": """
def breaks(a):
    b = a * a
    return b * b
""",
        "a result used by another and at the end": """
def breaks(a):
    b = a * 3
    c = b * b
    return c + b
""",
        "a loop": """
def breaks(a):
    for _ in range(4):
        a = a + a
    return a
""",
        "with a constant, and relu": """
def breaks(a):
    b = (a * a + 2).relu()
    return b * 5 + b
""",
    },
    "05.4": {
        "without build, and recursion": """
def walk_back(root):
    topo, visited = [], set()

    def build(t):
        if id(t) in visited:
            return
        visited.add(id(t))
        if t.op:
            for x in t.op.inputs:
                build(x)
            topo.append(t)

    build(root)
    root.grad = root * 0 + 1
    for t in topo[::-1]:
        for x, g in zip(t.op.inputs, t.op.backward(t.grad)):
            x.grad = g if x.grad is None else x.grad + g
""",
    },
    "05.5": {
        "counting who still waits": """
def topological(root):
    readers, waiting, seen = {}, [root], {id(root)}
    while waiting:
        t = waiting.pop()
        for x in inputs_of(t):
            readers[id(x)] = readers.get(id(x), 0) + 1
            if id(x) not in seen:
                seen.add(id(x))
                waiting.append(x)
    order, ready = [], [root]
    while ready:
        t = ready.pop()
        order.append(t)
        for x in inputs_of(t):
            readers[id(x)] -= 1
            if readers[id(x)] == 0:
                ready.append(x)
    return order


def inputs_of(t):
    return [x for x in t.op.inputs if x.requires_grad] if t.op else []
""",
        "iterators on a list": """
def topological(root):
    def behind(t):
        return iter([x for x in t.op.inputs if x.requires_grad] if t.op is not None else [])

    listed, seen, path = [], {root}, [(root, behind(root))]
    while path:
        t, rest = path[-1]
        for x in rest:
            if x not in seen:
                seen.add(x)
                path.append((x, behind(x)))
                break
        else:
            listed.append(t)
            path.pop()
    listed.reverse()
    return tuple(listed)
""",
    },
    "05.6": {
        "numbers written through fill": """
def gradcheck(f, *inputs, eps=1e-6):
    for t in inputs:
        t.grad = None
    f(*inputs).backward()
    errors = []
    for t in inputs:
        numbers, slopes = list(t.values()), list(t.grad.values())
        for i in range(len(numbers)):
            moved = list(numbers)
            moved[i] = numbers[i] + eps
            t.fill(moved)
            above = f(*inputs).item()
            moved[i] = numbers[i] - eps
            t.fill(moved)
            below = f(*inputs).item()
            t.fill(numbers)
            errors.append(abs(slopes[i] - (above - below) / 2 / eps))
    return max(errors)
""",
        "the gradients taken out first, and a check of its own": """
def gradcheck(f, *inputs, eps=1e-6):
    for t in inputs:
        t.grad = None
    f(*inputs).backward()
    grads = [t.grad for t in inputs]
    worst = 0.0
    for t, grad in zip(inputs, grads):
        for p, g in zip(t.positions(), grad.values()):
            kept = t.buf[p]
            values = []
            for step in (eps, -eps):
                t.buf[p] = kept + step
                values.append(f(*inputs).item())
            t.buf[p] = kept
            error = (values[0] - values[1]) / (2 * eps) - g
            if abs(error) > worst:
                worst = abs(error)
    return worst
""",
    },
    "05.7": {
        "a loop, and two questions": """
def record(op):
    out = run(op)
    if out.buf.dtype not in LIMITS:
        return out
    for x in op.inputs:
        if x.requires_grad:
            out.op = op
            out.requires_grad = True
            break
    return out
""",
        "forward called directly": """
def record(op):
    out = op.forward(*op.inputs)
    asked = True in [x.requires_grad for x in op.inputs] and "float" in out.buf.dtype
    if asked:
        out.op, out.requires_grad = op, asked
    return out
""",
    },
    "05.8": {
        "axis by axis": """
def fit(g, x):
    while len(g.shape) > len(x.shape):
        g = g.sum(0)
    for axis, size in enumerate(x.shape):
        if size == 1 and g.shape[axis] > 1:
            shape = list(g.shape)
            shape[axis] = 1
            g = g.sum(axis).reshape(*shape)
    return cast(g, x.buf.dtype)
""",
        "summed always, where the sizes differ": """
def fit(g, x):
    missing = len(g.shape) - len(x.shape)
    sizes = (1,) * missing + tuple(x.shape)
    stretched = tuple(a for a in range(len(sizes)) if sizes[a] != g.shape[a])
    new = tuple(range(missing))
    g = cast(g, x.buf.dtype)
    together = tuple(sorted(set(stretched + new)))
    return g.sum(together).reshape(*x.shape) if together else g
""",
        "one axis after the other": """
def fit(g, x):
    while len(g.shape) > len(x.shape):
        g = g.sum((0,))
    for axis, size in enumerate(x.shape):
        if size == 1 and g.shape[axis] != 1:
            kept = list(g.shape)
            kept[axis] = 1
            g = g.sum((axis,)).reshape(*kept)
    return cast(g, x.buf.dtype)
""",
    },
    "05.9": {
        "get": """
def collect(arrived, x, share):
    if not x.requires_grad:
        return
    share = fit(share, x)
    before = arrived.get(id(x))
    arrived[id(x)] = share if before is None else before + share
""",
        "the sum the other way round": """
def collect(arrived, x, share):
    if x.requires_grad:
        if id(x) not in arrived:
            arrived[id(x)] = fit(share, x)
        else:
            arrived[id(x)] = fit(share, x) + arrived[id(x)]
""",
        "a zero to begin with": """
def collect(arrived, x, share):
    if x.requires_grad:
        arrived.setdefault(id(x), zeros(x.shape, x.buf.dtype))
        arrived[id(x)] = arrived[id(x)] + fit(share, x)
""",
    },
    "05.10": {
        "a block for the switch, and steps of its own": """
from contextlib import contextmanager


class Engine:
    def __init__(self):
        self.recording = True

    def run(self, op):
        if self.recording:
            return record(op)
        return run(op)

    def order(self, root):
        return topological(root)

    @contextmanager
    def mode(self, recording):
        before = self.recording
        self.recording = recording
        try:
            yield
        finally:
            self.recording = before

    def keep(self, leaf, g):
        if leaf.grad is not None:
            g = leaf.grad + g
        leaf.grad = g

    def backward(self, root, create_graph=False):
        with self.mode(create_graph):
            if root.requires_grad is False or root.numel() > 1:
                raise ValueError("no")
            arrived = {}
            collect(arrived, root, zeros(root.shape, root.buf.dtype) + 1)
            for t in self.order(root):
                g = arrived[id(t)]
                if not t.op:
                    self.keep(t, g)
                else:
                    shares = t.op.backward(g)
                    for i in range(len(shares)):
                        collect(arrived, t.op.inputs[i], shares[i])
""",
    },
    "05.s1": {
        "operators one by one": """
import math


def dual(x):
    return x if isinstance(x, Dual) else Dual(x)


class Dual:
    def __init__(self, value, slope=0.0):
        self.value = value
        self.slope = slope

    def __neg__(self):
        return Dual(-self.value, -self.slope)

    def __add__(self, other):
        other = dual(other)
        return Dual(self.value + other.value, self.slope + other.slope)

    def __radd__(self, other):
        return dual(other) + self

    def __sub__(self, other):
        return self + -dual(other)

    def __rsub__(self, other):
        return dual(other) + -self

    def __mul__(self, other):
        other = dual(other)
        return Dual(
            self.value * other.value, self.value * other.slope + self.slope * other.value
        )

    def __rmul__(self, other):
        return self * other

    def relu(self):
        on = 1.0 if self.value > 0 else 0.0
        return Dual(self.value * on, self.slope * on)

    def exp(self):
        return Dual(math.exp(self.value), math.exp(self.value) * self.slope)
""",
    },
    "05.s2": {
        "from the leaf's side": """
def paths(root, leaf):
    ways = {}
    for t in reversed(topological(root)):
        if t is leaf:
            ways[id(t)] = 1
        else:
            ways[id(t)] = sum(ways.get(id(x), 0) for x in (t.op.inputs if t.op else ()))
    return ways[id(root)]
""",
        "by the engine, with every slope 1": """
from collections import Counter


def paths(root, leaf):
    arrived = Counter({root: 1})
    for t in topological(root):
        if t is not leaf and t.op is not None:
            for x in t.op.inputs:
                arrived[x] += arrived[t]
    return arrived[leaf]
""",
    },
}
