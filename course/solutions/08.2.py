class Adam:
    """m and v are running means of grad and grad**2; p -= lr * m / (sqrt(v) + eps)"""

    def __init__(self, parameters, lr=0.001, betas=(0.9, 0.999), eps=1e-8):
        self.parameters, self.lr, self.betas, self.eps, self.t = parameters, lr, betas, eps, 0
        self.m = [p.detach() * 0 for p in parameters]
        self.v = [p.detach() * 0 for p in parameters]

    def step(self):
        self.t += 1
        b1, b2 = self.betas
        with no_grad():
            for i, p in enumerate(self.parameters):
                self.m[i] = self.m[i] * b1 + p.grad * (1 - b1)
                self.v[i] = self.v[i] * b2 + p.grad * p.grad * (1 - b2)
                m, v = self.m[i] / (1 - b1**self.t), self.v[i] / (1 - b2**self.t)
                add_(p, m / (v**0.5 + self.eps) * -self.lr)
                p.grad = None
