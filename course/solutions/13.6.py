def add_up(numbers, add, ways):
    """The sum of the numbers by `add`, in so many chains that do not wait for each other."""
    totals = list(numbers[:ways])
    for i in range(ways, len(numbers)):
        totals[i % ways] = add(totals[i % ways], numbers[i])
    while len(totals) > 1:
        pairs = [add(x, y) for x, y in zip(totals[::2], totals[1::2])]
        totals = pairs + totals[len(totals) // 2 * 2 :]
    return totals[0]
