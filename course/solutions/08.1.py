class SGD:
    """v = momentum * v + grad; p -= lr * v"""

    def __init__(self, parameters, lr, momentum=0.0):
        self.parameters, self.lr, self.momentum = parameters, lr, momentum
        self.v = [p.detach() * 0 for p in parameters]

    def step(self):
        with no_grad():
            for i, p in enumerate(self.parameters):
                self.v[i] = self.v[i] * self.momentum + p.grad
                add_(p, self.v[i] * -self.lr)
                p.grad = None
