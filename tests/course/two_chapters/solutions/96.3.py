from functools import reduce


def total(grid):
    """The sum of its numbers."""
    return reduce(lambda x, y: x + y, grid.numbers, 0.0)
