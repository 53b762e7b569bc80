def reach(shape, strides, offset):
    """(first, last): the lowest and the highest position that any index reads."""
    first = last = offset
    for size, stride in zip(shape, strides, strict=True):
        way = (size - 1) * stride
        first, last = first + min(way, 0), last + max(way, 0)
    return first, last
