from itertools import zip_longest


def stretched_shape(a, b):
    """The shape, a tuple, to which shapes a and b both stretch; ValueError if there is none."""
    shape = []
    for m, n in zip_longest(reversed(a), reversed(b), fillvalue=1):
        if m != n and 1 not in (m, n):
            raise ValueError(f"sizes {m} and {n}")
        shape.append(n if m == 1 else m)
    return tuple(reversed(shape))
