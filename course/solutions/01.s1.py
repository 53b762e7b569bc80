def next_up(x, dtype):
    """The smallest float of this dtype that is larger than x, itself one of the dtype's numbers."""
    if x != x or x == float("inf"):
        return x
    number = Buffer([x + 0.0], dtype)  # -0.0 + 0.0 is 0.0
    pattern = Buffer([0], dtype.replace("float", "uint"))
    pattern.raw = number.raw
    pattern[0] += 1 if x >= 0 else -1
    return number[0]
