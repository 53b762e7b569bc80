import math


def convert(value, dtype):
    """`value`, an int or a float, as any of the twelve dtypes holds it, but for rounding."""
    if dtype == "bool":
        return bool(value)
    if dtype not in LIMITS:
        return as_integer(value, dtype)
    if abs(value) >= LIMITS[dtype]:  # from there on, the nearest float is infinity
        return math.inf if value > 0 else -math.inf
    return value
