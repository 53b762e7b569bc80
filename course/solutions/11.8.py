class MultiHead:
    """Several heads side by side, each with its share of the width."""

    def __init__(self, width, heads):
        self.heads = heads
        self.q, self.k, self.v, self.out = (Linear(width, width) for _ in range(4))

    def split(self, x):
        """(n, places, width) as (n, heads, places, width of one head)."""
        n, places, width = x.shape
        return x.reshape(n, places, self.heads, width // self.heads).transpose(1, 2)

    def listens(self, x, mask=None):
        """The weights: a row for each place that listens, in each head."""
        return listening(self.split(self.q(x)), self.split(self.k(x)), mask)

    def __call__(self, x, mask=None):
        mixed = self.listens(x, mask) @ self.split(self.v(x))
        return self.out(mixed.transpose(1, 2).reshape(*x.shape))
