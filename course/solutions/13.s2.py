def geometry(make):
    """(line, sets, ways) of the caches that make() makes, found out from hits and misses."""
    line = 1
    while _still_there(make, [0], line):
        line *= 2
    capacity = 1
    while _still_there(make, [k * line for k in range(capacity + 1)], 0):
        capacity += 1
    ways = 1
    while _still_there(make, [k * line * capacity for k in range(ways + 1)], 0):
        ways += 1
    return line, capacity // ways, ways


def _still_there(make, addresses, asked):
    """Whether the last address is a hit, after the others."""
    touch = make()
    for address in addresses:
        touch(address)
    return touch(asked)
