class Tied(GPT):
    """A GPT whose last layer is the table of its ids, read the other way."""

    def __init__(self, vocabulary, context, width, heads, layers):
        super().__init__(vocabulary, context, width, heads, layers)
        self.head = lambda x: x @ self.ids.w.T
