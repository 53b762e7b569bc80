from contextlib import contextmanager


class Averaged:
    """Running means of the parameters: mean = keep * mean + (1 - keep) * p"""

    def __init__(self, parameters, keep=0.99):
        self.parameters, self.keep = parameters, keep
        self.means = [p.detach() * 1 for p in parameters]

    def update(self):
        with no_grad():
            for i, p in enumerate(self.parameters):
                self.means[i] = self.means[i] * self.keep + p.detach() * (1 - self.keep)

    @contextmanager
    def applied(self):
        """A block in which the parameters are the means."""
        before = [p.values() for p in self.parameters]
        for p, mean in zip(self.parameters, self.means, strict=True):
            p.fill(mean.values())
        try:
            yield
        finally:
            for p, numbers in zip(self.parameters, before, strict=True):
                p.fill(numbers)
