def both(n):
    """C += A @ B: tiles for the registers, within tiles for the cache."""

    def pieces(whole, size):
        return [whole[start : start + size] for start in range(0, len(whole), size)]

    everything = range(n)
    for depth in pieces(everything, 16):
        for wide in pieces(everything, 24):
            for high in pieces(everything, 12):
                for columns in pieces(wide, 6):
                    for rows in pieces(high, 4):
                        yield from tile(rows, depth, columns[::2])
