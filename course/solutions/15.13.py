def plan(lives):
    """An offset for each (bytes, first step, last step), so that none is in another's way."""
    offsets, placed = [0] * len(lives), []
    for i in sorted(range(len(lives)), key=lambda i: -lives[i][0]):
        nbytes, first, last = lives[i]
        at = 0
        for begin, end, other_first, other_last in sorted(placed):
            if other_first <= last and first <= other_last:
                if begin - at >= nbytes:
                    break
                at = max(at, end)
        offsets[i] = at
        placed.append((at, at + nbytes, first, last))
    return offsets
