from itertools import pairwise


class MLP:
    """Linear layers with relu between them."""

    def __init__(self, *sizes):
        self.layers = [Linear(m, n) for m, n in pairwise(sizes)]

    def __call__(self, x):
        *hidden, last = self.layers
        for layer in hidden:
            x = layer(x).relu()
        return last(x)

    def parameters(self):
        return [p for layer in self.layers for p in (layer.w, layer.b)]
