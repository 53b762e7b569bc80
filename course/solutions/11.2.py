import math
import random


class Embedding:
    """A row of numbers for each id, to be learned."""

    def __init__(self, count, width):
        spread = 1 / math.sqrt(width)
        table = [[random.gauss(0, spread) for _ in range(width)] for _ in range(count)]
        self.w = Tensor(table, requires_grad=True)

    def __call__(self, ids):
        numbers, shape = flatten(ids.tolist() if hasattr(ids, "tolist") else ids)
        count, width = self.w.shape
        return (one_hot(numbers, count) @ self.w).reshape(*shape, width)
