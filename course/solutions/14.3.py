def best_tile(registers):
    """(rows, vectors) of the tile with the fewest loads per fma that needs no more registers."""
    shapes = [
        (rows, vectors)
        for rows in range(1, registers)
        for vectors in range(1, registers)
        if rows * vectors + vectors + 1 <= registers  # the sums, a row of B, one number of A
    ]
    return min(shapes, key=lambda shape: (shape[0] + shape[1]) / (shape[0] * shape[1]))
