def reduce_to(g, shape):
    """The sums of g over what was stretched: a new Tensor of `shape`."""
    out = zeros(shape, g.buf.dtype)
    for p, x in zip(expand(out, g.shape).positions(), g.values(), strict=True):
        out.buf[p] += x
    return out
