from itertools import zip_longest


def broadcast_shapes(a, b):
    """The shape that both stretch to: aligned at the right, sizes equal or one of them 1."""
    if wrong := mismatch(a, b):
        raise ValueError(wrong)
    pairs = zip_longest(reversed(a), reversed(b), fillvalue=1)
    shape = [n if m == 1 else m for m, n in pairs]
    return tuple(reversed(shape))
