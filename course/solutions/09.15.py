class LossScaler:
    """Backward from loss * scale, and gradients divided by it: float16 loses fewer of them."""

    def __init__(self, scale=2.0**16, patience=200):
        self.scale, self.patience, self.good = scale, patience, 0

    def backward(self, loss):
        (loss * self.scale).backward()

    def step(self, optimizer):
        """Step if all gradients are finite, else only halve the scale; whether it stepped."""
        moving = [p for p in optimizer.parameters if p.grad is not None]
        finite = all((p.grad * 0.0).sum().item() == 0.0 for p in moving)  # 0 * inf is nan
        for p in moving:
            p.grad = p.grad * (1 / self.scale) if finite else None
        if not finite:
            self.scale, self.good = self.scale / 2, 0
            return False
        optimizer.step()
        self.good += 1
        if self.good == self.patience:
            self.scale, self.good = self.scale * 2, 0
        return True
