import math


def logsumexp(scores):
    """ln sum e**x over a list of numbers."""
    m = max(scores)
    return m + math.log(sum(math.exp(x - m) for x in scores))
