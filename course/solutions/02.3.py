def merge(shape, strides, axis):
    """(shape, strides) with axes `axis` and `axis + 1` as one; None if no stride can walk that."""
    (n, m), (s, t) = shape[axis : axis + 2], strides[axis : axis + 2]
    if n != 1 and m != 1 and s != m * t:
        return None
    stride = s if m == 1 else t
    return (
        (*shape[:axis], n * m, *shape[axis + 2 :]),
        (*strides[:axis], stride, *strides[axis + 2 :]),
    )
