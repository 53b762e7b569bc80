class Engine:
    """Runs ops, keeps the graph, walks it backward."""

    recording = True

    def run(self, op):
        """Execute the op, and record it unless recording is switched off."""
        return record(op) if self.recording else run(op)

    def order(self, root):
        """All tensors of the graph behind root, each before those it was made from."""
        return topological(root)

    def backward(self, root, create_graph=False):
        """Add d root / d leaf to the grad of every leaf behind root."""
        if not root.requires_grad:
            raise ValueError("backward from a tensor that does not require grad")
        if root.numel() != 1:
            raise ValueError(f"backward from shape {root.shape}: sum() it first")
        before, self.recording = self.recording, create_graph
        try:
            arrived = {id(root): zeros(root.shape, root.buf.dtype) + 1}
            for t in self.order(root):
                g = arrived.pop(id(t))
                if t.op is None:
                    t.grad = g if t.grad is None else t.grad + g
                    continue
                for x, share in zip(t.op.inputs, t.op.backward(g), strict=True):
                    collect(arrived, x, share)
        finally:
            self.recording = before
