def serial_fraction(points):
    """The s of Amdahl's law, by least squares, from (threads, time) of several runs."""
    alone = dict(points)[1]
    top = bottom = 0.0
    for n, time in points:
        x, y = 1 - 1 / n, time / alone - 1 / n
        top += x * y
        bottom += x * x
    return top / bottom
