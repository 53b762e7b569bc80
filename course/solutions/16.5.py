import math


def matched(pattern, term):
    """What each ?name stands for if the term has this pattern, as a dict; None if it has not."""
    found = {}

    def same(a, b):
        if isinstance(a, tuple) and isinstance(b, tuple):
            return len(a) == len(b) and all(map(same, a, b))
        if isinstance(a, tuple | str) or isinstance(b, tuple | str):
            return a == b
        return a == b and math.copysign(1, a) == math.copysign(1, b)

    def fits(pattern, term):
        if isinstance(pattern, str) and pattern.startswith("?"):
            return same(found.setdefault(pattern, term), term)
        if isinstance(pattern, tuple) and isinstance(term, tuple):
            return len(pattern) == len(term) and all(map(fits, pattern, term))
        return same(pattern, term)

    return found if fits(pattern, term) else None
