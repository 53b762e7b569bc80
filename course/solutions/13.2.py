def by_hand(rows, columns, order, line=64, lines=64):
    """(misses, share of the fetched bytes that is wasted) of a walk over float32 numbers."""
    numbers = rows * columns
    each_once = order == "rows" or rows <= lines
    misses = numbers * 4 // line if each_once else numbers
    return misses, 1 - numbers * 4 / (misses * line)
