class Watchful(Engine):
    """An Engine that notices when an input of an op was changed after it was used."""

    def run(self, op):
        """Execute and record the op, and note how often its inputs have been written to."""
        out = super().run(op)
        op.versions = [version(x.buf) for x in op.inputs]
        return out

    def backward(self, root, create_graph=False):
        """As Engine does, but ValueError where an input is not what it was."""
        for t in self.order(root):
            if t.op and t.op.versions != [version(x.buf) for x in t.op.inputs]:
                raise ValueError(f"an input of {type(t.op).__name__} was changed after it was used")
        super().backward(root, create_graph)
