class Pad(Op):
    """z = x, with a border of zeros around its last two axes"""

    def forward(self, x):
        border = self.params["border"]
        *others, h, w = x.shape
        out = zeros((*others, h + 2 * border, w + 2 * border), x.buf.dtype)
        inside = select(out, (..., slice(border, border + h), slice(border, border + w)))
        lookup("cast", x.buf.dtype)(inside, x)
        return out

    def backward(self, g):
        border = self.params["border"]
        h, w = self.inputs[0].shape[-2:]
        return (g[..., border : border + h, border : border + w],)
