def log_softmax(x):
    """x - ln sum e**x, for each row."""
    x = x - x.detach().max(1).reshape(-1, 1)
    return x - x.exp().sum(1).reshape(-1, 1).log()
