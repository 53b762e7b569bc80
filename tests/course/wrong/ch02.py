"""Planted wrong answers to the exercises of chapter 2."""

from wrong import edit

MAPS = {
    ((2, 3), (6, 2), 1): [[1, 3, 5], [7, 9, 11]],
    ((4,), (-3,), 10): [10, 7, 4, 1],
    ((3, 2), (0, 4), 2): [[2, 6], [2, 6], [2, 6]],
    ((2, 2, 2), (1, 2, 4), 3): [[[3, 7], [5, 9]], [[4, 8], [6, 10]]],
}

COLUMN = "the last column: [3, 7, 11]"
FLIPPED = "upside down: [[8, 9, 10, 11], [4, 5, 6, 7], [0, 1, 2, 3]]"
DIAGONAL = "the diagonal: [0, 5, 10]"
HALVES = "left and right half: [[[0, 1], [4, 5], [8, 9]], [[2, 3], [6, 7], [10, 11]]]"
WINDOWS = "windows of three: [[0, 1, 2], [1, 2, 3], [2, 3, 4]]"
FACTS = {
    COLUMN: ((3,), (4,), 3),
    FLIPPED: ((3, 4), (-4, 1), 8),
    DIAGONAL: ((3,), (5,), 0),
    HALVES: ((2, 3, 2), (2, 4, 1), 0),
    WINDOWS: ((3, 3), (1, 1), 0),
}


def maps(facts, lists):
    return f"predicted = {MAPS | {facts: lists}!r}"


def facts(name, found):
    return f"facts = {FACTS | {name: found}!r}"


