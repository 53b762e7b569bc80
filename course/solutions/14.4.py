def tiled(n, size):
    """C += A @ B for matrices of n x n, in tiles of size x size."""
    pieces = [range(start, min(start + size, n)) for start in range(0, n, size)]
    for rows in pieces:
        for columns in pieces:
            for depth in pieces:
                yield from ikj(rows, depth, columns)
