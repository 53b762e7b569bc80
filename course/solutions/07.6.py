import math
import random


class Mended:
    def __init__(self, inputs, outputs):
        bound = math.sqrt(6 / (inputs + outputs))
        even = [[random.uniform(-bound, bound) for _ in range(outputs)] for _ in range(inputs)]
        self.w = Tensor(even, requires_grad=True)
        self.b = Tensor([0.0] * outputs, requires_grad=True)

    def __call__(self, x):
        return x @ self.w + self.b

    def parameters(self):
        return [self.w, self.b]
