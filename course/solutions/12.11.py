import math


def bits_per_character(loss, tokens, characters):
    """What a mean loss of so many tokens is, in bits, for each of their characters."""
    return loss * tokens / (characters * math.log(2))
