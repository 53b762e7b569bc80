class Residual(Module):
    """x + layers(x)"""

    def __init__(self, *layers):
        self.inner = Sequential(*layers)

    def __call__(self, x):
        return x + self.inner(x)
