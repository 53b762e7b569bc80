def tuned(cost, sizes, start):
    """A tile (rows, columns, depth) from these sizes that costs little, with few questions."""
    known = {start: cost(start)}

    def near(tile):
        """The tiles that have the next size up or down on one axis, or on two."""
        choices = [sizes[max(at - 1, 0) : at + 2] for at in map(sizes.index, tile)]
        near = [(a, b, c) for a in choices[0] for b in choices[1] for c in choices[2]]
        return [t for t in near if sum(x != y for x, y in zip(t, tile)) <= 2 and t not in known]

    beam, tried = [start], set()
    while beam:
        for tile in beam:
            tried.add(tile)
            for other in near(tile)[: 60 - len(known)]:
                known[other] = cost(other)
        best = sorted(known, key=known.get)[:2]
        beam = [tile for tile in best if tile not in tried]
    return min(known, key=known.get)
