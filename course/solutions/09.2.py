def dead(h):
    """How many columns of h are 0 in every row."""
    return sum(1 for column in h.T.tolist() if not any(column))
