def neuron(weights, inputs):
    """tanh of the sum of weight times input, plus the last weight."""
    total = weights[-1]
    for weight, x in zip(weights, inputs):
        total = total + weight * x
    return tanh(total)
