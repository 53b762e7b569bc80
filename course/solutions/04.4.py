class MyMul(Elementwise):
    """z = x * y"""

    kernel = "mul"

    def backward(self, g):
        """The gradients of x and of y, given g, the gradient of z."""
        x, y = self.inputs
        return MyMul(g, y).apply(), MyMul(g, x).apply()
