class Cache:
    """The keys and values of all ids that were read, so that only new ones go through the model."""

    def __init__(self, model):
        self.model, self.count = model, 0
        self.keys, self.values = [], []
        for block in model.blocks:
            heads, width = block.heads, block.attention.q.w.shape[0]
            self.keys.append(zeros((1, heads, model.context, width // heads)))
            self.values.append(zeros((1, heads, model.context, width // heads)))

    def attend(self, layer, x):
        """What the attention of this layer makes of new rows x, and of all that it has kept."""
        block, before, now = self.model.blocks[layer], self.count, self.count + x.shape[1]
        attending, by_head = block.attention, (1, x.shape[1], block.heads, -1)
        parts = [linear(x) for linear in (attending.q, attending.k, attending.v)]
        q, k, v = [part.reshape(*by_head).transpose(1, 2) for part in parts]
        keys, values = self.keys[layer], self.values[layer]
        add_(keys[:, :, before:now], k)
        add_(values[:, :, before:now], v)
        mask = self.model.mask[before:now, :now]
        found = attention(q, keys[:, :, :now], values[:, :, :now], mask)
        return attending.out(found.transpose(1, 2).reshape(*x.shape))

    def __call__(self, ids):
        """The scores for what comes next at each of these ids, which follow all those before."""
        now = self.count + len(ids)
        if now > self.model.context:
            raise ValueError(f"{now} ids, and room for {self.model.context}: begin a new Cache")
        with no_grad():
            x = self.model.ids([ids]) + self.model.places(len(ids), self.count)
            for layer, block in enumerate(self.model.blocks):
                x = x + self.attend(layer, block.norm1(x))
                x = x + block.mlp(block.norm2(x))
            self.count = now
            return self.model.head(self.model.norm(x))
