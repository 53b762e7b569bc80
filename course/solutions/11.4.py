class MatMul(Op):
    """z_ij = sum_k x_ik * y_kj, for each index of the axes before the last two"""

    kernel = "matmul"

    def prepare(self, x, y):
        """The shape of the product, and the inputs stretched; ValueError if they do not fit."""
        if min(len(x.shape), len(y.shape)) < 2 or x.shape[-1] != y.shape[-2]:
            asked = f"matmul of shapes {x.shape} and {y.shape}"
            raise ValueError(f"{asked}: not (..., m, k) and (..., k, n)")
        before = broadcast_shapes(x.shape[:-2], y.shape[:-2])
        x, y = [expand(t, (*before, *t.shape[-2:])) for t in alike((x, y))]
        return (*before, x.shape[-2], y.shape[-1]), (x, y)

    def backward(self, g):
        """The gradients of x and of y; None for one that is not required."""
        x, y = self.inputs
        gx = MatMul(g, y.T).apply() if x.requires_grad else None
        gy = MatMul(x.T, g).apply() if y.requires_grad else None
        return gx, gy
