import math


def warmup(step, steps, total):
    """The share of the largest rate at this step: up in a line, then down along a cosine."""
    if step < steps:
        return (step + 1) / steps
    done = (step - steps) / (total - steps)
    return (1 + math.cos(math.pi * done)) / 2
