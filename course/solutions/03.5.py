def element(t, *index):
    """The number of t at this index, an int for each axis; IndexError if there is none."""
    if len(index) != len(t.shape):
        raise IndexError(f"{len(index)} indices for {len(t.shape)} axes")
    position = t.offset
    for axis, (i, n, s) in enumerate(zip(index, t.shape, t.strides, strict=True)):
        if not -n <= i < n:
            raise IndexError(f"index {i} on axis {axis}, which has size {n}")
        position += i % n * s
    return t.buf[position]
