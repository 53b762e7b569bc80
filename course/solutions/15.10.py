BLOCK = 64


def total(numbers, pool):
    """The sum, with the same bits for any number of threads."""

    def job(start):
        return lambda: sum(numbers[start : start + BLOCK], 0.0)

    return sum(pool.run([job(start) for start in range(0, len(numbers), BLOCK)]), 0.0)
