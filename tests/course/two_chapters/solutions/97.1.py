def mean(grid):
    """The sum of its numbers through their count."""
    return total(grid) / count(grid)
