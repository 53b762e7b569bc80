class AdamW(Adam):
    """Adam; before each step, what `decays` shrinks by lr * decay of itself."""

    def __init__(self, parameters, lr=0.001, decay=0.01):
        super().__init__(parameters, lr)
        self.decay = decay

    def step(self):
        with no_grad():
            for p in decays(self.parameters):
                add_(p, p * (-self.lr * self.decay))
        super().step()
