class GPT(Module):
    """For each place of each row of ids, scores for the id that comes next."""

    def __init__(self, vocabulary, context, width, heads, layers):
        self.context, self.mask = context, causal(context)
        self.ids, self.places = Embedding(vocabulary, width), Places(context, width)
        self.blocks = [Block(width, heads) for _ in range(layers)]
        self.norm, self.head = LayerNorm(width), Linear(width, vocabulary)

    def __call__(self, rows):
        count = len(rows[0])
        x = self.ids(rows) + self.places(count)
        for block in self.blocks:
            x = block(x, self.mask[:count, :count])
        return self.head(self.norm(x))
