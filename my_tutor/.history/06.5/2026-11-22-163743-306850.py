class Swish(Op):
    """z = x / (1 + e ** -x)"""

    def forward(self, x):
        return x / ((-x).exp() + 1)

    def backward(self, g):
        (x,) = self.inputs
        s = 1 / ((-x).exp() + 1)
        return (g * (s + x * s * (1 - s)),)