class Mul(Elementwise):
    """z = x * y"""

    kernel = "mul"

    def backward(self, g):
        """The gradients of x and of y, given g, the gradient of z."""
        x, y = self.inputs
        return Mul(g, y).apply(), Mul(g, x).apply()
