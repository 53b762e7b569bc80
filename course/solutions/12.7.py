class Together:
    """All parameters as views of one tensor, `flat`."""

    def __init__(self, parameters):
        self.parameters, at = list(parameters), 0
        self.flat = zeros((sum(p.numel() for p in self.parameters),))
        self.flat.requires_grad = True
        for p in self.parameters:
            self.flat.buf.write(at, p.values())
            p.buf, p.strides, p.offset = self.flat.buf, strides_for(p.shape), at
            at += p.numel()

    def collect(self):
        """Their gradients, one behind the other, become that of `flat`."""
        self.flat.grad, pieces = zeros(self.flat.shape), []
        for p in self.parameters:
            g = contiguous(p.grad)
            first = g.offset * g.buf.itemsize
            pieces.append(g.buf.raw[first : first + g.numel() * g.buf.itemsize])
            p.grad = None
        self.flat.grad.buf.raw[:] = b"".join(pieces)
