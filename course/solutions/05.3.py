def breaks(a):
    """A calculation with `a` whose gradient `naive` gets wrong."""
    b = a + a
    return b + b  # b is visited twice, and the second time it hands on both shares
