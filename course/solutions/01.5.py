def first_missing(dtype):
    """The smallest positive whole number that a float dtype does not hold."""
    n = 1
    while Buffer([n + 1], dtype)[0] == n + 1:
        n *= 2
    return n + 1
