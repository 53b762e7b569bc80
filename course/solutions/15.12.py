def brightest(arena, rows):
    """The row with the largest sum, its numbers doubled."""
    best = b""
    for row in rows:
        mark = arena.mark()
        doubled = arena.take(len(row))
        for i, value in enumerate(row):
            doubled[i] = 2 * value
        if not best or sum(doubled) > sum(best):
            best = bytes(doubled)
        arena.reset(mark)
    return list(best)
