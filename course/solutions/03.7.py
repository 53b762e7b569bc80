def expand(t, shape):
    """t stretched to `shape`: the same number is read again and again, by a stride of 0."""
    if broadcast_shapes(t.shape, shape) != tuple(shape):
        raise ValueError(f"shape {t.shape} does not stretch to {tuple(shape)}")
    new = [0] * (len(shape) - len(t.shape))
    kept = [0 if size == 1 else s for size, s in zip(t.shape, t.strides, strict=True)]
    return t.over(shape, new + kept, t.offset)
