"""Answers to chapter 3 that are wrong in ways in which people are."""

WRONG = {
    "03.1": {
        "`...` is one slice, however many axes it stands for": """
def named(key, ndim):
    key = key if isinstance(key, tuple) else (key,)
    key = tuple(slice(None) if k is ... else k for k in key)
    missing = ndim - sum(k is not None for k in key)
    if missing < 0:
        raise IndexError("too many")
    return (*key, *[slice(None)] * missing)
""",
        "None is counted as an axis": """
def named(key, ndim):
    key = key if isinstance(key, tuple) else (key,)
    missing = ndim - sum(k is not ... for k in key)
    if missing < 0 or key.count(...) > 1:
        raise IndexError("too many")
    key = key if ... in key else (*key, ...)
    at = key.index(...)
    return (*key[:at], *[slice(None)] * missing, *key[at + 1 :])
""",
        "too many indices are let through": """
def named(key, ndim):
    key = key if isinstance(key, tuple) else (key,)
    missing = ndim - sum(k is not None and k is not ... for k in key)
    key = key if ... in key else (*key, ...)
    at = key.index(...)
    return (*key[:at], *[slice(None)] * missing, *key[at + 1 :])
""",
    },
    "03.2": {
        "raises: aligned at the left": """
from itertools import zip_longest

def stretched_shape(a, b):
    pairs = list(zip_longest(a, b, fillvalue=1))
    if any(m != n and 1 not in (m, n) for m, n in pairs):
        raise ValueError(f"{a} and {b}")
    return tuple(n if m == 1 else m for m, n in pairs)
""",
        "the larger size is taken, so that 0 beside 1 becomes 1": """
from itertools import zip_longest

def stretched_shape(a, b):
    pairs = list(zip_longest(a[::-1], b[::-1], fillvalue=1))[::-1]
    if any(m != n and 1 not in (m, n) for m, n in pairs):
        raise ValueError(f"{a} and {b}")
    return tuple(max(m, n) for m, n in pairs)
""",
        "nothing is refused": """
from itertools import zip_longest

def stretched_shape(a, b):
    pairs = list(zip_longest(a[::-1], b[::-1], fillvalue=1))[::-1]
    return tuple(n if m == 1 else m for m, n in pairs)
""",
    },
    "03.3": {
        "the axis is counted from the left": """
from itertools import zip_longest

def mismatch(a, b):
    pairs = list(zip_longest(a[::-1], b[::-1], fillvalue=1))[::-1]
    for axis, (m, n) in enumerate(pairs):
        if m != n and 1 not in (m, n):
            return f"{a} and {b}: axis {axis} has sizes {m} and {n}, they must be equal or 1"
""",
        "raises, where a message is asked for": """
from itertools import zip_longest

def mismatch(a, b):
    for i, (m, n) in enumerate(zip_longest(a[::-1], b[::-1], fillvalue=1), 1):
        if m != n and 1 not in (m, n):
            raise ValueError(f"{a} and {b}: axis -{i} has sizes {m} and {n}, equal or 1")
""",
        "it does not say what to do": """
from itertools import zip_longest

def mismatch(a, b):
    for i, (m, n) in enumerate(zip_longest(a[::-1], b[::-1], fillvalue=1), 1):
        if m != n and 1 not in (m, n):
            return f"cannot broadcast {a} with {b}: axis -{i} has sizes {m} and {n}"
""",
    },
    "03.4": {
        "a copy is taken for the sum of the copies": """
def reduce_to(g, shape):
    out = zeros(shape, g.buf.dtype)
    for p, x in zip(expand(out, g.shape).positions(), g.values()):
        out.buf[p] = x
    return out
""",
        "only new axes are undone, not those of size 1": """
def reduce_to(g, shape):
    n = math.prod(g.shape[len(g.shape) - len(shape):])
    numbers = g.values()
    sums = [sum(numbers[i::n]) for i in range(n)]
    return Tensor(Buffer(sums, g.buf.dtype), g.shape[len(g.shape) - len(shape):])
""",
        "the strides of g are not asked": """
def reduce_to(g, shape):
    out = zeros(shape, g.buf.dtype)
    numbers = g.buf.read(0, len(g.buf))
    for p, x in zip(expand(out, g.shape).positions(), numbers):
        out.buf[p] += x
    return out
""",
    },
    "03.5": {
        "negative ints are allowed, however far they reach": """
def element(t, *index):
    if len(index) != len(t.shape):
        raise IndexError(f"{len(index)} indices for {len(t.shape)} axes")
    position = t.offset
    for axis, (i, n, s) in enumerate(zip(index, t.shape, t.strides)):
        if i >= n:
            raise IndexError(f"index {i} on axis {axis}, which has size {n}")
        position += i % n * s
    return t.buf[position]
""",
        "a negative int steps back from the first": """
def element(t, *index):
    if len(index) != len(t.shape):
        raise IndexError(f"{len(index)} indices for {len(t.shape)} axes")
    position = t.offset
    for axis, (i, n, s) in enumerate(zip(index, t.shape, t.strides)):
        if not -n <= i < n:
            raise IndexError(f"index {i} on axis {axis}, which has size {n}")
        position += i * s
    return t.buf[position]
""",
        "the axis is named, its length is not": """
def element(t, *index):
    if len(index) != len(t.shape):
        raise IndexError("an int for each axis")
    for axis, (i, n) in enumerate(zip(index, t.shape)):
        if not -n <= i < n:
            raise IndexError(f"index {i} on axis {axis}")
    return t.buf[t.offset + sum(i % n * s for i, n, s in zip(index, t.shape, t.strides))]
""",
        "fewer ints than axes are let through": """
def element(t, *index):
    position = t.offset
    for axis, (i, n, s) in enumerate(zip(index, t.shape, t.strides)):
        if not -n <= i < n:
            raise IndexError(f"index {i} on axis {axis}, which has size {n}")
        position += i % n * s
    return t.buf[position]
""",
    },
}
