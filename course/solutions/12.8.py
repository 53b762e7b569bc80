import math


def probabilities(scores, temperature=1.0, top_k=None):
    """What softmax makes of scores / temperature; 0 for all but the top_k largest."""
    highest = max(scores)
    least = sorted(scores)[-top_k] if top_k and top_k < len(scores) else -math.inf
    powers = [math.exp((s - highest) / temperature) if s >= least else 0.0 for s in scores]
    whole = sum(powers)
    return [power / whole for power in powers]
