def add_transposed(a, out, n, down):
    """out = a.T + a for n rows and columns; a row takes `down` numbers."""

    def add_tile(top, left):
        for i in range(top, min(top + 16, n)):
            for j in range(left, min(left + 16, n)):
                out[i * down + j] = a[j * down + i] + a[i * down + j]

    for top in range(0, n, 16):
        for left in range(0, top + 1, 16):
            add_tile(top, left)
            if left < top:
                add_tile(left, top)
