def work(name, n):
    """(operations, bytes) of one of five operations on float32, at this size."""
    square = n * n
    places = (n - 4) ** 2  # where a filter of 5 x 5 fits
    operations, numbers = {
        "add": (square, 3 * square),
        "product": (2 * n**3, 3 * square),
        "convolution": (2 * 25 * 8 * places, square + 8 * 25 + 8 * places),
        "softmax": (5 * square, 2 * square),
        "attention": (2 * 2 * square * 64 + 5 * square, 4 * n * 64 + 4 * square),
    }[name]
    return operations, 4 * numbers
