def positions(shape, strides, offset):
    """Where the elements stand, row by row, as a list."""
    found = [offset]
    for size, stride in zip(shape, strides, strict=True):
        found = [start + i * stride for start in found for i in range(size)]
    return found
