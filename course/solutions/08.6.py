import math


def clip(parameters, limit):
    """Shorten the gradients to `limit` in all; how long they were."""
    moving = [p for p in parameters if p.grad is not None]
    length = math.sqrt(sum((p.grad * p.grad).sum().item() for p in moving))
    if length > limit:
        for p in moving:
            p.grad = p.grad * (limit / length)
    return length
