class Reader(Module):
    """Letters that listen with one head, and say which letter comes next."""

    def __init__(self, count, context):
        width, hidden = 64, 256
        self.letters, self.places = Embedding(count, width), Places(context, width)
        self.mask, self.first_norm = causal(context), LayerNorm(width)
        self.head, self.out = Head(width, width), Linear(width, width)
        self.norm, self.up = LayerNorm(width), Linear(width, hidden)
        self.down, self.last_norm = Linear(hidden, width), LayerNorm(width)
        self.last = Linear(width, count)

    def __call__(self, ids):
        here = len(ids[0])
        x = self.letters(ids) + self.places(here)
        x = x + self.out(self.head(self.first_norm(x), self.mask[:here, :here]))
        x = x + self.down(self.up(self.norm(x)).relu())
        return self.last(self.last_norm(x))
