import math


def listening(q, k, mask=None):
    """How much each query listens to each key: weights that add up to 1 in each row."""
    scores = q @ k.T * (1 / math.sqrt(q.shape[-1]))
    return softmax(scores if mask is None else scores + mask)
