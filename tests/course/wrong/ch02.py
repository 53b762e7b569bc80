"""Planted wrong answers to the exercises of chapter 2."""

from wrong.ch01 import changed

ROW_BY_ROW = """
def row_by_row(shape, strides):
    for size, stride, wanted in zip(shape, strides, strides_for(shape)):
        if size != 1 and stride != wanted:
            return False
    return True
"""

MERGE = """
def merge(shape, strides, axis):
    (n, m), (s, t) = shape[axis : axis + 2], strides[axis : axis + 2]
    if n != 1 and m != 1 and s != m * t:
        return None
    stride = s if m == 1 else t
    return (
        (*shape[:axis], n * m, *shape[axis + 2 :]),
        (*strides[:axis], stride, *strides[axis + 2 :]),
    )
"""

MAPS = {
    ((2, 3), (6, 2), 1): [[1, 3, 5], [7, 9, 11]],
    ((4,), (-3,), 10): [10, 7, 4, 1],
    ((3, 2), (0, 4), 2): [[2, 6], [2, 6], [2, 6]],
    ((2, 2, 2), (1, 2, 4), 3): [[[3, 7], [5, 9]], [[4, 8], [6, 10]]],
}

EVIDENCE = """
table = Tensor([[1, 2], [3, 4]])
evidence = {
    "added": (table, transpose(table)),
    "reshaped": (transpose(table), (4,)),
    "element": (table, 0, 2),
}
"""

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
def my_strides(shape):
    return tuple(math.prod(shape[:axis]) for axis in range(len(shape)))
""",
        "its own size, too": """
def my_strides(shape):
    return tuple(math.prod(shape[axis:]) for axis in range(len(shape)))
""",
        "the next size, not the product": """
def my_strides(shape):
    return (*shape[1:], 1)[: len(shape)]
""",
        "not reversed at the end": """
def my_strides(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(strides)
""",
        "a list": """
def my_strides(shape):
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
""",
        "in bytes": """
def my_strides(shape):
    return tuple(4 * math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
""",
        "a stride for no axis": """
def my_strides(shape):
    strides = [1]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * size)
    return tuple(strides)
""",
        "raises: it divides by a size of 0": """
def my_strides(shape):
    total, strides = math.prod(shape), []
    for size in shape:
        total //= size
        strides.append(total)
    return tuple(strides)
""",
        "two axes only": """
def my_strides(shape):
    return (shape[-1], 1) if len(shape) == 2 else (1,) * len(shape)
""",
    },
    "02.2": {
        "axes of size 1 count, too": changed(ROW_BY_ROW, "size != 1 and ", ""),
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
        "the wrong way round": changed(
            changed(changed(ROW_BY_ROW, "False", "None"), "True", "False"), "None", "True"
        ),
        "no return at the end": changed(ROW_BY_ROW, "    return True\n", ""),
    },
    "02.3": {
        "always": changed(MERGE, "n != 1 and m != 1 and s != m * t", "False"),
        "the left size": changed(MERGE, "s != m * t", "s != n * t"),
        "axes of size 1 count, too": changed(MERGE, "n != 1 and m != 1 and ", ""),
        "the stride of the left axis": changed(MERGE, "s if m == 1 else t", "s"),
        "the stride of the right axis, even if it has one element": changed(
            MERGE, "s if m == 1 else t", "t"
        ),
        "only where all is contiguous": changed(
            MERGE, "n != 1 and m != 1 and s != m * t", "strides != strides_for(shape)"
        ),
        "never where a stride is not positive": changed(
            MERGE, "n != 1 and m != 1 and s != m * t", "s <= 0 or n != 1 and m != 1 and s != m * t"
        ),
        "what stands behind is lost": changed(MERGE, "*shape[axis + 2 :]", ""),
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
        "a transpose of a symmetric table": changed(
            EVIDENCE, "[[1, 2], [3, 4]]", "[[1, 2], [2, 1]]"
        ),
        "contiguous for added": changed(EVIDENCE, "(table, transpose(table))", "(table, table)"),
        "contiguous for reshaped": changed(EVIDENCE, "(transpose(table), (4,))", "(table, (4,))"),
        "two axes transposed back": changed(
            EVIDENCE, "(transpose(table), (4,))", "(transpose(transpose(table)), (4,))"
        ),
        "an element that is there": changed(EVIDENCE, "(table, 0, 2)", "(table, 0, 1)"),
        "an element outside of the Buffer": changed(EVIDENCE, "(table, 0, 2)", "(table, 5, 5)"),
        "a shape that does not fit": changed(EVIDENCE, "(4,)", "(5,)"),
        "shapes that differ": changed(
            EVIDENCE, "(table, transpose(table))", "(table, Tensor([1, 2, 3, 4]))"
        ),
        "one argument too few": changed(EVIDENCE, "(table, 0, 2)", "(table, 2)"),
        "numbers for tensors": changed(EVIDENCE, "(table, transpose(table))", "(1, 2)"),
        "a tensor with one axis": changed(EVIDENCE, "(table, 0, 2)", "(Tensor([1, 2]), 0, 2)"),
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
}
