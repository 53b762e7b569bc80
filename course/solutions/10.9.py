def to_largest(g, x, z, size):
    """Zeros like x, with g where the largest number of each window stands, the first of equals."""
    out, left = zeros(x.shape, g.buf.dtype), g
    numbers, places = slide(x, size, size), slide(out, size, size)
    for i in range(size):
        for j in range(size):
            smaller = z > numbers[..., i, j]
            add_(places[..., i, j], where(smaller, 0.0, left))
            left = where(smaller, left, 0.0)
    return out
