class Conv2d:
    """z = w times the window at each place, plus b: (n, inputs, h, w) to (n, outputs, h', w')"""

    def __init__(self, inputs, outputs, size, padding=0):
        self.size, self.padding = size, padding
        self.w = Tensor(he(inputs * size * size, outputs), requires_grad=True)
        self.b = Tensor([0.0] * outputs, requires_grad=True)

    def __call__(self, x):
        seen = windows(pad(x, self.padding), self.size)
        n, _, h, w, _, _ = seen.shape
        each = seen.permute(0, 2, 3, 1, 4, 5).reshape(n * h * w, self.w.shape[0])
        z = each @ self.w + self.b
        return z.reshape(n, h, w, self.b.shape[0]).permute(0, 3, 1, 2)
