import math


def facts_of(table):
    """(shape, strides, offset) that read these positions, or None where none do."""
    try:
        flat, shape = flatten(table)
    except ValueError:
        return None
    strides = []
    for axis, size in enumerate(shape):
        step = math.prod(shape[axis + 1 :])  # to the next element along this axis
        strides.append(flat[step] - flat[0] if size > 1 else 0)
    facts = shape, tuple(strides), flat[0]
    return facts if positions(*facts) == flat else None
