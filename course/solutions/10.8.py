class Where(Op):
    """z = a where the condition is true, else b"""

    def forward(self, condition, a, b):
        if condition.buf.dtype != "bool":
            raise TypeError(
                f"where(condition, a, b) got a condition of {condition.buf.dtype}: "
                "it has to be bool, and it comes first, as in where(x > 0, a, b)"
            )
        a, b = alike((a, b))
        shape = broadcast_shapes(condition.shape, broadcast_shapes(a.shape, b.shape))
        out = zeros(shape, a.buf.dtype)
        lookup("where", a.buf.dtype)(out, *[expand(t, shape) for t in (condition, a, b)])
        return out

    def backward(self, g):
        condition, nothing = self.inputs[0], zeros(g.shape, g.buf.dtype)
        return None, Where(condition, g, nothing).apply(), Where(condition, nothing, g).apply()