WRONG = {
    "02.1": {
        "the sizes before, not behind": """
def strides_for(shape):
    return tuple(math.prod(shape[:axis]) for axis in range(len(shape)))
""",
        "its own size, too": """
def strides_for(shape):
    return tuple(math.prod(shape[axis:]) for axis in range(len(shape)))
""",
        "the next size, not the product": """
def strides_for(shape):
    return (*shape[1:], 1)[: len(shape)]
""",
        "not reversed at the end": """
def strides_for(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(strides)
""",
        "a list": """
def strides_for(shape):
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
""",
        "in bytes": """
def strides_for(shape):
    return tuple(4 * math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
""",
        "a stride for no axis": """
def strides_for(shape):
    strides = [1]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * size)
    return tuple(strides)
""",
        "raises: it divides by a size of 0": """
def strides_for(shape):
    total, strides = math.prod(shape), []
    for size in shape:
        total //= size
        strides.append(total)
    return tuple(strides)
""",
        "two axes only": """
def strides_for(shape):
    return (shape[-1], 1) if len(shape) == 2 else (1,) * len(shape)
""",
        "kept by the number of axes": """
KNOWN = {}


def strides_for(shape):
    if len(shape) not in KNOWN:
        KNOWN[len(shape)] = tuple(math.prod(shape[a + 1 :]) for a in range(len(shape)))
    return KNOWN[len(shape)]
""",
    },
    "02.2": {
        "axes of size 1 count, too": edit("size == 1 or ", ""),
        "the last stride is 1": """
def row_by_row(shape, strides):
    return not strides or strides[-1] == 1
""",
        "strides that fall": """
def row_by_row(shape, strides):
    return all(a >= b for a, b in zip(strides, strides[1:])) and 0 not in strides
""",
        "as many positions as elements": """
def row_by_row(shape, strides):
    return sum((n - 1) * s for n, s in zip(shape, strides)) + 1 == math.prod(shape)
""",
        "the wrong way round": edit("return all", "return not all"),
        "no return at the end": """
def row_by_row(shape, strides):
    for size, stride, wanted in zip(shape, strides, strides_for(shape)):
        if size != 1 and stride != wanted:
            return False
""",
        "any one axis is enough": edit("return all", "return any"),
        "sorted by stride": """
def row_by_row(shape, strides):
    axes = sorted(zip(strides, shape), reverse=True)
    shape = [size for _, size in axes]
    return [s for (s, n) in axes if n != 1] == [
        s for s, n in zip(strides_for(shape), shape) if n != 1
    ]
""",
    },
    "02.3": {
        "always": edit("n != 1 and m != 1 and s != m * t", "False"),
        "the left size": edit("s != m * t", "s != n * t"),
        "axes of size 1 count, too": edit("n != 1 and m != 1 and ", ""),
        "the stride of the left axis": edit("s if m == 1 else t", "s"),
        "the stride of the right axis, even if it has one element": edit("s if m == 1 else t", "t"),
        "only where all is contiguous": edit(
            "n != 1 and m != 1 and s != m * t", "strides != strides_for(shape)"
        ),
        "never where a stride is not positive": edit(
            "n != 1 and m != 1 and s != m * t", "s <= 0 or n != 1 and m != 1 and s != m * t"
        ),
        "what stands behind is lost": edit("*shape[axis + 2 :]", ""),
        "the shape alone": "def merge(shape, strides, axis):\n"
        "    return (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])\n",
    },
    "02.4": {
        "the offset is left out": maps(((2, 3), (6, 2), 1), [[0, 2, 4], [6, 8, 10]]),
        "strides exchanged": maps(((2, 3), (6, 2), 1), [[1, 7, 13], [3, 9, 15]]),
        "back by three, but forward": maps(((4,), (-3,), 10), [1, 4, 7, 10]),
        "a stride of 0 taken for 1": maps(((3, 2), (0, 4), 2), [[2, 6], [3, 7], [4, 8]]),
        "the first axis as the fastest": maps(
            ((2, 2, 2), (1, 2, 4), 3), [[[3, 4], [5, 6]], [[7, 8], [9, 10]]]
        ),
        "flat": maps(((2, 3), (6, 2), 1), [1, 3, 5, 7, 9, 11]),
        "one row is missing": maps(((3, 2), (0, 4), 2), [[2, 6], [2, 6]]),
        "a text": maps(((4,), (-3,), 10), "10, 7, 4, 1"),
        "one entry is gone": f"predicted = {dict(list(MAPS.items())[:3])!r}",
    },
    "02.5": {
        "a transpose of a symmetric table": edit("[[1, 2], [3, 4]]", "[[1, 2], [2, 1]]"),
        "contiguous for added": edit("(table, transpose(table))", "(table, table)"),
        "contiguous for reshaped": edit("(transpose(table), (4,))", "(table, (4,))"),
        "two axes transposed back": edit(
            "(transpose(table), (4,))", "(transpose(transpose(table)), (4,))"
        ),
        "an element that is there": edit("(table, 0, 2)", "(table, 0, 1)"),
        "an element outside of the Buffer": edit("(table, 0, 2)", "(table, 5, 5)"),
        "a shape that does not fit": edit("(4,)", "(5,)"),
        "shapes that differ": edit("(table, transpose(table))", "(table, Tensor([1, 2, 3, 4]))"),
        "one argument too few": edit("(table, 0, 2)", "(table, 2)"),
        "numbers for tensors": edit("(table, transpose(table))", "(1, 2)"),
        "a tensor with one axis": edit("(table, 0, 2)", "(Tensor([1, 2]), 0, 2)"),
    },
    "02.6": {
        "the offset is forgotten": facts(COLUMN, ((3,), (4,), 0)),
        "down instead of up": facts(FLIPPED, ((3, 4), (4, 1), 8)),
        "upside down and mirrored": facts(FLIPPED, ((3, 4), (-4, -1), 11)),
        "the diagonal of a square of four": facts(DIAGONAL, ((3,), (4,), 0)),
        "the halves as rows": facts(HALVES, ((2, 3, 2), (6, 2, 1), 0)),
        "axes in another order": facts(HALVES, ((3, 2, 2), (4, 2, 1), 0)),
        "windows that do not overlap": facts(WINDOWS, ((3, 3), (3, 1), 0)),
        "lists, not facts": facts(DIAGONAL, [0, 5, 10]),
        "a stride too few": facts(WINDOWS, ((3, 3), (1,), 0)),
        "a number for a shape": facts(COLUMN, (3, 4, 3)),
    },
    "02.7": {
        "two axes only": """
def flatten(data):
    if not isinstance(data, list | tuple):
        return [data], ()
    if data and isinstance(data[0], list | tuple):
        if len({len(row) for row in data}) > 1:
            raise ValueError("ragged")
        return [x for row in data for x in row], (len(data), len(data[0]))
    return list(data), (len(data),)
""",
        "the shape of the first row, without looking at the others": edit(
            "len(shapes) > 1", "False"
        ),
        "lengths are compared at the top only": """
def flatten(data):
    def numbers(part):
        if not isinstance(part, list | tuple):
            return [part]
        return [x for row in part for x in numbers(row)]

    shape, part = [], data
    while isinstance(part, list | tuple):
        shape.append(len(part))
        part = part[0] if part else None
    if len(shape) > 1 and len({len(numbers(row)) for row in data}) > 1:
        raise ValueError("ragged")
    return numbers(data), tuple(shape)
""",
        "raises: numbers have a length, too": edit(
            "if not isinstance(data, list | tuple)", "if data is None"
        ),
        "tuples are numbers": edit("list | tuple", "list"),
        "the shape as a list": edit("(len(data), *inner)", "[len(data), *inner]"),
        "the shape inside out": edit("(len(data), *inner)", "(*inner, len(data))"),
        "rows, not numbers": edit(
            "[x for row, _ in rows for x in row]", "[row for row, _ in rows]"
        ),
        "the count for a shape": edit(
            "return [x for row, _ in rows for x in row], (len(data), *inner)",
            "flat = [x for row, _ in rows for x in row]\n    return flat, (len(flat),)",
        ),
        "raises: empty rows are forgotten": edit(
            "shapes.pop() if shapes else ()", "max(shapes) if rows[0][0] else ()"
        ),
        "it empties the list that it was given": edit(
            "rows = [flatten(row) for row in data]",
            "count, rows = len(data), []\n    while data:\n"
            "        rows.append(flatten(data.pop(0)))",
            "(len(data), *inner)",
            "(count, *inner)",
        ),
        "the numbers of all calls, in a default": """
def flatten(data, found=[]):
    if not isinstance(data, (list, tuple)):
        return [data], ()
    rows = [flatten(row) for row in data]
    shapes = {shape for _, shape in rows}
    if len(shapes) > 1:
        raise ValueError("ragged")
    inner = shapes.pop() if shapes else ()
    if not inner:
        found.extend(x for row, _ in rows for x in row)
    numbers = found[-len(data) :] if not inner else [x for r, _ in rows for x in r]
    return numbers, (len(data), *inner)
""",
    },
    "02.8": {
        "negative strides are forgotten": edit("first + min(way, 0)", "first"),
        "one size too far": edit("(size - 1) * stride", "size * stride"),
        "the first element and the last one": """
def reach(shape, strides, offset):
    return offset, offset + sum((size - 1) * stride for size, stride in zip(shape, strides))
""",
        "the offset is left out": edit("first = last = offset", "first = last = 0"),
        "the last axis only": edit(
            "first + min(way, 0), last + max(way, 0)", "offset + min(way, 0), offset + max(way, 0)"
        ),
        "the longest way only": """
def reach(shape, strides, offset):
    ways = [(size - 1) * stride for size, stride in zip(shape, strides)]
    return offset + min([*ways, 0]), offset + max([*ways, 0])
""",
        "as many positions as elements": """
def reach(shape, strides, offset):
    return offset, offset + math.prod(shape) - 1
""",
        "raises, or takes too long: by looking at each": """
def reach(shape, strides, offset):
    found = positions(shape, strides, offset)
    return min(found), max(found)
""",
        "raises, or takes too long: by looking at each, with their own function": """
def reach(shape, strides, offset):
    found = [offset]
    for size, stride in zip(shape, strides):
        found = [start + i * stride for start in found for i in range(size)]
    return min(found), max(found)
""",
        "the two exchanged": edit("return first, last", "return last, first"),
        "size strides, not size - 1": edit("(size - 1) * stride", "size * stride"),
    },
    "02.9": {
        "the first index runs fastest": edit(
            "for start in found for i in range(size)", "for i in range(size) for start in found"
        ),
        "the offset is left out": edit("[offset]", "[0]"),
        "one too many along each axis": edit("range(size)", "range(size + 1)"),
        "negative strides go forward": edit("i * stride", "i * abs(stride)"),
        "two axes": """
def positions(shape, strides, offset):
    if len(shape) == 1:
        return [offset + i * strides[0] for i in range(shape[0])]
    (n, m), (s, t) = shape[-2:] or (1, 1), strides[-2:] or (0, 0)
    return [offset + i * s + j * t for i in range(n) for j in range(m)]
""",
        "all neighbours": """
def positions(shape, strides, offset):
    return list(range(offset, offset + math.prod(shape)))
""",
        "sorted": edit("return found", "return sorted(found)"),
        "each only once": edit("return found", "return list(dict.fromkeys(found))"),
        "nested": edit("return found", "return [found]"),
        "the last axis only": edit("for start in found for i", "for start in [offset] for i"),
        "the offset only where there are axes": edit(
            "found = [offset]", "found = [offset if shape else 0]"
        ),
    },
    "02.10": {
        "two axes": """
def nest(items, shape):
    if len(shape) < 2:
        return list(items) if shape else items[0]
    return [list(items[i * shape[1] : (i + 1) * shape[1]]) for i in range(shape[0])]
""",
        "the sizes from the left": edit("range(len(shape) - 1, 0, -1)", "range(len(shape) - 1)"),
        "as many rows as items allow": edit("range(rows)", "range(len(items) // max(size, 1))"),
        "raises: divides by a size": edit("range(rows)", "range(len(items) // size)"),
        "one list too many": edit("range(len(shape) - 1, 0, -1)", "range(len(shape) - 1, -1, -1)"),
        "the item in a list": edit("items if shape else items[0]", "items"),
        "tuples": edit("return items if", "return tuple(items) if"),
        "flat": edit("range(len(shape) - 1, 0, -1)", "()"),
        "rows that overlap": edit("i * size : (i + 1) * size", "i : i + size"),
        "the same row again and again": edit("items[i * size : (i + 1) * size]", "items[:size]"),
    },
    "02.11": {
        "a Buffer is copied": edit(
            "self.buf, self.offset = data, offset",
            "self.buf, self.offset = Buffer(list(data), data.dtype), offset",
        ),
        "offset is forgotten": edit(
            "self.buf, self.offset = data, offset", "self.buf, self.offset = data, 0"
        ),
        "shape and strides as they come": edit(
            "else tuple(shape)", "else shape", "else tuple(strides)", "else strides"
        ),
        "raises: strides have no default": edit(
            "strides_for(self.shape) if strides is None else tuple(strides)", "tuple(strides)"
        ),
        "the dtype is forgotten": edit("Buffer(numbers, dtype)", "Buffer(numbers)"),
        "the highest position may be one too high": edit("last >= len(data)", "last > len(data)"),
        "nothing below 0 is refused": edit("first < 0 or ", ""),
        "nothing is refused": edit("if self.numel():", "if False:"),
        "the last element is taken for the highest": edit(
            "first, last = reach(self.shape, self.strides, offset)",
            "first = offset\n"
            "            last = offset + sum((n - 1) * s for n, s in"
            " zip(self.shape, self.strides))",
        ),
        "raises: views without elements are refused": edit("if self.numel():", "if True:"),
        "each position is looked at": edit(
            "first, last = reach(self.shape, self.strides, offset)",
            "found = positions(self.shape, self.strides, offset)\n"
            "            first, last = min(found), max(found)",
        ),
        "strides are not counted": edit("len(self.strides) != len(self.shape)", "False"),
        "values from the beginning of memory": edit(
            "self.buf.read(self.offset, self.numel())", "self.buf.read(0, self.numel())"
        ),
        "values in the order of memory": edit(
            "if self.is_contiguous():\n            return self.buf.read",
            "if True:\n            return self.buf.read",
        ),
        "values one by one": edit(
            "        if self.is_contiguous():\n"
            "            return self.buf.read(self.offset, self.numel())\n"
            "        cells = self.buf.read(0, len(self.buf))\n"
            "        return [cells[p] for p in self.positions()]",
            "        return [self.buf[p] for p in self.positions()]",
        ),
        "fill without strides": edit(
            "        if self.is_contiguous():\n            self.buf.write",
            "        if True:\n            self.buf.write",
        ),
        "fill works on a copy": edit("self.buf[p] = x", "list(self.buf)[p] = x"),
        "fill one by one": edit(
            "        if self.is_contiguous():\n"
            "            self.buf.write(self.offset, numbers)\n        else:\n"
            "            for p, x in zip(self.positions(), numbers, strict=True):\n"
            "                self.buf[p] = x",
            "        for p, x in zip(self.positions(), numbers):\n            self.buf[p] = x",
        ),
        "over copies": edit(
            "return Tensor(self.buf, shape, strides, offset)",
            "return Tensor(Buffer(list(self.buf), self.buf.dtype), shape, strides, offset)",
        ),
        "over changes its own facts": edit(
            "        return Tensor(self.buf, shape, strides, offset)",
            "        self.shape, self.strides, self.offset = tuple(shape),"
            " tuple(strides), offset\n        return self",
        ),
        "over keeps the offset": edit(
            "Tensor(self.buf, shape, strides, offset)",
            "Tensor(self.buf, shape, strides, self.offset)",
        ),
        "raises: over adds its own offset": edit(
            "Tensor(self.buf, shape, strides, offset)",
            "Tensor(self.buf, shape, strides, self.offset + offset)",
        ),
        "raises: asks for the class": edit(
            'not hasattr(data, "raw")', "not isinstance(data, Buffer)"
        ),
        "requires_grad is forgotten": edit("= requires_grad, None, None", "= False, None, None"),
    },
    "02.12": {
        "strides stay": edit("[t.strides[a] for a in axes]", "t.strides"),
        "sizes stay": edit("[t.shape[a] for a in axes]", "t.shape"),
        "the numbers move": edit(
            "return t.over([t.shape[a] for a in axes], [t.strides[a] for a in axes], t.offset)",
            "view = t.over([t.shape[a] for a in axes], [t.strides[a] for a in axes], t.offset)\n"
            "    return Tensor(Buffer(view.values(), t.buf.dtype), view.shape)",
        ),
        "raises: the offset is lost": edit("t.offset", "0"),
        "the inverse order": edit(
            "[t.shape[a] for a in axes], [t.strides[a] for a in axes]",
            "[t.shape[axes.index(a)] for a in range(len(axes))],"
            " [t.strides[axes.index(a)] for a in range(len(axes))]",
        ),
        "backwards": edit(
            "[t.shape[a] for a in axes], [t.strides[a] for a in axes]",
            "t.shape[::-1], t.strides[::-1]",
        ),
        "strides of a new table": edit(
            "[t.strides[a] for a in axes]", "strides_for([t.shape[a] for a in axes])"
        ),
        "t itself where the axes are in their order already": edit(
            "    return t.over(",
            "    if list(axes) == sorted(axes):\n        return t\n    return t.over(",
        ),
    },
    "02.13": {
        "the first two": edit("a=-2, b=-1", "a=0, b=1"),
        "all axes backwards": edit("axes[a], axes[b] = axes[b], axes[a]", "axes.reverse()"),
        "nothing": edit("    axes[a], axes[b] = axes[b], axes[a]\n", ""),
        "one of the two": edit("axes[a], axes[b] = axes[b], axes[a]", "axes[a] = axes[b]"),
        "a tensor of its own": edit(
            "    return permute(t, axes)",
            "    view = permute(t, axes)\n"
            "    return Tensor(Buffer(view.values(), t.buf.dtype), view.shape)",
        ),
        "two axes only": """
def transpose(t, a=-2, b=-1):
    return t.over(t.shape[:-2] + t.shape[:-3:-1], t.strides[:-2] + t.strides[:-3:-1], t.offset)
""",
        "the sizes alone": """
def transpose(t, a=-2, b=-1):
    shape = list(t.shape)
    shape[a], shape[b] = shape[b], shape[a]
    return t.over(shape, t.strides, t.offset)
""",
        "it rotates": edit("axes[a], axes[b] = axes[b], axes[a]", "axes.insert(b, axes.pop(a))"),
        "t itself where an axis is exchanged with itself": edit(
            "    axes[a], axes[b] = axes[b], axes[a]",
            "    if axes[a] == axes[b]:\n        return t\n    axes[a], axes[b] = axes[b], axes[a]",
        ),
    },
    "02.14": {
        "always a copy": edit("t if t.is_contiguous() else ", ""),
        "never a copy": "def contiguous(t):\n    return t",
        "the wrong way round": edit("t if t.is_contiguous()", "t if not t.is_contiguous()"),
        "the dtype is lost": edit("Buffer(t.values(), t.buf.dtype)", "Buffer(t.values())"),
        "the shape is lost": edit(", t.shape)", ")"),
        "other strides over the same memory": edit(
            "Tensor(Buffer(t.values(), t.buf.dtype), t.shape)",
            "t.over(t.shape, strides_for(t.shape), t.offset)",
        ),
        "in the order of memory": edit("t.values()", "sorted(t.values())"),
        "the whole memory": edit(
            "Buffer(t.values(), t.buf.dtype), t.shape",
            "Buffer(list(t.buf), t.buf.dtype), t.shape, t.strides, t.offset",
        ),
        "it puts its own memory in order": """
def contiguous(t):
    t.buf, t.strides, t.offset = Buffer(t.values(), t.buf.dtype), strides_for(t.shape), 0
    return t
""",
    },
    "02.15": {
        "no copy, ever": edit("    t = contiguous(t)\n", ""),
        "always a copy": edit(
            "t = contiguous(t)", "t = Tensor(Buffer(t.values(), t.buf.dtype), t.shape)"
        ),
        "the offset is lost": edit("t.offset)", "0)"),
        "the strides stay": edit("strides_for(sizes)", "[*t.strides, *[1] * 9][: len(sizes)]"),
        "raises: the -1 is what is left of all sizes": edit(
            "t.numel() // known if known else 0", "-t.numel() // known"
        ),
        "raises: no -1": edit("sizes.count(-1) == 1", "False"),
        "raises: the -1 is the last one": edit("sizes[sizes.index(-1)]", "sizes[-1]"),
        "any shape will do": edit("-1 in sizes or math.prod(sizes) != t.numel()", "-1 in sizes"),
        "fewer numbers will do": edit(
            "math.prod(sizes) != t.numel()", "math.prod(sizes) > t.numel()"
        ),
        "two of them may be -1": edit(
            "sizes.count(-1) == 1", "-1 in sizes", "-1 in sizes or math", "math"
        ),
        "the message has one shape": edit("shape {t.shape} holds", "it holds"),
        "it changes the caller's list": edit(
            "sizes = list(shape)", "sizes = shape if isinstance(shape, list) else list(shape)"
        ),
        "a shape of one's own": """
def reshape(t, shape):
    known = -math.prod(shape)
    shape = [t.numel() // known if size == -1 else size for size in shape]
    if math.prod(shape) != t.numel():
        raise ValueError(f"shape {t.shape} holds {t.numel()} numbers, {tuple(shape)} does not")
    t.shape, t.strides = tuple(shape), strides_for(shape)
    return t
""",
        "t itself where the shape is the same": edit(
            "    t = contiguous(t)\n",
            "    if tuple(sizes) == t.shape:\n        return t\n    t = contiguous(t)\n",
        ),
        "an int division that hides a rest": edit(
            "if -1 in sizes or math.prod(sizes) != t.numel():",
            "if -1 in sizes or (-1 not in shape and math.prod(sizes) != t.numel()):",
        ),
    },
    "02.s1": {
        "contiguous ones only": """
def view_strides(shape, strides, new):
    return strides_for(new) if tuple(strides) == strides_for(shape) else None
""",
        "always": """
def view_strides(shape, strides, new):
    return strides_for(new)
""",
        "a size is split without looking whether it divides": edit(
            "        if left % size:\n            return None\n", ""
        ),
        "nothing is merged": edit("runs[-1][1] == size * stride", "False"),
        "the wrong neighbours": edit(
            "runs[-1][1] == size * stride", "runs[-1][1] == runs[-1][0] * stride"
        ),
        "axes of size 1 stand in the way": edit(
            "        if size == 1:\n            continue\n", ""
        ),
        "what is left keeps its stride": edit("stride * size))", "stride))"),
        "from the left": edit("reversed(new)", "new", "tuple(reversed(found))", "tuple(found)"),
        "by trying all elements": """
def view_strides(shape, strides, new):
    walk = [0]
    for n, s in zip(shape, strides):
        walk = [start + i * s for start in walk for i in range(n)]
    found = []
    for axis, n in enumerate(new):
        found.append(walk[math.prod(new[axis + 1 :])] - walk[0] if n > 1 else 0)
    again = [walk[0]]
    for n, s in zip(new, found):
        again = [start + i * s for start in again for i in range(n)]
    return tuple(found) if again == walk else None
""",
    },
    "02.s2": {
        "never looks whether it is right": edit(
            "facts if positions(*facts) == flat else None", "facts"
        ),
        "raises: ragged lists": edit("except ValueError", "except KeyError"),
        "raises: a neighbour that is not there": edit(" if size > 1 else 0", ""),
        "the smallest for an offset": edit("tuple(strides), flat[0]", "tuple(strides), min(flat)"),
        "the usual strides": edit("flat[step] - flat[0] if size > 1 else 0", "step"),
        "the neighbour in the row": edit("flat[step] - flat[0]", "flat[1] - flat[0]"),
        "distances without a sign": edit("flat[step] - flat[0]", "abs(flat[step] - flat[0])"),
        "sorted first": edit(
            "facts if positions(*facts) == flat",
            "facts if sorted(positions(*facts)) == sorted(flat)",
        ),
    },
}
