import math
from itertools import pairwise


def pair_loss(train, test, count):
    """The loss on `test` of the pairs counted in `train`, each of them once more."""
    followed = [[1] * count for _ in range(count)]
    for a, b in pairwise(train):
        followed[a][b] += 1
    logs = [[math.log(n / sum(row)) for n in row] for row in followed]
    return -sum(logs[a][b] for a, b in pairwise(test)) / (len(test) - 1)
