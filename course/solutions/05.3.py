def breaks(a):
    b = a + a
    return b + b  # b is visited twice, and the second time it hands on both shares
