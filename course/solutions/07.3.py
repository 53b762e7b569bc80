import math
import random


def glorot(inputs, outputs):
    """Weights to begin with: inputs rows of outputs numbers."""
    a = math.sqrt(6 / (inputs + outputs))
    return [[random.uniform(-a, a) for _ in range(outputs)] for _ in range(inputs)]
