"""Answers to chapter 3 that are wrong in ways in which people are."""

from wrong import edit

WRONG = {
    "03.1": {
        "`...` is one slice, however many axes it stands for": """
def full_key(key, ndim):
    key = key if isinstance(key, tuple) else (key,)
    key = tuple(slice(None) if k is ... else k for k in key)
    missing = ndim - sum(k is not None for k in key)
    if missing < 0:
        raise IndexError("too many")
    return (*key, *[slice(None)] * missing)
""",
        "None is counted as an axis": edit("k is not None and k is not ...", "k is not ..."),
        "too many indices are let through": edit("missing < 0 or ", ""),
        "a second `...` is let through": edit(" or key.count(...) > 1", ""),
        "what is missing stands in front": edit(
            "*key[:at], *[slice(None)] * missing", "*[slice(None)] * missing, *key[:at]"
        ),
        "a tuple in a tuple": edit("key if isinstance(key, tuple) else (key,)", "(key,)"),
        "a list is given": edit("return (*key", "return [*key", "at + 1 :])", "at + 1 :]]"),
        "raises: a key without `...` is forgotten": edit(
            "    key = key if ... in key else (*key, ...)\n", ""
        ),
        "the library's own": """
def full_key(key, ndim):
    from tutor._storage import layout

    return tuple(layout.full_key(key, ndim))
""",
        "None uses up an axis": edit("k is not None and k is not ...", "k is not ..."),
    },
    "03.6": {
        "raises: None takes up an axis": edit(
            "            continue\n", "            axis += 1\n            continue\n"
        ),
        "raises: a negative int steps back from the first": edit("k % size * stride", "k * stride"),
        "raises: ints are not looked at": edit("elif -size <= k < size:", "elif True:"),
        "the size itself is let through": edit("-size <= k < size", "-size <= k <= size"),
        "raises: the first, counted from the end, is refused": edit(
            "-size <= k < size", "-size < k < size"
        ),
        "raises: the step is forgotten": edit("strides.append(step)", "strides.append(stride)"),
        "the start is forgotten": edit("            offset += moved\n", ""),
        "the numbers are copied": edit(
            "return t.over(shape, strides, offset)",
            "return contiguous(t.over(shape, strides, offset))",
        ),
        "t's own strides are not asked": edit("t.strides[axis]", "strides_for(t.shape)[axis]"),
        "raises: t's own offset is not asked": edit("[], [], t.offset, 0", "[], [], 0, 0"),
        "an int keeps its axis, with size 1": edit(
            "            offset += k % size * stride\n",
            "            offset += k % size * stride\n"
            "            shape.append(1)\n            strides.append(0)\n",
        ),
        "the error names the place in the key, not the axis": edit(
            "axis {axis}, which", "place {axis}, which"
        ),
        "t itself is changed": edit(
            "return t.over(shape, strides, offset)",
            "t.shape, t.strides, t.offset = tuple(shape), tuple(strides), offset\n    return t",
        ),
        "by square brackets, which are what is to be written": """
def select(t, key):
    return t[key]
""",
        "the last int instead of all": edit(
            "offset += k % size * stride", "offset = k % size * stride"
        ),
        "t itself where nothing is selected": edit(
            "    shape, strides, offset, axis = [], [], t.offset, 0",
            "    if key in (..., ()):\n"
            "        return t\n"
            "    shape, strides, offset, axis = [], [], t.offset, 0",
        ),
        "t itself for one slice of all": edit(
            "    shape, strides, offset, axis = [], [], t.offset, 0",
            "    if isinstance(key, slice) and key == slice(None):\n"
            "        return t\n"
            "    shape, strides, offset, axis = [], [], t.offset, 0",
        ),
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
        "raises, where a message is asked for": edit(
            "return f", "raise ValueError(f", '{where}"', '{where}")'
        ),
        "it does not say what to do": edit(", which must be equal or 1", ""),
        "the axis is off by one": edit("{-1 - i}", "{-i}"),
        "the sizes are the wrong way round": edit("sizes {m} and {n}", "sizes {n} and {m}"),
        "the leftmost misfit instead of the rightmost": """
from itertools import zip_longest

def mismatch(a, b):
    said = None
    for i, (m, n) in enumerate(zip_longest(reversed(a), reversed(b), fillvalue=1)):
        if m != n and 1 not in (m, n):
            where = f"axis {-1 - i} has sizes {m} and {n}, which must be equal or 1"
            said = f"shapes {tuple(a)} and {tuple(b)} do not fit: {where}"
    return said
""",
        "aligned at the left": edit("reversed(a), reversed(b)", "a, b"),
        "a 0 beside a 1 is refused": edit(
            "m != n and 1 not in (m, n)", "m != n and min(m, n) != 1"
        ),
        "an empty message where they fit": edit("return None", 'return ""'),
    },
    "03.2": {
        "raises: aligned at the left": edit(
            "reversed(a), reversed(b)", "a, b", "tuple(reversed(shape))", "tuple(shape)"
        ),
        "the larger size is taken, so that 0 beside 1 becomes 1": edit(
            "n if m == 1 else m", "max(m, n)"
        ),
        "nothing is refused": edit(
            "    if wrong := mismatch(a, b):\n        raise ValueError(wrong)\n", ""
        ),
        "the result is the wrong way round": edit("tuple(reversed(shape))", "tuple(shape)"),
        "a list is given": edit("tuple(reversed(shape))", "shape[::-1]"),
        "the axes that only one has are lost": edit(
            "zip_longest(reversed(a), reversed(b), fillvalue=1)", "zip(reversed(a), reversed(b))"
        ),
        "only b is stretched": edit("n if m == 1 else m", "m"),
        "the message is returned": edit("raise ValueError(wrong)", "return wrong"),
        "the larger of the two, beside a 0 too": edit("n if m == 1 else m", "max(m, n)"),
    },
    "03.7": {
        "raises: an axis of size 1 keeps its stride": edit("0 if size == 1 else s", "s"),
        "the numbers are copied": edit(
            "return t.over(", "return contiguous(t.over(", "t.offset)", "t.offset))"
        ),
        "a t that is larger is not refused": edit(
            "if broadcast_shapes(t.shape, shape) != tuple(shape):",
            "if not broadcast_shapes(t.shape, shape) and False:",
        ),
        "t's own offset is not asked": edit("new + kept, t.offset", "new + kept, 0"),
        "t's own strides are not asked": edit(
            "zip(t.shape, t.strides", "zip(t.shape, strides_for(t.shape)"
        ),
        "raises: the new axes stand at the end": edit("new + kept", "kept + new"),
        "a new tensor with the numbers written out": """
def expand(t, shape):
    broadcast_shapes(t.shape, shape)
    if broadcast_shapes(t.shape, shape) != tuple(shape):
        raise ValueError("it does not stretch")
    new = [0] * (len(shape) - len(t.shape))
    kept = [0 if size == 1 else s for size, s in zip(t.shape, t.strides)]
    out = zeros(shape, t.buf.dtype)
    out.fill(t.over(shape, new + kept, t.offset).values())
    return out
""",
        "t itself is changed": edit(
            "return t.over(shape, new + kept, t.offset)",
            "t.shape, t.strides = tuple(shape), tuple(new + kept)\n    return t",
        ),
        "every stride is 0": edit("0 if size == 1 else s for", "0 for"),
        "t itself where it has that shape": edit(
            "    new = [0] *",
            "    if tuple(t.shape) == tuple(shape):\n        return t\n    new = [0] *",
        ),
    },
    "03.4": {
        "a copy is taken for the sum of the copies": edit("out.buf[p] += x", "out.buf[p] = x"),
        "only new axes are undone, not those of size 1": """
def reduce_to(g, shape):
    n = math.prod(g.shape[len(g.shape) - len(shape):])
    numbers = g.values()
    sums = [sum(numbers[i::n]) for i in range(n)]
    return Tensor(Buffer(sums, g.buf.dtype), g.shape[len(g.shape) - len(shape):])
""",
        "the strides of g are not asked": edit("g.values()", "g.buf.read(0, len(g.buf))"),
        "float32, whatever g is": edit("zeros(shape, g.buf.dtype)", "zeros(shape)"),
        "g itself where the shape is the same": edit(
            "    out = zeros", "    if g.shape == shape:\n        return g\n    out = zeros"
        ),
        "the mean instead of the sum": edit(
            "out.buf[p] += x", "out.buf[p] += x * out.numel() / g.numel()"
        ),
        "g is used up": edit(
            "        out.buf[p] += x\n",
            "        out.buf[p] += x\n    g.buf.write(0, [0] * len(g.buf))\n",
        ),
        "the sum of all, everywhere": edit(
            "+= x", "+= sum(g.values()) / len(g.values()) * g.numel() / out.numel()"
        ),
        "only the first axis": """
def reduce_to(g, shape):
    if g.shape == shape:
        return Tensor(Buffer(g.values(), g.buf.dtype), shape)
    out = zeros(g.shape[1:], g.buf.dtype)
    for i in range(g.shape[0]):
        for p, x in zip(out.positions(), g[i].values()):
            out.buf[p] += x
    return out
""",
        "the result of the call before is used again": edit(
            "    out = zeros(shape, g.buf.dtype)",
            "    out = KNOWN.setdefault((tuple(shape), g.buf.dtype), "
            "zeros(shape, g.buf.dtype))\n"
            "    out.fill([0] * out.numel())",
            "def reduce_to",
            "KNOWN = {}\n\n\ndef reduce_to",
        ),
    },
    "03.5": {
        "negative ints are allowed, however far they reach": edit("not -n <= i < n", "i >= n"),
        "a negative int steps back from the first": edit("i % n * s", "i * s"),
        "the axis is named, its length is not": edit(", which has size {n}", ""),
        "fewer ints than axes are let through": edit(
            "    if len(index) != len(t.shape):\n"
            '        raise IndexError(f"{len(index)} indices for {len(t.shape)} axes")\n',
            "",
            ", strict=True",
            "",
        ),
        "by the very function that is forbidden": """
def element(t, *index):
    return select(t, index).item()
""",
        "by square brackets, which are that function": """
def element(t, *index):
    return t[index].item()
""",
        "by that function, under another name": """
pick = select


def element(t, *index):
    return pick(t, index).item()
""",
        "the offset of the view is forgotten": edit("position = t.offset", "position = 0"),
        "the size itself is let through": edit("-n <= i < n", "-n <= i <= n"),
        "only the last int is looked at": """
def element(t, *index):
    if len(index) != len(t.shape):
        raise IndexError("an int for each axis")
    position = t.offset + sum(i % n * s for i, n, s in zip(index, t.shape, t.strides))
    i, n, axis = index[-1], t.shape[-1], len(t.shape) - 1
    if not -n <= i < n:
        raise IndexError(f"index {i} on axis {axis}, which has size {n}")
    return t.buf[position]
""",
        "raises: the last index of an axis is outside": edit("-n <= i < n", "-n <= i < n - 1"),
    },
    "03.s1": {
        "raises: one window too many": edit("n - size + 1, size)", "n - size + 2, size)"),
        "windows that do not overlap": edit(
            "(*t.strides, stride)",
            "(*t.strides[:-1], stride * size, stride)",
            "n - size + 1, size)",
            "n // size, size)",
        ),
        "the stride is taken to be 1": edit("(*t.strides, stride)", "(*t.strides, 1)"),
        "nothing is refused": edit("not 1 <= size <= n", "False"),
        "the numbers are copied": edit(
            "return t.over(",
            "return contiguous(t).over(",
            "(*t.strides, stride)",
            "(*strides_for(t.shape), 1)",
            "t.offset)",
            "contiguous(t).offset)",
        ),
        "t itself for windows of one": edit(
            "    return t.over(", "    if size == n:\n        return t\n    return t.over("
        ),
    },
    "03.s2": {
        "one is written while others are still to be read": """
def assign(t, key, value):
    view = t[key]
    value = value if hasattr(value, "buf") else Tensor(value, dtype=t.buf.dtype)
    if len(set(view.positions())) < len(view.positions()):
        raise ValueError("several elements are one number")
    for p, q in zip(view.positions(), expand(value, view.shape).positions()):
        t.buf[p] = value.buf[q]
""",
        "a stretched view is written to": edit("len(set(positions)) < len(positions)", "False"),
        "the value is not stretched": edit("expand(value, view.shape)", "value"),
        "it writes before it refuses": """
def assign(t, key, value):
    view = t[key]
    value = value if hasattr(value, "buf") else Tensor(value, dtype=t.buf.dtype)
    numbers = list(value.values())
    for p, x in zip(view.positions(), numbers * view.numel()):
        t.buf[p] = x
    if len(set(view.positions())) < len(view.positions()):
        raise ValueError("several elements are one number")
    if broadcast_shapes(value.shape, view.shape) != view.shape:
        raise ValueError("it does not fit")
""",
        "a copy is written to": edit("view = t[key]", "view = contiguous(t[key])"),
    },
}
