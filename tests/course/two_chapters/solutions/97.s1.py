def spread(grid):
    return max(grid.numbers) - min(grid.numbers)
