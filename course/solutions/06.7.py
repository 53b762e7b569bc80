def detach(t):
    """The same numbers in the same memory, without their history."""
    return t.over(t.shape, t.strides, t.offset)
