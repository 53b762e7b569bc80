def ikj(rows, depth, columns):
    """C += A @ B for these rows and columns, and this part of the depth."""
    for i in rows:
        for k in depth:
            yield "load", "a", "A", i, k
            for j in columns:
                yield "load", "sum", "C", i, j
                yield "load", "b", "B", k, j
                yield "fma", "sum", "a", "b"
                yield "store", "sum", "C", i, j
