def places(count, itemsize, line):
    """Where each counter begins, so that no two share a line."""
    stride = -(-itemsize // line) * line
    return [i * stride for i in range(count)]
