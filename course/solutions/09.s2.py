import random


def by_chance(x):
    """x rounded to a number of float16, up or down at random, right in the mean."""
    nearest = Buffer([x], "float16")
    if nearest[0] == x:
        return x
    bits = Buffer([0], "uint16")
    bits.raw[:] = nearest.raw
    size = bits[0] % 2**15  # without the sign
    beyond = abs(nearest[0]) > abs(x)  # the nearest is further from 0: x lies on its inner side
    other = Buffer([0], "float16")
    sign = bits[0] - size if nearest[0] else 2**15 * (x < 0)
    other.raw[:] = Buffer([sign + size + (-1 if beyond else 1)], "uint16").raw
    share = (x - nearest[0]) / (other[0] - nearest[0])  # of the way from the one to the other
    return other[0] if random.random() < share else nearest[0]
