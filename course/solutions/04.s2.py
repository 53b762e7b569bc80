import itertools


class BatchMatMul(Op):
    """z[..., i, j] = the sum over k of x[..., i, k] * y[..., k, j], leading axes stretched"""

    def forward(self, x, y):
        lead = broadcast_shapes(x.shape[:-2], y.shape[:-2])
        x, y = expand(x, (*lead, *x.shape[-2:])), expand(y, (*lead, *y.shape[-2:]))
        out = zeros((*lead, x.shape[-2], y.shape[-1]), x.buf.dtype)
        for index in itertools.product(*map(range, lead)):
            matmul(select(out, index), select(x, index), select(y, index))
        return out

    def backward(self, g):
        x, y = self.inputs
        return BatchMatMul(g, y.T).apply(), BatchMatMul(x.T, g).apply()
