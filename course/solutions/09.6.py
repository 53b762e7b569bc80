class BatchNorm(Module):
    """Mean 0 and spread 1 over all axes but the features' one, then times w, plus b"""

    def __init__(self, features, momentum=0.1, eps=1e-5):
        self.w = Tensor([1.0] * features, requires_grad=True)
        self.b = Tensor([0.0] * features, requires_grad=True)
        self.mean, self.var = Tensor([0.0] * features), Tensor([1.0] * features)
        self.momentum, self.eps = momentum, eps

    def __call__(self, x):
        axis = (0, *range(2, len(x.shape)))
        under = [-1] + [1] * (len(x.shape) - 2)  # one number a feature, under the features' axis
        if self.training:
            self.remember(x, axis, under)
            z = Normalize(x, axis=axis, eps=self.eps).apply()
        else:
            scale = (self.var + self.eps) ** -0.5
            z = (x - self.mean.reshape(*under)) * scale.reshape(*under)
        return z * self.w.reshape(*under) + self.b.reshape(*under)

    def remember(self, x, axis, under):
        """Move the running mean and variance towards those of this batch."""
        with no_grad():
            mean = x.mean(axis)
            away = x - mean.reshape(*under)
            self.mean = self.mean * (1 - self.momentum) + mean * self.momentum
            var = (away * away).mean(axis)
            self.var = self.var * (1 - self.momentum) + var * self.momentum
