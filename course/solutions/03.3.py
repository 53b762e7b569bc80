from itertools import zip_longest


def mismatch(a, b):
    """What is wrong with broadcasting shapes a and b, in words; None if nothing is."""
    for i, (m, n) in enumerate(zip_longest(reversed(a), reversed(b), fillvalue=1)):
        if m != n and 1 not in (m, n):
            where = f"axis {-1 - i} has sizes {m} and {n}, which must be equal or 1"
            return f"shapes {tuple(a)} and {tuple(b)} do not fit: {where}"
    return None
