"""Right answers to the exercises of chapter 3, written otherwise than ours."""

RIGHT = {
    "03.1": {
        "by loops": """
def full_key(key, ndim):
    if not isinstance(key, tuple):
        key = (key,)
    dots = 0
    used = 0
    for k in key:
        if k is ...:
            dots += 1
        elif k is not None:
            used += 1
    if dots > 1:
        raise IndexError("an index can only have one ...")
    if used > ndim:
        raise IndexError("too many")
    out = []
    for k in key:
        if k is ...:
            for _ in range(ndim - used):
                out.append(slice(None, None, None))
        else:
            out.append(k)
    if dots == 0:
        for _ in range(ndim - used):
            out.append(slice(None))
    return tuple(out)
""",
    },
    "03.6": {
        "with the arithmetic of slices by hand": """
def select(t, key):
    shape = []
    strides = []
    offset = t.offset
    axis = 0
    for k in full_key(key, len(t.shape)):
        if k is None:
            shape.append(1)
            strides.append(99)
        elif isinstance(k, int):
            if k >= t.shape[axis] or k < -t.shape[axis]:
                raise IndexError(f"Axis {axis} has only {t.shape[axis]} elements, not {k}")
            if k < 0:
                k += t.shape[axis]
            offset += t.strides[axis] * k
            axis += 1
        else:
            start, stop, step = k.indices(t.shape[axis])
            n = len(range(start, stop, step))
            shape.append(n)
            strides.append(t.strides[axis] * step)
            if n > 0:
                offset += start * t.strides[axis]
            axis += 1
    return Tensor(t.buf, tuple(shape), tuple(strides), offset)
""",
        "with axes numbered beforehand": """
def select(t, key):
    key = full_key(key, len(t.shape))
    places = iter(range(len(t.shape)))
    axes = [None if k is None else next(places) for k in key]
    offset = t.offset
    shape, strides = [], []
    for a, k in zip(axes, key):
        if a is None:
            shape, strides = [*shape, 1], [*strides, 0]
            continue
        n, s = t.shape[a], t.strides[a]
        if type(k) is slice:
            n, s, moved = sliced(n, s, k)
            shape.append(n); strides.append(s); offset = offset + moved
            continue
        if not -n <= k < n:
            raise IndexError(f"index {k} is out of bounds for axis {a} with size {n}")
        offset += (k + n if k < 0 else k) * s
    return t.over(tuple(shape), tuple(strides), offset)
""",
    },
    "03.3": {
        "filled up with 1, and other words": """
def mismatch(a, b):
    n = max(len(a), len(b))
    pa = (1,) * (n - len(a)) + tuple(a)
    pb = (1,) * (n - len(b)) + tuple(b)
    for axis in range(-1, -n - 1, -1):
        if pa[axis] != pb[axis] and pa[axis] != 1 and pb[axis] != 1:
            where = f"Axis {axis}, sizes {pa[axis]} and {pb[axis]}"
            return f"{a}, {b}: {where}. They have to be equal, or one must be 1."
""",
    },
    "03.2": {
        "filled up with 1": """
def broadcast_shapes(a, b):
    n = max(len(a), len(b))
    a = (1,) * (n - len(a)) + tuple(a)
    b = (1,) * (n - len(b)) + tuple(b)
    out = []
    for m, k in zip(a, b):
        if m == k:
            out.append(m)
        elif m == 1:
            out.append(k)
        elif k == 1:
            out.append(m)
        else:
            raise ValueError(mismatch(a, b))
    return tuple(out)
""",
    },
    "03.7": {
        "axis by axis": """
def expand(t, shape):
    new = len(shape) - len(t.shape)
    if new < 0:
        raise ValueError("fewer axes")
    strides = [0] * new
    for have, want, stride in zip(t.shape, shape[new:], t.strides):
        if have == want:
            strides.append(stride)
        elif have == 1:
            strides.append(0)
        else:
            raise ValueError(f"{t.shape} does not stretch to {shape}")
    return Tensor(t.buf, shape, strides, t.offset)
""",
        "axis by axis from the right, with a new Tensor": """
def expand(t, shape):
    strides, behind = [], list(zip(t.shape, t.strides))
    for size in reversed(shape):
        own, stride = behind.pop() if behind else (1, 0)
        if own != size and own != 1:
            raise ValueError(f"{t.shape} does not stretch to {tuple(shape)}")
        strides.append(stride if own == size else 0)
    if behind:
        raise ValueError(f"{t.shape} has more axes than {tuple(shape)}")
    return Tensor(t.buf, tuple(shape), tuple(strides[::-1]), t.offset)
""",
    },
    "03.4": {
        "sums in a list first": """
def reduce_to(g, shape):
    sums = {}
    new = len(g.shape) - len(shape)
    out = zeros(shape, g.buf.dtype)
    numbers = list(g.values())
    index = [0] * len(g.shape)
    where = expand(out, g.shape).positions()
    total = [0] * out.numel()
    for p, x in zip(where, numbers):
        total[p] += x
    return Tensor(Buffer(total, g.buf.dtype), shape)
""",
        "index by index": """
import itertools

def reduce_to(g, shape):
    out = zeros(shape, g.buf.dtype)
    new = len(g.shape) - len(shape)
    for index in itertools.product(*[range(n) for n in g.shape]):
        p = sum(i * s for i, s, n in zip(index[new:], out.strides, shape) if n != 1)
        q = g.offset + sum(i * s for i, s in zip(index, g.strides))
        out.buf[p] = out.buf[p] + g.buf[q]
    return out
""",
        "axis by axis, the long way": """
import math

def reduce_to(g, shape):
    while len(g.shape) > len(shape):
        g = _sum_axis(g, 0, False)
    for axis, n in enumerate(shape):
        if n == 1 and g.shape[axis] != 1:
            g = _sum_axis(g, axis, True)
    return Tensor(Buffer(list(g.values()), g.buf.dtype), shape)

def _sum_axis(g, axis, keep):
    total = None
    key = [slice(None)] * len(g.shape)
    rest = [n for a, n in enumerate(g.shape) if a != axis]
    numbers = [0] * math.prod(rest)
    for i in range(g.shape[axis]):
        key[axis] = i
        part = select(g, tuple(key))
        numbers = [x + y for x, y in zip(numbers, part.values())]
    t = Tensor(Buffer(numbers, g.buf.dtype), rest)
    if not keep:
        return t
    shape, strides = [*rest[:axis], 1, *rest[axis:]], [*t.strides[:axis], 0, *t.strides[axis:]]
    return t.over(shape, strides, 0)
""",
        "sums over axes of nested lists": """
def reduce_to(g, shape):
    sums = {}
    gone = len(g.shape) - len(shape)
    for number, value in enumerate(g.values()):
        index, rest = [], number
        for size in reversed(g.shape):
            rest, i = divmod(rest, size)
            index.insert(0, i)
        key = tuple(0 if n == 1 else i for i, n in zip(index[gone:], shape))
        sums[key] = sums.get(key, 0) + value
    out = zeros(shape, g.buf.dtype)
    for place in range(out.numel()):
        index, rest = [], place
        for size in reversed(shape):
            rest, i = divmod(rest, size)
            index.insert(0, i)
        out.buf[place] = sums.get(tuple(index), 0)
    return out
""",
    },
    "03.5": {
        "negative ints made positive first": """
def element(t, *index):
    if len(index) > len(t.shape) or len(index) < len(t.shape):
        raise IndexError("wrong number of indices")
    position = t.offset
    for axis in range(len(index)):
        i, size = index[axis], t.shape[axis]
        if i < 0:
            i = i + size
        if i < 0 or i >= size:
            raise IndexError(f"axis {axis} is {size} long, there is no {index[axis]}")
        position = position + i * t.strides[axis]
    return t.buf[position]
""",
    },
    "03.s1": {
        "by the constructor": """
def windows(t, size):
    n = t.shape[-1]
    if size < 1 or size > n:
        raise ValueError("no")
    shape = list(t.shape[:-1]) + [n - size + 1, size]
    return Tensor(t.buf, shape, list(t.strides) + [t.strides[-1]], t.offset)
""",
    },
    "03.s2": {
        "a list of numbers first": """
def assign(t, key, value):
    target = select(t, key)
    if any(n > 1 and s == 0 for n, s in zip(target.shape, target.strides)):
        raise ValueError("stretched")
    if not isinstance(value, (int, float)):
        new = [x for x in expand(value, target.shape).values()]
    else:
        new = [value] * target.numel()
    for p, x in zip(target.positions(), new):
        t.buf[p] = x
""",
    },
}
