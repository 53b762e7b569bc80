def backward(last):
    """Put into .grad of each Value how fast `last` grows with it."""
    values = order(last)
    for value in values:
        value.grad = 0.0
    last.grad = 1.0
    for value in reversed(values):
        for before, slope in zip(value.inputs, value.slopes):
            before.grad += slope * value.grad
