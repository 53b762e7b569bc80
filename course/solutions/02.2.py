def row_by_row(shape, strides):
    """Whether walking row by row, the last axis fastest, visits neighbours in memory: a bool."""
    steps = zip(shape, strides, strides_for(shape), strict=True)
    return all(size == 1 or stride == wanted for size, stride, wanted in steps)
