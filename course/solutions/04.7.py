class MatMul(Op):
    """z_ij = sum_k x_ik * y_kj"""

    kernel = "matmul"

    def prepare(self, x, y):
        """The shape of the product, and the inputs in one dtype; ValueError if they do not fit."""
        if len(x.shape) != 2 or len(y.shape) != 2 or x.shape[1] != y.shape[0]:
            raise ValueError(f"matmul of shapes {x.shape} and {y.shape}: not (m, k) and (k, n)")
        return (x.shape[0], y.shape[1]), alike((x, y))

    def backward(self, g):
        """The gradients of x and of y; None for one that is not required."""
        x, y = self.inputs
        gx = MatMul(g, y.T).apply() if x.requires_grad else None
        gy = MatMul(x.T, g).apply() if y.requires_grad else None
        return gx, gy
