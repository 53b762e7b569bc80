class RMSprop:
    """v is a running mean of grad**2; p -= lr * grad / (sqrt(v) + eps)"""

    def __init__(self, parameters, lr=0.001, beta=0.99, eps=1e-8):
        self.parameters, self.lr, self.beta, self.eps = parameters, lr, beta, eps
        self.v = [p.detach() * 0 for p in parameters]

    def step(self):
        with no_grad():
            for i, p in enumerate(self.parameters):
                self.v[i] = self.v[i] * self.beta + p.grad * p.grad * (1 - self.beta)
                add_(p, p.grad / (self.v[i] ** 0.5 + self.eps) * -self.lr)
                p.grad = None
