import math
import random


def he(inputs, outputs):
    """Weights to begin with: inputs rows of outputs numbers, as large as relu needs them."""
    spread = math.sqrt(2 / inputs)
    return [[random.gauss(0, spread) for _ in range(outputs)] for _ in range(inputs)]
