def windows(t, size):
    """All windows of `size` neighbours along the last axis of t, as one view."""
    n, stride = t.shape[-1], t.strides[-1]
    if not 1 <= size <= n:
        raise ValueError(f"windows of {size} along an axis of {n}")
    return t.over((*t.shape[:-1], n - size + 1, size), (*t.strides, stride), t.offset)
