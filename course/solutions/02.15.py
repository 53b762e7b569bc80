import math


def reshape(t, shape):
    """The same numbers in the same order under another shape; -1 is worked out."""
    sizes = list(shape)
    if sizes.count(-1) == 1:
        known = -math.prod(sizes)  # of all the others
        sizes[sizes.index(-1)] = t.numel() // known if known else 0
    if -1 in sizes or math.prod(sizes) != t.numel():
        raise ValueError(f"shape {t.shape} holds {t.numel()} numbers, {tuple(shape)} does not")
    t = contiguous(t)
    return t.over(sizes, strides_for(sizes), t.offset)
