"""Right answers to the exercises of chapter 2, written otherwise than ours."""

RIGHT = {
    "02.1": {
        "each product by itself": """
def strides_for(shape):
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
""",
        "from behind, put in front": """
def strides_for(shape):
    strides = ()
    for size in shape[::-1]:
        strides = ((strides[0] * behind,) + strides) if strides else (1,)
        behind = size
    return strides
""",
        "kept by the whole shape": """
KNOWN = {}


def strides_for(shape):
    shape = tuple(shape)
    if shape not in KNOWN:
        KNOWN[shape] = tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    return KNOWN[shape]
""",
    },
    "02.2": {
        "axes of size 1 left out": """
def row_by_row(shape, strides):
    step = 1
    for size, stride in zip(shape[::-1], strides[::-1]):
        if size == 1:
            continue
        if stride != step:
            return False
        step *= size
    return True
""",
    },
    "02.7": {
        "shape first, numbers later": """
def flatten(data):
    def shape_of(part):
        if not isinstance(part, (list, tuple)):
            return ()
        shapes = [shape_of(row) for row in part]
        if any(shape != shapes[0] for shape in shapes):
            raise ValueError("ragged")
        return (len(part),) + (shapes[0] if shapes else ())

    def numbers(part):
        if not isinstance(part, (list, tuple)):
            yield part
        else:
            for row in part:
                yield from numbers(row)

    return list(numbers(data)), shape_of(data)
""",
    },
    "02.8": {
        "two sums": """
def reach(shape, strides, offset):
    ends = [(n - 1) * s for n, s in zip(shape, strides)]
    return [offset + sum(e for e in ends if e < 0), offset + sum(e for e in ends if e > 0)]
""",
    },
    "02.9": {
        "by products of ranges": """
import itertools


def positions(shape, strides, offset):
    walk = []
    for index in itertools.product(*[range(n) for n in shape]):
        walk.append(offset + sum(i * s for i, s in zip(index, strides)))
    return walk
""",
        "by calling itself": """
def positions(shape, strides, offset):
    if not shape:
        return [offset]
    rows = [positions(shape[1:], strides[1:], offset + i * strides[0]) for i in range(shape[0])]
    return sum(rows, [])
""",
    },
    "02.10": {
        "by calling itself": """
def nest(items, shape):
    if not shape:
        return items[0]
    if len(shape) == 1:
        return list(items)
    inner = math.prod(shape[1:])
    return [nest(items[i * inner : (i + 1) * inner], shape[1:]) for i in range(shape[0])]
""",
    },
    "02.11": {
        "in another order": """
class Tensor:
    def __init__(
        self, data, shape=None, strides=None, offset=0, dtype="float32", requires_grad=False
    ):
        if "raw" in dir(data):
            self.buf = data
            self.shape = tuple(shape) if shape is not None else (len(data),)
        else:
            numbers, self.shape = flatten(data)
            self.buf = Buffer(numbers, dtype)
        self.strides = tuple(strides) if strides is not None else strides_for(self.shape)
        self.offset, self.requires_grad = offset, requires_grad
        self.grad = self.op = None
        if len(self.shape) != len(self.strides):
            raise ValueError("one stride for each axis")
        if 0 not in self.shape:
            first, last = reach(self.shape, self.strides, self.offset)
            if not (0 <= first and last < len(self.buf)):
                raise IndexError("outside")

    def values(self):
        if row_by_row(self.shape, self.strides):
            return list(self.buf.read(self.offset, self.numel()))
        return [self.buf[p] for p in self.positions()]

    def fill(self, numbers):
        if self.is_contiguous():
            return self.buf.write(self.offset, numbers)
        for place, number in zip(self.positions(), numbers):
            self.buf[place] = number

    def over(self, shape, strides, offset):
        return self.__class__(self.buf, shape, strides, offset)

    def numel(self):
        return math.prod(self.shape)

    def is_contiguous(self):
        return row_by_row(self.shape, self.strides)

    def positions(self):
        return positions(self.shape, self.strides, self.offset)

    def item(self):
        (value,) = self.values()
        return value

    def tolist(self):
        return nest(self.values(), self.shape)
""",
    },
    "02.12": {
        "axis by axis": """
def permute(t, axes):
    shape, strides = (), ()
    for axis in axes:
        shape += (t.shape[axis],)
        strides += (t.strides[axis],)
    return t.over(shape, strides, t.offset)
""",
        "by the constructor": """
def permute(t, axes):
    axes = list(axes)
    shape = tuple(t.shape[a] for a in axes)
    return Tensor(t.buf, shape, tuple(t.strides[a] for a in axes), t.offset)
""",
    },
    "02.13": {
        "sizes and strides": """
def transpose(t, a=-2, b=-1):
    shape, strides = list(t.shape), list(t.strides)
    shape[a], shape[b] = shape[b], shape[a]
    strides[a], strides[b] = strides[b], strides[a]
    return t.over(shape, strides, t.offset)
""",
    },
    "02.14": {
        "filled": """
def contiguous(t):
    if t.is_contiguous():
        return t
    made = zeros(t.shape, t.buf.dtype)
    made.fill(list(t.values()))
    return made
""",
    },
    "02.15": {
        "in steps": """
def reshape(t, shape):
    shape = tuple(shape)
    unknown = [axis for axis, size in enumerate(shape) if size == -1]
    known = 1
    for size in shape:
        known *= size if size != -1 else 1
    if len(unknown) > 1 or (unknown and t.numel() % known) or (not unknown and known != t.numel()):
        raise ValueError(f"cannot make {shape} of {t.shape}")
    if unknown:
        shape = shape[: unknown[0]] + (t.numel() // known,) + shape[unknown[0] + 1 :]
    source = contiguous(t)
    return Tensor(source.buf, shape, None, source.offset)
""",
        "a view of itself where the shape is the same": """
def reshape(t, shape):
    sizes = list(shape)
    if sizes.count(-1) > 1:
        raise ValueError(f"two sizes of -1 for {t.shape}: {tuple(shape)}")
    if -1 in sizes:
        others = math.prod(n for n in sizes if n != -1)
        sizes[sizes.index(-1)] = t.numel() // others if others else 0
    if math.prod(sizes) != t.numel():
        raise ValueError(f"{t.shape} does not become {tuple(shape)}")
    if tuple(sizes) == tuple(t.shape) and t.is_contiguous():
        return t.over(t.shape, t.strides, t.offset)
    base = contiguous(t)
    return Tensor(base.buf, tuple(sizes), strides_for(sizes), base.offset)
""",
    },
    "02.3": {
        "by cases": """
def merge(shape, strides, axis):
    n, m = shape[axis], shape[axis + 1]
    s, t = strides[axis], strides[axis + 1]
    if m == 1:
        stride = s
    elif n == 1 or s == m * t:
        stride = t
    else:
        return None
    sizes = list(shape[:axis]) + [n * m] + list(shape[axis + 2 :])
    return sizes, list(strides[:axis]) + [stride] + list(strides[axis + 2 :])
""",
    },
    "02.s2": {
        "by taking the table apart": """
def facts_of(table):
    shape, strides, first, part = [], [], table, table
    while isinstance(first, (list, tuple)):
        first = first[0]
    while isinstance(part, (list, tuple)):
        shape.append(len(part))
        ends = []
        for row in part[:2]:
            while isinstance(row, (list, tuple)):
                row = row[0]
            ends.append(row)
        strides.append(ends[-1] - ends[0])
        part = part[0]
    try:
        same = nest(positions(shape, strides, first), shape) == table
    except (IndexError, TypeError):
        return None
    return (tuple(shape), tuple(strides), first) if same else None
""",
    },
}
