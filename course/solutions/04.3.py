def promote(a, b):
    """The first dtype that holds all numbers of both."""
    needed = [max(pair) for pair in zip(SIZES[a], SIZES[b], strict=True)]
    for dtype, sizes in SIZES.items():
        if all(has >= need for has, need in zip(sizes, needed, strict=True)):
            return dtype
