import math


def nest(items, shape):
    """The items, which lie row by row, as nested lists of this shape."""
    items = list(items)
    for axis in range(len(shape) - 1, 0, -1):
        size, rows = shape[axis], math.prod(shape[:axis])
        items = [items[i * size : (i + 1) * size] for i in range(rows)]
    return items if shape else items[0]
