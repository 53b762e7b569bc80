def promote_all(dtypes):
    """The first dtype in SIZES that holds all numbers of each of these."""
    needed = [max(sizes) for sizes in zip(*[SIZES[d] for d in dtypes], strict=True)]
    for dtype, sizes in SIZES.items():
        if all(has >= need for has, need in zip(sizes, needed, strict=True)):
            return dtype
