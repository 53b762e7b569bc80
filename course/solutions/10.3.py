def slide(t, size, step=1):
    """All windows of size x size, every `step` pixels: (n, c, h', w', size, size), a view."""
    n, c, h, w = t.shape
    if size > min(h, w):
        raise ValueError(f"windows of {size} x {size} do not fit into pictures of {h} x {w}")
    picture, channel, down, right = t.strides
    shape = (n, c, (h - size) // step + 1, (w - size) // step + 1, size, size)
    return t.over(shape, (picture, channel, down * step, right * step, down, right), t.offset)
