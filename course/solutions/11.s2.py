import math


def in_parts(q, k, v, size):
    """attention(q, k, v), with `size` keys at a time."""
    largest, total, mixed = None, 0.0, 0.0
    for first in range(0, k.shape[0], size):
        scores = q @ k[first : first + size].T * (1 / math.sqrt(q.shape[1]))
        here = scores.detach().max(1).reshape(-1, 1)
        if largest is None:
            new = here
        else:
            new = largest + (here - largest).relu()  # the larger one of the two
            kept = (largest - new).exp()
            total, mixed = total * kept, mixed * kept
        powers = (scores - new).exp()
        total = total + powers.sum(1).reshape(-1, 1)
        mixed = mixed + powers @ v[first : first + size]
        largest = new
    return mixed / total
