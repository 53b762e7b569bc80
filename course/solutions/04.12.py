def losing(rule):
    """The pairs (a, b) for which the dtype rule(a, b) does not hold all numbers of both."""
    found = []
    for a in SIZES:
        for b in SIZES:
            sizes = SIZES[rule(a, b)]
            needed = [max(pair) for pair in zip(SIZES[a], SIZES[b], strict=True)]
            if any(has < need for has, need in zip(sizes, needed, strict=True)):
                found.append((a, b))
    return found
