def meet(a, b):
    """The first dtype in SIZES that holds all numbers of both."""
    needed = [max(pair) for pair in zip(SIZES[a], SIZES[b], strict=True)]
    for d in SIZES:
        if all(has >= need for has, need in zip(SIZES[d], needed, strict=True)):
            return d
