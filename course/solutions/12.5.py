class Block(Module):
    """x + attention(norm1(x)), and to that its own mlp(norm2(...))"""

    def __init__(self, width, heads):
        self.heads = heads
        self.norm1, self.attention = LayerNorm(width), MultiHead(width, heads)
        self.norm2, self.mlp = LayerNorm(width), MLP(width, 4 * width, width)

    def __call__(self, x, mask=None):
        x = x + self.attention(self.norm1(x), mask)
        return x + self.mlp(self.norm2(x))
