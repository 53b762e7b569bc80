def fit(g, x):
    """Undo broadcasting: where x was stretched, its gradient is the sum over the copies."""
    if g.shape != x.shape:
        new = len(g.shape) - len(x.shape)  # axes that x does not have
        sizes = [1] * new + list(x.shape)
        copied = [a for a, size in enumerate(sizes) if size == 1 and g.shape[a] != 1]
        g = g.sum(tuple(copied)).reshape(*x.shape)
    return cast(g, x.buf.dtype)
