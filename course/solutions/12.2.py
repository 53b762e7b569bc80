def merged(ids, pair, new):
    """The ids with `new` for each place where this pair stands, from the left."""
    out, at = [], 0
    while at < len(ids):
        if tuple(ids[at : at + 2]) == pair:
            out.append(new)
            at += 2
        else:
            out.append(ids[at])
            at += 1
    return out
