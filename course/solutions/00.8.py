def step(parameters, loss, rate):
    """Move the parameters against their gradients, and return the loss as a number."""
    backward(loss)
    for parameter in parameters:
        parameter.data -= rate * parameter.grad
    return loss.data
