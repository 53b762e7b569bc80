class Normalize(Op):
    """z = (x - mean) / sqrt(variance + eps), each taken over the axes in `axis`"""

    def parts(self, x):
        """z, and what x - mean was multiplied by."""
        axis = self.params["axis"]
        away = x - x.mean(axis, keep=True)
        scale = ((away * away).mean(axis, keep=True) + self.params["eps"]) ** -0.5
        return away * scale, scale

    def forward(self, x):
        return self.parts(x)[0]

    def backward(self, g):
        axis = self.params["axis"]
        z, scale = self.parts(*self.inputs)
        along = (g * z).mean(axis, keep=True)
        return ((g - g.mean(axis, keep=True) - z * along) * scale,)
