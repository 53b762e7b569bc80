def my_strides(shape):
    """The strides of numbers that lie row by row, as a tuple."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
