def tile(rows, depth, columns):
    """C += A @ B, with one register for each sum; a register holds as many columns as lanes."""
    for i in rows:
        for j in columns:
            yield "load", (i, j), "C", i, j
    for k in depth:
        for j in columns:
            yield "load", ("b", j), "B", k, j
        for i in rows:
            yield "spread", "a", "A", i, k
            for j in columns:
                yield "fma", (i, j), "a", ("b", j)
    for i in rows:
        for j in columns:
            yield "store", (i, j), "C", i, j
