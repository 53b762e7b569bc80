class Head:
    """Each place asks, offers a key, and says a value: three layers, and attention."""

    def __init__(self, width, size):
        self.q, self.k, self.v = (Linear(width, size) for _ in range(3))

    def listens(self, x, mask=None):
        """The weights: a row for each place that listens."""
        return listening(self.q(x), self.k(x), mask)

    def __call__(self, x, mask=None):
        return self.listens(x, mask) @ self.v(x)
