import math


def one_pass(numbers):
    """The largest, and the sum of e ** (x - largest), in one walk."""
    largest, total = -math.inf, 0.0
    for x in numbers:
        if x > largest:
            total = total * math.exp(largest - x) + 1.0
            largest = x
        elif x > -math.inf:
            total += math.exp(x - largest)
    return largest, total
