import math


def tanh(value):
    """tanh of a Value, as a Value that remembers."""
    t = math.tanh(value.data)
    return Value(t, (value,), (1 - t * t,))
