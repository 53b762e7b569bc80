def row_by_row(shape, strides):
    """Whether walking row by row, the last axis fastest, visits neighbours in memory: a bool."""
    for size, stride, wanted in zip(shape, strides, strides_for(shape)):
        if size != 1 and stride != wanted:
            return False
    return True
