class Sum(Reduce):
    """z = the sum over axis"""

    kernel = "sum"

    def backward(self, g):
        """g, with the axes that went put back at size 1, and stretched over x's shape."""
        shape = self.inputs[0].shape
        kept = [1 if a in self.params["axis"] else n for a, n in enumerate(shape)]
        return (g.reshape(*kept).expand(*shape),)
