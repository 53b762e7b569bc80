import random


class Dropout(Module):
    """In training each number becomes 0 with probability p, the others are divided by 1 - p"""

    def __init__(self, p, seed=None):
        if not 0 <= p < 1:
            raise ValueError(f"p is {p}; a share from 0 to below 1 can be left out")
        self.p = p
        self.random = random.Random(random.random() if seed is None else seed)

    def __call__(self, x):
        if not self.training or self.p == 0:
            return x
        draw, kept = self.random.random, 1 / (1 - self.p)
        mask = [0.0 if draw() < self.p else kept for _ in range(x.numel())]
        return x * Tensor(mask, dtype=x.buf.dtype).reshape(*x.shape)
