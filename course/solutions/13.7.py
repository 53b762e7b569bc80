def add_lanes(unit, out, x, y, n):
    """out[i] = x[i] + y[i] for n numbers, eight at a time."""
    for i in range(0, n, 8):
        count = min(8, n - i)
        unit.store(out, i, unit.add(unit.load(x, i, count), unit.load(y, i, count)), count)
