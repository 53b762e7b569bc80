def lend(ndarray, t):
    """An array over the same bytes as t, walked in the same way."""
    size = t.buf.itemsize
    strides = tuple(s * size for s in t.strides)
    return ndarray(t.shape, t.buf.dtype, t.buf.raw, t.offset * size, strides)
