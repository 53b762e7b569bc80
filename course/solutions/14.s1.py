def fewer(n):
    """C += A @ B in tiles of 12 rows, 4 numbers of depth and 8 columns."""
    for top in range(0, n, 12):
        for left in range(0, n, 8):
            for first in range(0, n, 4):
                rows = range(top, min(top + 12, n))
                columns = range(left, min(left + 8, n))
                yield from ikj(rows, range(first, min(first + 4, n)), columns)
