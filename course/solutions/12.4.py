import random


def excerpts(ids, context, count):
    """`count` rows of `context` ids, from anywhere; and rows of what follows each of them."""
    seen, following = [], []
    for _ in range(count):
        start = random.randrange(len(ids) - context)
        seen.append(ids[start : start + context])
        following.append(ids[start + 1 : start + context + 1])
    return seen, following
