def softmax(x):
    """e**x / sum e**x, along the last axis."""
    one = (*x.shape[:-1], 1)
    e = (x - x.detach().max(-1).reshape(*one)).exp()
    return e / e.sum(-1).reshape(*one)
