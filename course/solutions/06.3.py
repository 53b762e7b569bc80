def block(x, w):
    """The sum of h * h and relu(h), where h = x * w."""
    h = x * w
    return (h * h + h.relu()).sum()
